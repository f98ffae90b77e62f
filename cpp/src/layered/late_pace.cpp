#include "layered/late_pace.hpp"

#include <algorithm>

namespace reluflow::layered {
namespace {

/// The first late step is longer by this than what would just pay.
constexpr double kHope = 2.0;
/// Late steps that are tried in a row, each shorter, before explicit steps resume.
constexpr int kMostTries = 3;
/// Explicit steps before a late step is tried again; doubles after every failure.
constexpr int kFirstPause = 2;
constexpr int kLongestPause = 32;
/// The same after an event: by then most of the layer behind the kink is over.
constexpr int kLayerPause = 2;
/// The work of a late step, less what its length was worth, is done this many times over by explicit steps before the
/// next try, so that tries that gain nothing are a third of all work.
constexpr double kRepaid = 2.0;
/// Bounds of what a late step has to gain, whatever the estimate of its work says.
constexpr double kLeastGain = 2.0;
constexpr double kLargestGain = 300.0;

}  // namespace

bool LatePace::is_stiff() const noexcept {
    return plain_ > 0.0 && plain_ < stiff_;
}

void LatePace::plain_step_taken(double length) noexcept {
    plain_ = length;
    stiffness_ = 0.0;
    debt_ = std::max(0.0, debt_ - 1.0);
    if (pause_ > 0) --pause_;
}

void LatePace::other_step_taken(double length) noexcept {
    debt_ = std::max(0.0, debt_ - std::max(1.0, length / plain_));
    if (pause_ > 0) --pause_;
}

double LatePace::plain(double stiffness) noexcept {
    if (stiffness_ > 0.0) plain_ *= stiffness_ / stiffness;
    stiffness_ = stiffness;
    return plain_;
}

double LatePace::propose(double plain) const noexcept {
    return active_ ? next_ : kHope * gain_ * plain;
}

void LatePace::tried(bool accepted, double next, double work, double plain) noexcept {
    debt_ += kRepaid * work;
    gain_ = std::clamp(work, kLeastGain, kLargestGain);
    next_ = next;
    const bool pays = next >= gain_ * plain;
    tries_ = accepted && pays ? 0 : tries_ + 1;
    active_ = pays && tries_ < kMostTries;
    if (active_) {
        if (accepted) next_pause_ = 0;
        return;
    }
    tries_ = 0;
    next_pause_ = std::clamp(2 * next_pause_, kFirstPause, kLongestPause);
    pause_ = next_pause_;
}

void LatePace::taken(double length) noexcept {
    debt_ = std::max(0.0, debt_ - kRepaid * length / plain_);
}

void LatePace::leave() noexcept {
    active_ = false;
    pause_ = kLayerPause;
}

void LatePace::put_off() noexcept {
    active_ = false;
    pause_ = next_pause_ = kLongestPause;
}

}  // namespace reluflow::layered
