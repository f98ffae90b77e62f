/// Weights of samples that cannot pass zero, whatever the series of a step says.
#pragma once

#include <optional>

#include "two_layer/neuron_motion.hpp"

namespace reluflow {

class Expansion;
class Parameters;

class WeightSigns {
  public:
    explicit WeightSigns(const NeuronMotion& motion) : motion_(motion) {}
    /// The network, which tells of errors; without it any may pass zero.
    void watch(const Parameters& parameters, const Expansion& expansion) noexcept {
        parameters_ = &parameters;
        expansion_ = &expansion;
    }

    /// The sign of above - below of a boundary as long as its samples weigh anything: 0 where they do no more, nothing
    /// where their weights may pass zero, or have different signs.
    std::optional<double> of(int boundary) const;
    /// As in NeuronMotion, but zero from where the weights would pass it.
    void contribution_at(int boundary, double u, double& below, double& above) const;

  private:
    std::optional<double> of_labels(int boundary) const;
    std::optional<double> of_errors(int boundary) const;

    const NeuronMotion& motion_;
    const Parameters* parameters_ = nullptr;
    const Expansion* expansion_ = nullptr;
};

}  // namespace reluflow
