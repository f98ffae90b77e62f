/// Neurons that the samples of a boundary hold beside it, and what a step has to know to let one of them cross it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "base/types.hpp"
#include "two_layer/neuron_motion.hpp"

namespace reluflow {

/// What a hit that a step finds at u has to be known to, to be one.
struct Doubt {
    double u = kNoRoot;
    double until = kNoRoot;  ///< up to here the series of the neuron knows its distance well enough
    double moved = std::numeric_limits<double>::infinity();  ///< by so much of itself may others have moved the neuron
    double distance = 0.0;  ///< the farthest that the neuron was until the hit, relative to its size
    bool present = false;
};

/// Where samples of both labels stand on a boundary, or a sample is fitted by zero, what they pull falls to zero at the
/// boundary: they hold a neuron beside it, at a distance that may be far below what a step allows the neuron to be off
/// by. An error of that size takes it across, and where the other side pulls it on it never comes back. So the distance
/// itself has to be known.
class HeldBeside {
  public:
    explicit HeldBeside(const NeuronMotion& motion) : motion_(motion) {}

    /// Of a hit at u of a boundary by a neuron on this side of it with this series z, where |z| below `zero` is zero.
    /// Not present if its samples do not hold the neuron, it does not slow down on its way there, and it comes from
    /// farther away than what a step may be off by.
    Doubt doubt(int piece, int boundary, std::int8_t side, const Coefficients& z, double u, double zero) const;
    /// Of a zero at u of the output weight, the rate of which is known to `noise`. Not present if the weight falls by
    /// less than an e-folding until then at the rate of the begin.
    Doubt doubt_of_output(int piece, double u, double noise) const;
    /// Until when an explicit step knows the distance of a neuron on this side of a boundary, at less than what a step
    /// may be off by, if its samples hold it or it falls by an e-folding or more: what it is off by drives the neuron
    /// towards other boundaries, or across this one where errors come to rest on it. A distance within `zero` at a rate
    /// within `still` is rounding, which the terms of a step of many time constants of the hold make of any size.
    double known_beside(int piece, int boundary, std::int8_t side, double zero, double still) const;
    /// True if the series z of the distance of a neuron beside a boundary does not know it until v, in time since the
    /// begin of the piece, as well as what counts as zero.
    bool is_unknown(const Coefficients& z, double v, double zero) const;

    /// The pull, in contributions, that takes a neuron which leaves a boundary on this side no farther than `zero`,
    /// where samples of both labels hold it. Zero where none do.
    double held_pull(int piece, int boundary, std::int8_t side, double zero) const;

    /// What answers to a distance z on the neuron's side: z' = drift - rate z.
    struct Hold {
        double rate = 0.0;      ///< zero if the distance would fall by less than an e-folding
        double noise = 0.0;     ///< rounding of the drift
        double zero = 0.0;      ///< a distance within this is zero: rounding of z, or what noise makes of it
        double rounding = 0.0;  ///< of z alone
    };
    /// The hold in the time until `limit`, where |z| below `rounding` is zero.
    Hold hold(int piece, int boundary, std::span<const std::int8_t> sides, double limit, double rounding) const;
    /// True where a neuron with this series of z is on the boundary as far as doubles can tell: nothing drives it
    /// across at z = 0, so that its distance falls for ever, and what is left is within what a step may be off by. On
    /// the other side it would not be drawn away, so that to slide is the same to rounding. Never for a loss of errors,
    /// where the distance falls with the error of its sample, and the run is at rest before either is rounding.
    bool comes_to_rest(int piece, int boundary, const Coefficients& z, const Hold& hold) const;

  private:
    Doubt doubt_of(int piece, const Coefficients& c, double held, double u, double zero) const;
    double hold_rate(int piece, int boundary, std::int8_t side) const;
    double rate_to_origin(int piece, std::span<const std::int8_t> sides) const;
    double drive_rate(int piece, int boundary, std::int8_t side) const;
    bool balances(int boundary, std::int8_t side) const;
    double answer(int boundary, std::int8_t side, double square) const;
    double response(int boundary, std::int8_t side, bool of_live) const;
    bool feels_errors() const;
    double known_until(const Coefficients& z, double v, double error) const;

    const NeuronMotion& motion_;
};

}  // namespace reluflow
