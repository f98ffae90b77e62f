/// The root mean square of the samples' components along each boundary's normal, and along any: private part of
/// `event_effect`.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "problem/dataset.hpp"
#include "two_layer/waveform.hpp"

namespace reluflow {

/// Bounds of √(Σ_i r_i (x_i·e)²) for the unit normals e, with r_i the response of a weight to its margin. They are
/// recomputed when a response has grown.
class Spread {
  public:
    explicit Spread(const Dataset& data);

    /// Takes the weights at the start of a step.
    void update(const Waveform& waveform);
    double along(int boundary) const noexcept { return growth_ * along_[boundary]; }
    /// A bound of it along any unit vector: √ of the largest eigenvalue of Σ_i r_i x_i x_iᵀ, at most a sixteenth more
    /// in a hundred dimensions.
    double largest() const noexcept { return growth_ * largest_; }

  private:
    void measure();
    void bound_largest();

    const Dataset& data_;
    double growth_ = 0.0;  // √ of the largest growth of a weight since the measurement
    Vector floor_;         // the weights at the measurement, small ones raised
    Numbers along_;
    double largest_ = 0.0;
    Matrix weighted_, square_, next_, turned_;
};

}  // namespace reluflow
