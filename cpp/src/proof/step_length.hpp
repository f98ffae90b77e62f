/// How long the next step of a proof may be: by its polynomials, and by the events that claims say lie ahead.
#pragma once

#include <vector>

#include "proof/network_series.hpp"

namespace reluflow::proof {

/// A step of at most `longest` on which the last two terms of all polynomials are below `last_term`, relative.
template <class Real>
double natural_length(const Samples& samples, const NetworkSeries<Real>& series, double longest, double last_term);

/// A claim ahead, as far as it matters for the length of a step.
struct Ahead {
    double time = 0.0;    // since the start of the step
    double window = 0.0;  // about how far around it nothing else may end
    // ∫ of what others miss of it, relative to a gradient's size times time: kink (end - time)² / 2, and
    // bend (end - time)³ / 6 where its gradient has no jump
    double kink = 0.0;
    double bend = 0.0;
};

/// What the kinks of these events cost in a step to `end`; up to `free` after an event nothing.
double kink_cost(const std::vector<Ahead>& ahead, double end, double free = 0.0);

/// The end of a step of at most `longest`: the latest one in a gap between events, clear of their windows if guesses
/// are good, on which kinks cost at most `budget`; where there is none, one before the first event or soon after it.
/// `ahead` is in the order of time. Ends will be rounded by up to half the `grain`: no end is closer to an event than
/// that allows, and costs up to twice as far after it do not count.
double end_between(const std::vector<Ahead>& ahead, double longest, double budget, double grain);

}  // namespace reluflow::proof
