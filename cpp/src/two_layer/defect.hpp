/// The defect of a step, measured afterwards: the weights that follow from its margins against the weights that drove
/// it.
#pragma once

#include "base/types.hpp"
#include "problem/dataset.hpp"
#include "problem/settings.hpp"
#include "two_layer/waveform.hpp"

namespace reluflow {

/// Terms of a series below rounding say nothing about later terms: weights of saturated samples look constant until
/// they are not. So the weights of every step are compared, at points inside it and at its end, with those that follow
/// from the step's own margins.
class Defect {
  public:
    Defect(const Dataset& data, const Objective& objective);

    /// max_u H Σ_i |p_i from margins - p_i used| |x_i| over points of (0, end], less what rounding explains. This
    /// bounds the motion of a neuron, relative to its size, due to wrong weights. The error of time counts in the same
    /// way. `square` is |θ|², `terms` see StateSeries. In a Radau step the weight of a sample responds to its own
    /// margin; then only the part of the defect that remains after this response counts. NaN on a step that is not
    /// finite.
    double measure(const Waveform& waveform, double end, double square, double terms);

  private:
    void read(const Waveform& waveform, double u);
    void ask();
    double weights_at(const Waveform& waveform, double u);

    LossKind loss_;
    Resting resting_;
    Vector signs_;
    Vector counts_;
    Vector least_;    // |q| of which the rounding counts at least: that of the network's output,
    Vector unknown_;  // and that of the terms of one that is an error
    Vector norms_;
    Vector live_;   // 1 for an active sample, else 0
    Vector tails_;  // the same of those that share in the mass
    Vector width_;  // H |x_i|, reduced where the weight responds
    Vector start_, q_, used_, asked_, scale_;
    double log_mass_ = 0.0;  // of the weights from margins
};

}  // namespace reluflow
