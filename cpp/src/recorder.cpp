#include "reluflow/recorder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reluflow {

namespace {

/// Events closer than this many ulp of t happen together: the rounding of a root and of the time series.
constexpr double kTieUlps = 8.0;
/// At least so many checkpoints are kept whatever the budget says.
constexpr Index kFewestCheckpoints = 16;

EventKind turned(EventKind kind) noexcept {
    switch (kind) {
        case EventKind::cross_up: return EventKind::cross_down;
        case EventKind::cross_down: return EventKind::cross_up;
        case EventKind::release_up: return EventKind::release_down;
        case EventKind::release_down: return EventKind::release_up;
        case EventKind::start_up: return EventKind::start_down;
        case EventKind::start_down: return EventKind::start_up;
        default: return kind;
    }
}

}  // namespace

void States::add(const Clock& clock, double log_loss_now, const Matrix& w_now, const Vector& a_now) {
    t.push_back(clock.t());
    log_t.push_back(clock.log_t());
    log_loss.push_back(log_loss_now);
    w.insert(w.end(), w_now.data(), w_now.data() + w_now.size());
    a.insert(a.end(), a_now.data(), a_now.data() + a_now.size());
}

void States::thin(Index state_size, Index neurons) {
    const Index kept = (count() + 1) / 2;
    for (Index i = 1; i < kept; ++i) {
        t[i] = t[2 * i];
        log_t[i] = log_t[2 * i];
        log_loss[i] = log_loss[2 * i];
        std::copy_n(w.begin() + 2 * i * state_size, state_size, w.begin() + i * state_size);
        std::copy_n(a.begin() + 2 * i * neurons, neurons, a.begin() + i * neurons);
    }
    t.resize(kept);
    log_t.resize(kept);
    log_loss.resize(kept);
    w.resize(kept * state_size);
    a.resize(kept * neurons);
}

void EventList::add(const Clock& clock, int neuron_index, int sample_index, EventKind event_kind) {
    double time = clock.t();
    double log_time = clock.log_t();
    const double width = kTieUlps * std::numeric_limits<double>::epsilon();
    const bool together = !t.empty() && (std::isfinite(time) ? time - t.back() <= width * time
                                                             : log_time - log_t.back() <= width * std::abs(log_time));
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
      neurons_(neurons),
      max_checkpoints_(checkpoint_bytes == 0
                           ? 1
                           : std::max<Index>(kFewestCheckpoints,
                                             static_cast<Index>(checkpoint_bytes /
                                                                (sizeof(double) * neurons * (data.rank() + 1))))) {}

void Recorder::checkpoint(const Clock& clock, double log_loss, const Matrix& w, const Vector& a) {
    if (!keeps_steps() && checkpoints_.count() > 0) return;
    if (seen_++ % stride_ != 0) return;
    if (checkpoints_.count() == max_checkpoints_) {
        checkpoints_.thin(neurons_ * data_.rank(), neurons_);
        stride_ *= 2;
        if ((seen_ - 1) % stride_ != 0) return;
    }
    checkpoints_.add(clock, log_loss, w, a);
}

bool Recorder::passes_over() noexcept {
    if (keeps_steps() && seen_ % stride_ == 0) return false;
    ++seen_;
    return true;
}

void Recorder::save(const Clock& clock, double log_loss, const Matrix& w, const Vector& a) {
    saved_.add(clock, log_loss, w, a);
}

void Recorder::events(const Clock& clock_at_event, const WallEvent& event) {
    if (!event.is_event) return;
    for (const int sample : data_.samples_of(event.wall))
        events_.add(clock_at_event, event.neuron, sample,
                    data_.orientation(sample) > 0 ? event.kind : turned(event.kind));
}

void Recorder::branching(const Clock& clock_at_event, const BranchPoint& point) {
    Branching row{clock_at_event.t(), clock_at_event.log_t(), point.neuron, {}, {}, point.chosen};
    row.options.resize(point.options.size());
    for (std::size_t i = 0; i < point.walls.size(); ++i)
        for (const int sample : data_.samples_of(point.walls[i])) {
            row.samples.push_back(sample);
            for (std::size_t option = 0; option < point.options.size(); ++option)
                row.options[option].push_back(sample_sign(data_, sample, point.options[option][i]));
            events_.add(clock_at_event, point.neuron, sample, EventKind::branch);
        }
    branchings_.push_back(std::move(row));
}

}  // namespace reluflow
