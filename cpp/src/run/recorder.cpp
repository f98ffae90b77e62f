#include "run/recorder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reluflow {

namespace {

/// Events closer than this many ulp of t are simultaneous: the rounding of a root and of the time series.
constexpr double kTieUlps = 8.0;
/// Checkpoints that are kept whatever the budget says.
constexpr Index kFewestCheckpoints = 4;

/// Numbers of a block of states.
constexpr Index kBlockNumbers = Index{1} << 17;

EventKind turned(EventKind kind) noexcept {
    switch (kind) {
        case EventKind::cross_up: return EventKind::cross_down;
        case EventKind::cross_down: return EventKind::cross_up;
        case EventKind::leave_up: return EventKind::leave_down;
        case EventKind::leave_down: return EventKind::leave_up;
        case EventKind::start_up: return EventKind::start_down;
        case EventKind::start_down: return EventKind::start_up;
        default: return kind;
    }
}

}  // namespace

Rows::Rows(Index length) noexcept : length_(length), in_block_(std::max<Index>(1, kBlockNumbers / length)) {}

void Rows::add(std::initializer_list<std::span<const double>> blocks) {
    if (count_ % in_block_ == 0) {
        blocks_.emplace_back();
        if (count_ > 0) blocks_.back().reserve(in_block_ * length_);  // the first grows as needed
    }
    for (const auto block : blocks) blocks_.back().insert(blocks_.back().end(), block.begin(), block.end());
    ++count_;
}

void Rows::thin() {
    const auto at = [this](Index i) { return blocks_[i / in_block_].begin() + i % in_block_ * length_; };
    const Index kept = (count_ + 1) / 2;
    for (Index i = 1; i < kept; ++i) std::copy_n(at(2 * i), length_, at(i));
    cut(kept);
}

void Rows::cut(Index count) {
    count_ = count;
    blocks_.resize((count + in_block_ - 1) / in_block_);
    if (!blocks_.empty())
        blocks_.back().resize((count - (static_cast<Index>(blocks_.size()) - 1) * in_block_) * length_);
}

void States::add(const Clock& clock, double log_loss_now, std::int64_t events_now,
                 std::initializer_list<std::span<const double>> blocks) {
    t.push_back(clock.t());
    log_t.push_back(clock.log_t());
    log_loss.push_back(log_loss_now);
    events.push_back(events_now);
    theta.add(blocks);
}

void States::thin() {
    for (auto* numbers : {&t, &log_t, &log_loss}) keep_every_second(*numbers);
    keep_every_second(events);
    theta.thin();
}

void States::cut(Index count) {
    for (auto* numbers : {&t, &log_t, &log_loss}) numbers->resize(static_cast<std::size_t>(count));
    events.resize(static_cast<std::size_t>(count));
    theta.cut(count);
}

Stride::Stride(std::size_t bytes, std::size_t each) noexcept
    : most_(bytes == 0 ? 1 : std::max<Index>(kFewestCheckpoints, static_cast<Index>(bytes / each))) {}

bool Stride::passes_over() noexcept {
    if (keeps_steps() && seen_ % stride_ == 0) return false;
    ++seen_;
    return true;
}

void EventList::add(const Clock& clock, int neuron_index, int sample_index, EventKind event_kind) {
    double time = clock.t();
    double log_time = clock.log_t();
    const double width = kTieUlps * std::numeric_limits<double>::epsilon();
    // Beyond the range of t, above or below, log t tells them apart; at the start it is -inf.
    const bool in_range = std::isnormal(time);
    const bool together =
        !t.empty() && (log_time == log_t.back() || (in_range ? time - t.back() <= width * time
                                                             : log_time - log_t.back() <= width * std::abs(log_time)));
    if (together) {
        time = t.back();
        log_time = log_t.back();
    } else {
        ++sets;
    }
    t.push_back(time);
    log_t.push_back(log_time);
    neuron.push_back(neuron_index);
    sample.push_back(sample_index);
    kind.push_back(static_cast<std::uint8_t>(event_kind));
    tie.push_back(sets);
}

Recorder::Recorder(const Dataset& data, Index neurons, std::size_t checkpoint_bytes)
    : data_(data),
      stride_(checkpoint_bytes, sizeof(double) * neurons * (data.rank() + 1)),
      checkpoints_(neurons * (data.rank() + 1)),
      saved_(neurons * (data.rank() + 1)) {}

void Recorder::checkpoint(const Clock& clock, double log_loss, const Matrix& w, const Vector& a, bool always) {
    if (always || stride_.takes(checkpoints_.count(), [this] { checkpoints_.thin(); }))
        checkpoints_.add(clock, log_loss, events_.count(), {span_of(w), span_of(a)});
}

void Recorder::save(const Clock& clock, double log_loss, const Matrix& w, const Vector& a) {
    saved_.add(clock, log_loss, events_.count(), {span_of(w), span_of(a)});
}

void Recorder::events(const Clock& clock_at_event, const BoundaryEvent& event) {
    for (const int sample : data_.samples_of(event.boundary))
        events_.add(clock_at_event, event.neuron, sample,
                    data_.orientation(sample) > 0 ? event.kind : turned(event.kind));
}

void Recorder::branching(const Clock& clock_at_event, const BranchPoint& point) {
    Branching row{clock_at_event.t(), clock_at_event.log_t(), point.neuron, {}, {}, point.chosen};
    row.options.resize(point.options.size());
    for (std::size_t i = 0; i < point.boundaries.size(); ++i)
        for (const int sample : data_.samples_of(point.boundaries[i])) {
            row.samples.push_back(sample);
            for (std::size_t option = 0; option < point.options.size(); ++option)
                row.options[option].push_back(sample_sign(data_, sample, point.options[option][i]));
            events_.add(clock_at_event, point.neuron, sample, EventKind::branch);
        }
    branchings_.push_back(std::move(row));
}

}  // namespace reluflow
