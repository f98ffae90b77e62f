#include "proof/claims.hpp"

#include <algorithm>

#include "proof/rounding.hpp"
#include "proof/spectral_bound.hpp"

namespace reluflow::proof {

Samples::Samples(MatrixView X_, VectorView y_, double leak_, LossKind loss_, bool mean_)
    : n(X_.rows()),
      d(X_.cols()),
      X(X_.data(), X_.data() + X_.size()),
      y(y_.data(), y_.data() + y_.size()),
      leak(leak_),
      loss(loss_),
      mean(mean_),
      share(mean ? 1.0 / static_cast<double>(X_.rows()) : 1.0),
      norm(spectral_norm_up(X_)),
      boundaries(X.data(), n, d) {
    for (Index c = 0; c < d; ++c)
        for (Index i = 0; i < n; ++i) transposed.push_back(X_(i, c));
    for (Index i = 0; i < n; ++i) {
        size.push_back(norm_up(row(i), d));
        largest = std::max(largest, size.back());
    }
}

}  // namespace reluflow::proof
