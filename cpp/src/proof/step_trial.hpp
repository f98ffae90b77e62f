/// One step as a guess: the pieces of all neurons and the events between them.
#pragma once

#include <vector>

#include "proof/multiplier.hpp"
#include "proof/piece.hpp"
#include "proof/scalar_series.hpp"

namespace reluflow::proof {

/// A boundary that a neuron leaves at an event, to the side `direction` = ±1 of its first sample.
struct Departure {
    Index sample;
    double direction;
};

/// A claimed event at the end of one piece and the start of the next: a boundary is reached, boundaries on which the
/// neuron slides are left at the same instant, or one is left alone. Times are since the start of the step.
template <class Real>
struct Crossing {
    Index neuron = 0;
    Index sample = 0;  // that is reached, or the only one that is left; the first one of its boundary, as in `left`
    Kind kind = Kind::other;
    std::vector<Departure> left;  // on reaching `sample`
    std::size_t claims = 1;       // how many claims it answers
    bool rests = false;           // the neuron never moves again
    std::size_t before = 0;       // position of the piece that ends here; the next one follows it
    Real time = 0.0;
    double zero = 0.0;         // bound of |z̃| at the event, on both pieces
    double pull_before = 0.0;  // x · g̃ on both sides at the event
    double pull_after = 0.0;
    double error_before = 0.0;  // of both, against the polynomials of the duals
    double error_after = 0.0;
    double direction = 1.0;  // +1 where z grows
    double entry = 0.0;      // what the state jumps by, for it starts on the boundaries that the neuron slides on then

    // How much the others miss of it, per unit of time after it and at once: of the gradients (times sup |dλ/dq|), of
    // the margins, and of the rates of the margins.
    double gradient_slope = 0.0, gradient_jump = 0.0;
    double margin_slope = 0.0, margin_jump = 0.0;
    double margin_rate = 0.0;

    // What the tube finds.
    double window = 0.0;  // outside of it the signs, or the multiplier, are those of the pieces
    double delay = 0.0;   // |true time - time| is at most this
    double slack = 0.0;   // z̃ is on the side of its slope but for this time
    double margin = 0.0;  // rate over its error

    /// Whether every sample of the boundary pulls towards it.
    bool attracting(const Samples& samples, const Real& a) const;
};

/// What an event does to the signs; returns what of the boundaries of `held` the neuron slides on after it.
template <class Real>
std::vector<Index> apply(const Samples& samples, const Crossing<Real>& event, const std::vector<Index>& held,
                         std::vector<std::int8_t>& signs);

/// The pieces in the order of neurons, `first[j]` to `first[j + 1]` - 1 of neuron j, and the events between them.
template <class Real>
struct StepTrial {
    double length = 0.0;
    std::vector<Piece<Real>> pieces;
    std::vector<std::size_t> first;
    std::vector<Crossing<Real>> crossings;  // in the order of pieces
};

/// Follows each neuron through the step, with the events that `claims[j]` says come next.
template <class Real>
class TrialMaker {
  public:
    TrialMaker(const Samples& samples, const NetworkSeries<Real>& series, const DualBounds& bounds, Terms terms)
        : samples_(samples), series_(series), bounds_(bounds), maker_(samples, series, bounds, terms), terms_(terms) {}

    /// `start_time`: of the step, for the guesses of times. A failure without a reason is none.
    Failure make(const std::vector<ProvedNeuron<Real>>& neurons, const std::vector<std::vector<Claim>>& claims,
                 double start_time, StepTrial<Real>& trial) const;

  private:
    struct Walk;
    Failure follow(const ProvedNeuron<Real>& neuron, const std::vector<Claim>& claims, double start_time,
                   StepTrial<Real>& trial) const;
    Failure pass(Walk& walk, Crossing<Real>& event, const Real& local, StepTrial<Real>& trial) const;
    bool group(const std::vector<Claim>& claims, std::size_t next, Crossing<Real>& event) const;
    bool meets(const Piece<Real>& piece, const Crossing<Real>& event, double guess, double sign, Real& time) const;
    bool fits(const Crossing<Real>& event, const std::vector<std::int8_t>& signs, const Piece<Real>& before) const;
    bool rests(const Crossing<Real>& event, const std::vector<std::int8_t>& signs, const Piece<Real>& before) const;
    void turn(const Crossing<Real>& event, const std::vector<std::int8_t>& signs, std::vector<Real>& raw) const;
    void place(Walk& walk, const HeldSet& old, double w_size, Crossing<Real>& event) const;
    void measure(const Piece<Real>& before, const Piece<Real>& after, Crossing<Real>& event) const;
    double gradient_change(const Piece<Real>& before, const Piece<Real>& after, const Crossing<Real>& event) const;
    void miss(const Piece<Real>& before, const Piece<Real>& after, Crossing<Real>& event) const;

    const Samples& samples_;
    const NetworkSeries<Real>& series_;
    const DualBounds& bounds_;
    PieceMaker<Real> maker_;
    Terms terms_;
};

}  // namespace reluflow::proof
