#include "two_layer/leaving.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

KnownFall known_fall(const double* gap, int order, double noise, double end) noexcept {
    Coefficients c{};
    std::copy_n(gap, order + 1, c);
    c[0] += noise;
    if (c[0] < 0.0) return {0.0, 0.0};
    const double beyond = first_descent(c, order, end);
    if (beyond > end) return {};
    shift_origin(c, order, beyond);  // the last zero before that is the first one on the way back
    for (int k = 2; k <= order; k += 2) c[k] = -c[k];
    c[0] = noise;
    const double back = first_descent(c, order, beyond);
    return {back <= beyond ? beyond - back : 0.0, beyond};
}

double jump_on_leaving(const double* gap, int order, double u) noexcept {
    const double rate = std::abs(evaluate_derivative(gap, order, u));
    return rate / 3.0 + (u > 0.0 ? 0.0 : std::max(0.0, -gap[0]));
}

}  // namespace reluflow
