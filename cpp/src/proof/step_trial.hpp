/// One step as a guess: the pieces of all neurons and the events between them.
#pragma once

#include <vector>

#include "proof/piece.hpp"

namespace reluflow::proof {

/// A claimed event at the end of one piece and the start of the next. Times are since the start of the step.
struct Crossing {
    Index neuron = 0;
    Index sample = 0;
    Kind kind = Kind::other;
    std::size_t before = 0;  // position of the piece that ends here; the next one follows it
    double time = 0.0;
    double zero = 0.0;         // bound of |z̃| at the event, on both pieces
    double pull_before = 0.0;  // x · g̃ on both sides at the event
    double pull_after = 0.0;
    double pull_error = 0.0;  // of both, against the polynomials of the duals
    double direction = 1.0;   // +1 where z grows

    // How much the others miss of it, per unit of time after it and at once: of the gradients (times sup |dλ/dq|), and
    // of the margins.
    double gradient_slope = 0.0, gradient_jump = 0.0;
    double margin_slope = 0.0, margin_jump = 0.0;

    // What the tube finds.
    double window = 0.0;  // outside of it the sign of z is that of z̃
    double delay = 0.0;   // |true time - time| is at most this
    double margin = 0.0;  // rate over its error

    bool attracting(const Samples& samples, double a) const {
        return a * samples.y[static_cast<std::size_t>(sample)] < 0;
    }
};

/// The pieces in the order of neurons, `first[j]` to `first[j + 1]` - 1 of neuron j, and the events between them.
struct StepTrial {
    double length = 0.0;
    std::vector<Piece> pieces;
    std::vector<std::size_t> first;
    std::vector<Crossing> crossings;  // in the order of pieces
};

/// Follows each neuron through the step, with the events that `claims[j]` says come next.
class TrialMaker {
  public:
    TrialMaker(const Samples& samples, const NetworkSeries& series, const DualBounds& bounds, Terms terms)
        : samples_(samples), series_(series), bounds_(bounds), maker_(samples, series, bounds, terms), terms_(terms) {}

    /// `start_time`: of the step, for the guesses of times. A failure without a reason is none.
    Failure make(const std::vector<ProvedNeuron>& neurons, const std::vector<std::vector<Claim>>& claims,
                 double start_time, StepTrial& trial) const;

  private:
    Failure follow(const ProvedNeuron& neuron, const std::vector<Claim>& claims, double start_time,
                   StepTrial& trial) const;
    bool meets(const Piece& piece, const Claim& claim, double sign, double start_time, double& time) const;
    bool fits(const Claim& claim, const std::vector<std::int8_t>& signs) const;
    Crossing crossing(const Piece& before, const Claim& claim, double local, const std::vector<double>& w) const;
    void miss(const Piece& before, const Piece& after, Crossing& crossing) const;

    const Samples& samples_;
    const NetworkSeries& series_;
    const DualBounds& bounds_;
    PieceMaker maker_;
    Terms terms_;
};

}  // namespace reluflow::proof
