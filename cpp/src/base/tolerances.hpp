/// Every number of the method that more than one file needs, with the reason for its value.
#pragma once

#include "base/types.hpp"

namespace reluflow {

/// The highest Taylor order. At order 24 a step covers 3.4 time constants to 1e-11; order 28 would add a fifth to that
/// for a third more work.
inline constexpr int kMaxOrder = 24;
/// Below this order the last two terms say too little about the tail.
inline constexpr int kMinOrder = 4;
/// The last Taylor terms are held below this part of rtol, because a run takes about a thousand steps and a decaying
/// neuron's direction magnifies what came before. Ten times less costs one order in twenty.
inline constexpr double kTruncationPart = 0.01;
/// A step of which less than this is allowed is repeated, for a part of it only is worth less than its work.
inline constexpr double kLeastAllowed = 0.3;
/// What the weights of a step may miss, found afterwards, as a part of rtol: about what truncation neglects of them.
inline constexpr double kDefectPart = 1.0;
/// The same for what the late phase misses; its error estimate overstates.
inline constexpr double kLatePart = 0.05;
/// What a step neglects of the coupling of local events, as a part of rtol. The bounds of single events add up as if
/// all pushed one way; at this value P2 and P3 end within twice rtol of their references.
inline constexpr double kCouplingPart = 0.5;
/// A step covers at most this many time constants of the fastest neuron: beyond it the alternating terms of a decaying
/// neuron cancel to more than three digits.
inline constexpr double kMaxRate = 2.5;
/// The late phase is tried when truncation keeps a step below this many time constants of the fastest neuron: the
/// weights, not the neurons, then set the pace.
inline constexpr double kStiffRate = 0.8;
/// Elsewhere (data that cannot be separated, near a critical point) only when it is that much shorter.
inline constexpr double kVeryStiffRate = 0.05;
/// Where the loss stalls, O(1) weights balance to a gradient that falls like 1/t, and a Radau step of length H moves
/// the neurons by H times its rounding. About a hundredth of that shows (measured); a step may not go beyond this many
/// rtol.
inline constexpr double kRoundingPart = 10.0;
/// A neuron is at zero or at least this large when a run starts: below it not all of its digits are in a double.
inline constexpr double kSmallestNeuron = 1e-290;
/// And at most this large: sizes are squared after they are multiplied by 1e100, and grow on the way.
inline constexpr double kLargestNeuron = 1e50;
/// Bound of |θ|² max |x|, which bounds the margins: their squares stay finite.
inline constexpr double kLargestOutput = 1e150;
/// Pre-activations below this many ulp of |w| count as zero: the rounding of one dot product and one projection.
inline constexpr double kZeroUlps = 32.0;
/// Rates below this many ulp of |a| Σ p_i |x_i| count as zero.
inline constexpr double kRateUlps = 256.0;
/// At a corner rates are compared at one instant and relative to what acts on the neuron: a few roundings of a sum.
inline constexpr double kCornerUlps = 32.0;
/// A boundary whose normal keeps less than this of its length outside the span of the others depends on them. Data have
/// about 1e-16 of rounding; genuine near-parallel boundaries keep more.
inline constexpr double kRankTol = 1e-10;
/// a² - |w|² below this many ulp of a² is balance.
inline constexpr double kBalanceUlps = 8.0;
/// One neuron with more events than this inside one step ends the step there.
inline constexpr int kMaxEventsPerTrack = 64;
/// Networks of fewer neurons, or less work n r m, run on one thread: the loops are over before a second one has come.
inline constexpr Index kFewestShared = 128;
inline constexpr double kLeastSharedWork = 2e6;
/// Ridge boundaries decided together by enumeration: 3^7 = 2187 small programs.
inline constexpr int kMaxRidges = 7;

}  // namespace reluflow
