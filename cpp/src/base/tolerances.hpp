/// Every number of the method that more than one file needs, with the reason for its value.
#pragma once

#include "base/types.hpp"

namespace reluflow {

/// The highest Taylor order. At order 24 a step covers 3.4 time constants to 1e-11; order 28 would add a fifth to that
/// for a third more work.
inline constexpr int kMaxOrder = 24;
/// Below this order the last two terms are a poor estimate of the tail.
inline constexpr int kMinOrder = 4;
/// The last Taylor terms are kept below this part of rtol, because a run takes about a thousand steps and the direction
/// of a decaying neuron magnifies earlier errors. Ten times less costs one order in twenty.
inline constexpr double kTruncationPart = 0.01;
/// If truncation allows less than this part of a step, the step is repeated: its remaining part would be worth less
/// than its work.
inline constexpr double kLeastAllowed = 0.3;
/// Bound of the defect of a step, as a part of rtol: about what truncation neglects in the weights.
inline constexpr double kDefectPart = 1.0;
/// The same for the error estimate of a Radau step, which overestimates the error.
inline constexpr double kLatePart = 0.05;
/// With positive margins the state is known as well as moves these by so many e-foldings, whatever rtol allows for θ,
/// but no better than at the second as rtol: beyond that the state is stored smaller before it moves them by many.
inline constexpr double kMostMoved = 0.1;
inline constexpr double kFineEnough = 1e-9;
/// Bound of what a step neglects in the coupling of local events, as a part of rtol. The bounds of single events are
/// added as if all had one direction; at this value P2 and P3 end within twice rtol of their references, and at 0.45
/// P3 is half as far again from its own. See also kTracePart.
inline constexpr double kCouplingPart = 0.22;
/// Where the next steps make up for it (Owed), that is neglected for each of so many boundaries that are met, up to the
/// second number: what is left is of second order. If a single event counts as three do, one in thirty small runs ends
/// twice as far from its reference as without; with 1e-5 P3 at rtol 1e-6 does so by a quarter.
inline constexpr std::size_t kMostCrowd = 10;
inline constexpr double kMostNeglected = 1e-6;
/// A gradient is driven by what is owed up to this part of itself.
inline constexpr double kMostOwed = 1e-3;
/// A step covers at most this many time constants of the fastest neuron: beyond it the alternating terms of a decaying
/// neuron cancel to more than three digits.
inline constexpr double kMaxRate = 2.5;
/// Radau steps are tried when truncation keeps an explicit step below this many time constants of the fastest neuron:
/// then the weights, not the neurons, limit it, and the layers behind which a first one has to begin are over. At 0.3
/// and more P1 and P2 pay for tries before t = 10 that all fail, and take longer to log t = 1e6; at 0.01 so do they.
inline constexpr double kStiffRate = 0.05;
/// Where the loss stalls, weights of order one cancel to a gradient that falls like 1/t, and a Radau step of length H
/// moves the neurons by H times its rounding. About a hundredth of that is seen (measured), so H may be so long that
/// the bound is this many times the error that is accepted there (Stepper::rounding_limit).
inline constexpr double kRoundingPart = 10.0;
/// At the start of a run a neuron is zero or at least this large: smaller doubles do not have all digits.
inline constexpr double kSmallestNeuron = 1e-290;
/// And at most this large: sizes are squared after multiplication by 1e100, and they grow.
inline constexpr double kLargestNeuron = 1e50;
/// Bound of |θ|² max |x|, which bounds the margins: their squares stay finite.
inline constexpr double kLargestOutput = 1e150;
/// Pre-activations below this many ulp of |w| count as zero: the rounding of one dot product and one projection.
inline constexpr double kZeroUlps = 32.0;
/// A pre-activation on the wrong side of its boundary by more than this part of |w| + |a| means that an event was
/// missed.
inline constexpr double kWrongSide = 1e-8;
/// A rate that is not known may be one all the same. What it has moved a neuron by is no more in doubt from this part
/// on of kWrongSide.
inline constexpr double kDrifted = 0.1;
/// Rates below this many ulp of |a| Σ p_i |x_i| count as zero.
inline constexpr double kRateUlps = 256.0;
/// Rates at simultaneous boundaries below this many ulp of what acts on the neuron are zero: a few roundings of a sum.
inline constexpr double kCornerUlps = 32.0;
/// A boundary depends on others if its normal keeps less than this part of its length outside their span. Rounding in
/// data leaves about 1e-16; genuine near-parallel boundaries keep more.
inline constexpr double kRankTol = 1e-10;
/// a² - |w|² below this many ulp of a² counts as balance.
inline constexpr double kBalanceUlps = 8.0;
/// Gradients of margins that depend on each other to this part span what they seem to.
inline constexpr double kSpanTol = 1e-10;
/// What of the pull of samples is left beside others that hold them, below this part of it, is rounding.
inline constexpr double kHeldPull = 1e-8;
/// Errors below this many ulp of what they are differences of are rounding: their samples are fitted.
inline constexpr double kFittedErrorUlps = 64.0;
/// A neuron with more events than this inside one step ends the step.
inline constexpr int kMaxEventsPerTrack = 64;
/// What of a neuron rests outside a span in no more than so many ulp of it is nothing: the rounding of coordinates in
/// that span, 3 ulp in a few dimensions and 11 in a thousand (measured).
inline constexpr double kRestingUlps = 32.0;
/// Networks of fewer neurons, or less work n r m, run on one thread: their loops end before a second thread has woken.
inline constexpr Index kFewestShared = 128;
inline constexpr double kLeastSharedWork = 2e6;

}  // namespace reluflow
