// Errors that cannot pass zero.
#include "two_layer/expansion.hpp"
#include "two_layer/hits.hpp"
#include "two_layer/parameters.hpp"

namespace reluflow {

/// Of a ReLU network an output to which only neurons of positive output weights add is never negative: where the target
/// is zero the error then tends to zero, or stays there once the last of them has left the sample, and never passes it.
/// The series of a step that goes on behind that event does pass it. True if that holds of all samples of a boundary.
/// Looks at the start of the step, as its series do: other threads may be following its events.
bool HitFinder::keeps_sign(int boundary) const {
    if (!expansion_ || !motion_.waveform().is_linear() || motion_.leak() > 0.0) return false;
    double sign = 0.0;
    for (const int sample : motion_.data().samples_of(boundary)) {
        if (motion_.data().targets()[sample] != 0.0) return false;
        for (Index j = 0; j < parameters_->a.size(); ++j) {
            const double output = parameters_->a[j];
            if (output == 0.0 || expansion_->slope(sample, expansion_->groups().of(j)) == 0.0) continue;
            if (!parameters_->keeps_output_sign(j) || sign * output < 0.0) return false;
            sign = output;
        }
    }
    return true;
}

}  // namespace reluflow
