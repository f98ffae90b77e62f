/// The enclosure of one step: bounds of the distance of the true flow to the pieces, closed by first exit.
#pragma once

#include <vector>

#include "proof/step_trial.hpp"

namespace reluflow::proof {

/// Bounds of |u_j - ũ_j| on the whole step. docs/proof.md, "One step".
template <class Real>
class Tube {
  public:
    Tube(const Samples& samples, const NetworkSeries<Real>& series, const DualBounds& bounds, Terms terms)
        : samples_(samples), bounds_(bounds), terms_(terms), maker_(samples, series, bounds, terms) {}

    /// Finds bounds that hold on the step, given those of `neurons` and `all` at its start, and the windows of the
    /// trial's events. The bounds at the end are then `radius()` and `total()`.
    Failure close(const std::vector<ProvedNeuron<Real>>& neurons, double all, StepTrial<Real>& trial);

    const std::vector<double>& radius() const { return radius_; }
    double total() const { return total_; }
    /// sup over the step of the bound of neuron j.
    double assumed(Index j) const { return assumed_[static_cast<std::size_t>(j)]; }
    /// sup over the step, and over neurons, of the error of a gradient against the one of λ̃.
    double gradient_error() const { return largest_error_; }
    /// The same of one dual.
    double dual_error() const { return dual_error_; }
    /// Of a multiplier's distance from its bound, as `inside_bound` has it.
    double inside_error(const Piece<Real>& piece, Index position) const;

  private:
    Failure propagate(const std::vector<ProvedNeuron<Real>>& neurons, double all, StepTrial<Real>& trial);
    Failure spread_duals(const StepTrial<Real>& trial);
    Failure cross(const Piece<Real>& before, const Piece<Real>& after, Crossing<Real>& event, double error) const;
    Failure release(const Piece<Real>& before, Crossing<Real>& event) const;
    double dual_rate_error(const StepTrial<Real>& trial) const;
    double jump(const Piece<Real>& before, const Crossing<Real>& event) const;
    double along(const Piece<Real>& piece, double error, const StepTrial<Real>& trial) const;
    double together(const std::vector<ProvedNeuron<Real>>& neurons, double all, const StepTrial<Real>& trial) const;
    double missed(const StepTrial<Real>& trial, const Real& begin, const Real& end) const;

    const Samples& samples_;
    const DualBounds& bounds_;
    Terms terms_;

    std::vector<double> assumed_;  // (m): the tube
    double assumed_total_ = 0.0;
    std::vector<double> radius_;  // (m): what comes out of it
    double total_ = 0.0;

    std::vector<double> off_;      // (m): twice the distance of the polynomials to what the neuron slides on
    std::vector<double> size_;     // (m): sup |ũ_j|
    double all_sizes_ = 0.0;       // sqrt of the sum of their squares
    double dual_slope_ = 0.0;      // sup |dλ_i/dq_i|
    double margin_change_ = 0.0;   // sup |q_i(u) - q̃_i|
    double own_error_ = 0.0;       // of a gradient, from the duals' own error
    double gradient_error_ = 0.0;  // of a gradient, kinks that start in the step left out
    double largest_error_ = 0.0;   // with them
    double dual_error_ = 0.0;      // of one dual
    double dual_rate_ = 0.0;       // |λ' - λ̃'|₂, where a multiplier meets its bound in the step
    PieceMaker<Real> maker_;
};

}  // namespace reluflow::proof
