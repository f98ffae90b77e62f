#include "layered/acting_span.hpp"

#include <utility>

#include "base/tolerances.hpp"

namespace reluflow::layered {
namespace {

/// A span of more dimensions is not asked for, as it takes time.
constexpr Index kMostInSpan = 8;

bool acts(const Activity& activity, const Place& p) {
    const double leak = activity.graph().node(p.node).leak;
    return activity.side(p) > 0 || leak > 0.0 || activity.mode(p) == Mode::sliding;
}

}  // namespace

ActingSpan::ActingSpan(Place unit, std::vector<Index> parameters, std::vector<Index> inputs)
    : unit_(unit),
      parameters_(std::move(parameters)),
      inputs_(std::move(inputs)),
      basis_(static_cast<Index>(parameters_.size()), 0) {}

bool ActingSpan::see(const Activity& activity, const Matrix& X) {
    if (!is_part_) return false;
    acted_.resize(static_cast<std::size_t>(X.rows()), 0);
    const Index before = basis_.cols();
    for (Index i = 0; i < X.rows() && is_part_; ++i) {
        unit_.sample = i;
        if (acted_[i] != 0 || !acts(activity, unit_)) continue;
        acted_[i] = 1;
        add(X, i);
        is_part_ = basis_.cols() < basis_.rows() && basis_.cols() <= kMostInSpan;
    }
    return basis_.cols() > before;
}

void ActingSpan::add(const Matrix& X, Index sample) {
    Vector row(basis_.rows());
    for (Index k = 0; k < row.size(); ++k) row[k] = inputs_[k] < 0 ? 1.0 : X(sample, inputs_[k]);
    const double size = row.norm();
    for (int pass = 0; pass < 2; ++pass) row -= basis_ * (basis_.transpose() * row);  // once more for its rounding
    if (row.norm() <= kRankTol * size) return;
    basis_.conservativeResize(Eigen::NoChange, basis_.cols() + 1);
    basis_.rightCols(1) = row.normalized();
}

double ActingSpan::largest_at_rest(const Vector& theta) const {
    return (weights_of(theta) - basis_ * shares_of(theta)).cwiseAbs().maxCoeff();
}

void ActingSpan::scale(Vector& theta, double factor) const {
    theta(parameters_) += (factor - 1.0) * (basis_ * shares_of(theta));
}

}  // namespace reluflow::layered
