#include "hybrid/transition_hull.hpp"

#include <algorithm>

#include "geometry/arrangement.hpp"
#include "numeric/decompositions.hpp"

namespace reluflow {

namespace {

/// More cells than this are not listed; the answer is then "cannot stay".
constexpr Index kMostCells = 20000;
/// Passes of the search for the least point of a hull; it needs a few per dimension.
constexpr int kMostPasses = 1000;
/// A point of the hull is zero if it is this close to zero, relative to the largest point.
constexpr double kZeroPart = 1e-10;
/// Weights of points below this are rounding.
constexpr double kWeightTol = 1e-14;

/// The gradients in the cells, one row each, projected to the span of the boundaries.
Matrix pulls_of_cells(const Corner& corner, const std::vector<int>& zero, const Numbers& rest) {
    const auto count = static_cast<Index>(zero.size());
    Matrix normals(count, corner.rank);
    for (Index i = 0; i < count; ++i)
        normals.row(i) = Eigen::Map<const Eigen::RowVectorXd>(corner.normal(zero[i]), corner.rank);
    const auto cells = enumerate_cells(normals, {kMostCells}, [](Index) { return Request::go_on; });
    if (cells.status != ArrangementStatus::complete) return Matrix(0, corner.rank);
    const Eigen::MatrixXd basis = span_basis(normals.transpose());
    Matrix pulls(cells.count, corner.rank);
    for (Index c = 0; c < cells.count; ++c) {
        pulls.row(c) = Eigen::Map<const Eigen::RowVectorXd>(rest.data(), corner.rank);
        for (Index i = 0; i < count; ++i) {
            const bool above = cells.patterns[static_cast<std::size_t>(c * count + i)] != 0;
            pulls.row(c) += (above ? corner.above[zero[i]] : corner.below[zero[i]]) * normals.row(i);
        }
    }
    return pulls * basis;
}

/// Weights of the affine combination of least norm, from the differences to the first point.
Vector affine_weights(const Matrix& points, const std::vector<Index>& chosen) {
    const auto count = static_cast<Index>(chosen.size());
    Vector weights = Vector::Ones(count);
    if (count == 1) return weights;
    Eigen::MatrixXd differences(points.cols(), count - 1);
    for (Index i = 1; i < count; ++i)
        differences.col(i - 1) = (points.row(chosen[static_cast<std::size_t>(i)]) - points.row(chosen[0])).transpose();
    weights.tail(count - 1) = -least_squares(differences, points.row(chosen[0]).transpose());
    weights[0] = 1.0 - weights.tail(count - 1).sum();
    return weights;
}

/// Norm of the shortest vector in the convex hull of the rows (Wolfe's algorithm).
double distance_to_hull(const Matrix& points, double tolerance) {
    Index nearest = 0;
    points.rowwise().squaredNorm().minCoeff(&nearest);
    std::vector<Index> chosen{nearest};
    Vector weights = Vector::Ones(1);
    Vector x = points.row(nearest).transpose();
    for (int pass = 0; pass < kMostPasses && x.norm() > tolerance; ++pass) {
        Index next = 0;
        const double least = (points * x).minCoeff(&next);
        if (x.squaredNorm() - least <= tolerance * x.norm()) return x.norm();
        if (std::find(chosen.begin(), chosen.end(), next) != chosen.end()) return x.norm();
        chosen.push_back(next);
        weights.conservativeResize(weights.size() + 1);
        weights[weights.size() - 1] = 0.0;
        while (true) {
            const Vector wanted = affine_weights(points, chosen);
            if (wanted.minCoeff() > kWeightTol) {
                weights = wanted;
                break;
            }
            double fraction = 1.0;
            for (Index i = 0; i < wanted.size(); ++i)
                if (wanted[i] <= kWeightTol && weights[i] > wanted[i])
                    fraction = std::min(fraction, weights[i] / (weights[i] - wanted[i]));
            weights += fraction * (wanted - weights);
            std::vector<Index> kept;
            Numbers left;
            for (Index i = 0; i < weights.size(); ++i) {
                if (weights[i] <= kWeightTol) continue;
                kept.push_back(chosen[i]);
                left.push_back(weights[i]);
            }
            if (kept.empty() || kept.size() == chosen.size()) return x.norm();
            chosen = kept;
            weights = Eigen::Map<const Vector>(left.data(), static_cast<Index>(left.size()));
        }
        x.setZero();
        for (std::size_t i = 0; i < chosen.size(); ++i)
            x += weights[static_cast<Index>(i)] * points.row(chosen[i]).transpose();
    }
    return x.norm();
}

}  // namespace

bool is_in_hull(const Corner& corner, const std::vector<int>& zero, const Numbers& rest, double tolerance) {
    const Matrix points = pulls_of_cells(corner, zero, rest);
    if (points.rows() == 0) return false;
    const double largest = points.rowwise().norm().maxCoeff();
    const double zero_length = std::max(tolerance, kZeroPart * largest);
    return distance_to_hull(points, zero_length) <= zero_length;
}

}  // namespace reluflow
