#include "two_layer/state_series.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

StateSeries::StateSeries(const State& state, const Groups& groups, double floor, Pool& pool)
    : state_(state), groups_(groups), pool_(pool), floor_(floor), sizes_(state.neurons()) {}

void StateSeries::start(Matrix& moments) {
    measure_sizes();
    read_state();
    restart(moments);
}

void StateSeries::measure_sizes() {
    pool_.run_pieces(neurons(), kPiece, 2.0 * static_cast<double>(rank() * neurons()), [&](Index begin, Index end) {
        double* square = sizes_.data();
        std::fill(square + begin, square + end, 0.0);
        for (Index x = 0; x < rank(); ++x) {
            const double* w = parameters().w.row(x).data();
            for (Index j = begin; j < end; ++j) square[j] += (kLift * w[j]) * (kLift * w[j]);
        }
        for (Index j = begin; j < end; ++j) square[j] = std::sqrt(square[j]) / kLift;
    });
}

double StateSeries::terms() const noexcept {
    double sum = 0.0;
    for (Index j = 0; j < neurons(); ++j)
        if (!parameters().is_lifted(j)) sum += std::abs(parameters().a[j]) * sizes_[j];
    return std::min(sum, 0.5 * square());  // of deferred neurons a is that of an earlier step
}

}  // namespace reluflow
