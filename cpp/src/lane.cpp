#include "reluflow/lane.hpp"

#include <algorithm>

namespace reluflow {

namespace {

/// Events of a step, a neuron, for which there is memory from the start.
constexpr Index kUsualDisturbances = 4;

}  // namespace

Lane::Lane(const WatchedNetwork& network, Range neurons, BranchPolicy policy, Pattern& pattern,
           std::vector<HeldSet>& held)
    : motion_(network.data, network.expansion.waveform(), network.expansion.series(), network.state.leak(), neurons),
      finder_(motion_, policy == BranchPolicy::stay),
      watch_(network, neurons, motion_, finder_),
      local_(network.data, network.state, policy, motion_, finder_, pattern, held, neurons.count()),
      column_(network.data.rank()) {
    hits_.reserve(neurons.count());
    disturbances_.reserve(kUsualDisturbances * neurons.count());
}

void Lane::begin_step(double largest_mean_norm) {
    local_.begin_step(largest_mean_norm);
    motion_.begin_step();
    finder_.forget_inconsistency();
    watch_.begin();
}

void Lane::skip() {
    local_.forget();
    motion_.begin_step();
    hits_.clear();
}

void Lane::scan() {
    const auto& found = watch_.scan();
    hits_.assign(found.begin(), found.end());
    std::sort(hits_.begin(), hits_.end(), [](const FirstHit& a, const FirstHit& b) {
        return a.hit.u < b.hit.u || (a.hit.u == b.hit.u && a.neuron < b.neuron);
    });
}

void Lane::follow(double end) {
    end_ = end;
    disturbances_.clear();
    for (const auto& first : hits_) {
        if (first.hit.u > end_) break;
        follow(first);
    }
}

void Lane::follow(const FirstHit& first) {
    Hit hit = first.hit;
    const int neuron = first.neuron;
    std::span<const int> walls = watch_.candidates(neuron, hit.u);
    for (int count = 0; hit.u <= end_; ++count) {
        if (count == kMaxEventsPerTrack) {
            end_ = hit.u;
            return;
        }
        if (count > 0) disturbances_.push_back({hit.u, watch_.coupling(motion_.last(neuron), hit)});
        if (!local_.apply(neuron, hit, walls)) {
            end_ = hit.u;
            return;
        }
        hit = watch_.next_hit(neuron, end_);
        if (hit.kind == HitKind::none) return;
        walls = finder_.met();
    }
}

void Lane::cut(double u) {
    local_.cut(u);
    for (const int neuron : motion_.touched()) motion_.truncate(neuron, u);
}

void Lane::place(double u, Matrix& w, Vector& a) {
    for (const int neuron : motion_.touched()) {
        const int piece = motion_.in_force(neuron, u);
        if (piece == motion_.first(neuron)) continue;
        motion_.evaluate(piece, u, column_.data(), a[neuron]);
        w.col(neuron) = column_;
    }
}

}  // namespace reluflow
