/// What a step missed, measured afterwards: the weights that its margins ask for against those that drove it.
#pragma once

#include "base/types.hpp"
#include "problem/dataset.hpp"
#include "problem/loss.hpp"
#include "two_layer/waveform.hpp"

namespace reluflow {

/// Terms of a series below rounding say nothing of what comes after them: the weights of saturated samples look
/// constant until they are not. So the weights of every step are compared, at points inside it and at its end, with
/// those that follow from the step's own margins.
class Defect {
  public:
    Defect(const Dataset& data, LossKind loss);

    /// max_u H Σ_i |p_i asked - p_i used| |x_i| over points of (0, end], beyond what rounding does: no neuron is moved
    /// further, relative to its size, by what the weights miss. Time counts likewise. `square` is |θ|². Where the
    /// weights are prescribed, a sample whose weight answers to its own margin counts by what is left of the defect
    /// after it has answered. NaN on a step that is not finite.
    double measure(const Waveform& waveform, double end, double square);

  private:
    void read(const Waveform& waveform, double u);
    void ask();
    double weights_at(const Waveform& waveform, double u);

    LossKind loss_;
    Vector y_;
    Vector norms_;
    Vector live_;   // 1 for a active sample, else 0
    Vector width_;  // H |x_i|, or less where the weight answers
    Vector start_, q_, used_, asked_;
    double log_mass_ = 0.0;  // of the asked weights
};

}  // namespace reluflow
