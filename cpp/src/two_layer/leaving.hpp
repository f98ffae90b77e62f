/// When a multiplier leaves its interval, or a neuron a boundary: the time at which a series passes zero, where it is
/// known to so much.
#pragma once

#include <algorithm>

#include "numeric/polynomial.hpp"
#include "two_layer/neuron_motion.hpp"

namespace reluflow {

/// In time since the begin of a piece.
struct KnownFall {
    double at = kNoRoot;
    double seen = kNoRoot;  ///< by when it is beyond by more than what is known of it
    bool rests = false;     ///< of a neuron beside a boundary: it does not cross it, but has come to rest on it
};

/// When a neuron leaves in a step that knows its weights to a tolerance: once that is known. From the root on the
/// weights of the next step would drive it back, and it would leave again.
inline double known_leave(double root, double seen, double end) noexcept {
    return std::max(root, std::min(seen, end));
}

/// When a quantity that starts near zero passes it, in [0, end]: `gap`, the distance of a multiplier from an end of its
/// interval or of a neuron from a boundary, falls below -`noise` there, and left zero for that last at the u that is
/// returned; 0 where it was below from the start. kNoRoot when it does not pass: a multiplier that only comes to its
/// end, as those of flows that come to rest do, stays.
KnownFall known_fall(const double* gap, int order, double noise, double end) noexcept;

/// What a neuron's leaving at u changes in its gradient until the end of the step, as if all of it changed at once:
/// the multiplier, `gap` inside its interval, goes on with its rate (a third of which counts, since the effect of a
/// jump grows with the square of time and that of a rate with the cube), and may be beyond the end already when the
/// step begins, by as much as the weights of the step before were not known.
double jump_on_leaving(const double* gap, int order, double u) noexcept;

/// True where a late step takes back an excess of a multiplier over an end of its interval (`gap` below zero) that
/// moves the neuron by less than the step may be off by. At the begin of such a step are the errors of the explicit
/// ones before it, in weights that answer within a small part of the step; the neuron left for them, and came back,
/// again and again.
bool is_taken_back(const NeuronMotion& motion, int piece, const double* gap, int order, double unknown,
                   double length) noexcept;

}  // namespace reluflow
