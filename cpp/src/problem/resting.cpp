#include "problem/resting.hpp"

#include <cmath>
#include <vector>

namespace reluflow {

double log_loss_sum(const Resting& resting, LossKind kind, std::span<const double> q, std::span<const double> counts) {
    if (resting.is_empty()) return log_loss_sum(kind, q, counts);
    std::vector<double> of_tails(counts.begin(), counts.end());
    double sum = 0.0;
    for (std::size_t i = 0; i < q.size(); ++i) {
        const double scale = resting.scales[static_cast<Index>(i)];
        if (scale == 0.0) continue;
        sum += scale * counts[i] * loss(kind, q[i]);
        of_tails[i] = 0.0;
    }
    return log_loss_sum(kind, q, of_tails) + sum / resting.share;
}

}  // namespace reluflow
