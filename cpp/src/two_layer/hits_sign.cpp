#include "two_layer/hits_sign.hpp"

#include "two_layer/expansion.hpp"
#include "two_layer/parameters.hpp"

namespace reluflow {

std::optional<double> WeightSigns::of(int boundary) const {
    return motion_.waveform().is_linear() ? of_errors(boundary) : of_labels(boundary);
}

/// -ℓ' of a margin is positive. Its series need not be where it is small beside those of others.
std::optional<double> WeightSigns::of_labels(int boundary) const {
    const Dataset& data = motion_.data();
    const auto samples = data.samples_of(boundary);
    const bool is_positive = data.signs()[samples.front()] > 0.0;
    for (const int sample : samples)
        if ((data.signs()[sample] > 0.0) != is_positive) return std::nullopt;
    return is_positive ? 1.0 : -1.0;
}

/// Of a ReLU network an output to which only neurons of positive output weights add is never negative: where the target
/// is zero the error then tends to zero, or stays there once the last of them has left the sample, and never passes it.
/// The series of a step that goes on behind that event does pass it.
/// Looks at the start of the step, as its series do: other threads may be following its events.
std::optional<double> WeightSigns::of_errors(int boundary) const {
    if (!expansion_ || motion_.leak() > 0.0) return std::nullopt;
    double sign = 0.0;
    for (const int sample : motion_.data().samples_of(boundary)) {
        if (motion_.data().targets()[sample] != 0.0) return std::nullopt;
        for (Index j = 0; j < parameters_->a.size(); ++j) {
            const double output = parameters_->a[j];
            if (output == 0.0 || expansion_->slope(sample, expansion_->groups().of(j)) == 0.0) continue;
            if (!parameters_->keeps_output_sign(j) || sign * output < 0.0) return std::nullopt;
            sign = output > 0.0 ? 1.0 : -1.0;
        }
    }
    return -sign;
}

void WeightSigns::contribution_at(int boundary, double u, double& below, double& above) const {
    motion_.contribution_at(boundary, u, below, above);
    const auto sign = of(boundary);
    if (sign && *sign * (above - below) <= 0.0) below = above = 0.0;
}

}  // namespace reluflow
