/// How far the samples that carry weight reach along each boundary's normal: private part of `bounds`.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "problem/dataset.hpp"
#include "two_layer/waveform.hpp"

namespace reluflow {

/// Bounds of √(Σ_i p_i (x_i·e)²) for the unit normals e. They are kept while the weights grow little.
class Spread {
  public:
    explicit Spread(const Dataset& data);

    /// Takes the weights at the start of a step.
    void update(const Waveform& waveform);
    double along(int wall) const noexcept { return growth_ * along_[wall]; }

  private:
    void measure();

    const Dataset& data_;
    double growth_ = 0.0;  // √ of how much the weights have grown at most since they were measured
    Vector floor_;         // the weights measured, the smallest ones raised
    std::vector<double> along_;
    Matrix weighted_, square_, turned_;
};

}  // namespace reluflow
