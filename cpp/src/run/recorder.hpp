/// What is kept of a run: requested states, accepted steps within a memory budget, events, branch points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "hybrid/clock.hpp"
#include "hybrid/pattern.hpp"
#include "problem/dataset.hpp"
#include "two_layer/local_events.hpp"
#include "two_layer/parameters.hpp"

namespace reluflow {

/// Rows of one length in blocks of about a megabyte, so that a long list grows without being copied.
class Rows {
  public:
    explicit Rows(Index length) noexcept;

    /// A row that consists of these blocks.
    void add(std::initializer_list<std::span<const double>> blocks);
    const double* operator[](Index i) const noexcept { return blocks_[i / in_block_].data() + i % in_block_ * length_; }
    /// Keeps every second row, the first included.
    void thin();
    /// Keeps the first rows.
    void cut(Index count);

  private:
    Index length_;
    Index in_block_;  // rows
    Index count_ = 0;
    std::vector<std::vector<double>> blocks_;
};

/// States of a run, row by row: the parameters as one vector of named blocks, which the model lays out.
struct States {
    std::vector<double> t, log_t, log_loss;
    std::vector<std::int64_t> events;  ///< recorded up to then, since two times can be equal in doubles
    Rows theta;                        // (k, P)

    explicit States(Index parameters) noexcept : theta(parameters) {}

    Index count() const noexcept { return static_cast<Index>(t.size()); }
    void add(const Clock& clock, double log_loss_now, std::int64_t events_now,
             std::initializer_list<std::span<const double>> blocks);
    /// Keeps every second state, the first included.
    void thin();
    /// Keeps the first states.
    void cut(Index count);
};

/// Keeps every second element, the first included.
template <class List>
void keep_every_second(List& list) {
    for (std::size_t i = 1; 2 * i < list.size(); ++i) list[i] = std::move(list[2 * i]);
    list.erase(list.begin() + static_cast<std::ptrdiff_t>((list.size() + 1) / 2), list.end());
}

/// Which accepted steps are kept within a memory budget: every stride-th; when it is full every second one is dropped
/// and the stride doubles.
class Stride {
  public:
    /// `bytes` in all, `each` for one. With 0 bytes the start alone is kept.
    Stride(std::size_t bytes, std::size_t each) noexcept;

    /// Offers a step while `count` are kept; true if it is to be kept. `thin()` is called to make room.
    template <class Thin>
    bool takes(Index count, const Thin& thin) {
        if ((!keeps_steps() && count > 0) || seen_++ % stride_ != 0) return false;
        if (count < most_) return true;
        thin();
        stride_ *= 2;
        return (seen_ - 1) % stride_ == 0;
    }
    /// True when the next step would not be kept; it then counts as offered.
    bool passes_over() noexcept;
    bool keeps_steps() const noexcept { return most_ > 1; }
    std::int64_t stride() const noexcept { return stride_; }

  private:
    Index most_;
    std::int64_t stride_ = 1;
    std::int64_t seen_ = 0;
};

/// Events of single samples, in order of time.
struct EventList {
    std::vector<double> t, log_t;
    std::vector<std::int32_t> neuron, sample;
    std::vector<std::uint8_t> kind;
    std::vector<std::int64_t> tie;  ///< one number for all simultaneous events
    std::int64_t sets = 0;

    std::int64_t count() const noexcept { return static_cast<std::int64_t>(t.size()); }
    void add(const Clock& clock, int neuron_index, int sample_index, EventKind event_kind);
};

/// A branch point in terms of samples.
struct Branching {
    double t = 0.0;
    double log_t = 0.0;
    int neuron = -1;
    std::vector<int> samples;
    std::vector<std::vector<std::int8_t>> options;  ///< one sign per sample for each option
    int chosen = 0;
};

class Recorder {
  public:
    /// With a budget of 0 bytes the start is the only checkpoint.
    Recorder(const Dataset& data, Index neurons, std::size_t checkpoint_bytes);

    /// Offers an accepted step, in working coordinates.
    void checkpoint(const Clock& clock, double log_loss, const Matrix& w, const Vector& a, bool always = false);
    void save(const Clock& clock, double log_loss, const Matrix& w, const Vector& a);
    void events(const Clock& clock_at_event, const BoundaryEvent& event);
    void branching(const Clock& clock_at_event, const BranchPoint& point);

    const States& checkpoints() const noexcept { return checkpoints_; }
    const States& saved() const noexcept { return saved_; }
    const EventList& event_list() const noexcept { return events_; }
    const std::vector<Branching>& branchings() const noexcept { return branchings_; }
    const Stride& stride() const noexcept { return stride_; }
    bool passes_over() noexcept { return stride_.passes_over(); }

  private:
    const Dataset& data_;
    Stride stride_;
    States checkpoints_, saved_;
    EventList events_;
    std::vector<Branching> branchings_;
};

}  // namespace reluflow
