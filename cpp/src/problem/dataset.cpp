#include "problem/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/errors.hpp"
#include "numeric/decompositions.hpp"
#include "problem/parallels.hpp"

namespace reluflow {

namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

void check(const Matrix& X) {
    if (X.rows() == 0 || X.cols() == 0) throw InvalidArgument("X", "no samples", "a matrix of at least one sample");
    for (Index i = 0; i < X.rows(); ++i) {
        if (!X.row(i).allFinite())
            throw InvalidArgument("X", "a non-finite value in row " + std::to_string(i), "finite");
        if (X.row(i).isZero(0.0)) throw InvalidArgument("X", "zeros in row " + std::to_string(i), "without zero rows");
    }
}

void check_targets(const VectorView& y, Index n, LossKind loss) {
    const bool labels = is_of_margins(loss);
    const std::string what = labels ? " labels" : " targets";
    if (y.size() != n) throw InvalidArgument("y", std::to_string(y.size()) + what, std::to_string(n) + what);
    for (Index i = 0; i < n; ++i) {
        if (labels && y[i] != 1.0 && y[i] != -1.0) throw InvalidArgument("y", std::to_string(y[i]), "+1 or -1");
        if (!std::isfinite(y[i]))
            throw InvalidArgument("y", "a non-finite target in row " + std::to_string(i), "finite");
    }
}

void check_counts(const Vector& counts, Index n) {
    if (counts.size() != n)
        throw InvalidArgument("weights", std::to_string(counts.size()) + " weights", std::to_string(n) + " weights");
    for (Index i = 0; i < n; ++i)
        if (!(counts[i] >= 0.0 && std::isfinite(counts[i])))
            throw InvalidArgument("weights", std::to_string(counts[i]) + " of row " + std::to_string(i),
                                  "finite and not negative");
    if (counts.isZero(0.0)) throw InvalidArgument("weights", "zeros only", "positive for at least one sample");
}

}  // namespace

Dataset::Dataset(const MatrixView& X, const VectorView& y, LossKind loss, const Vector& counts, bool all_moves)
    : raw_(X), counts_(counts.size() > 0 ? counts : Vector::Ones(X.rows())) {
    check(raw_);
    check_targets(y, raw_.rows(), loss);
    check_counts(counts_, raw_.rows());
    const bool labels = is_of_margins(loss);
    signs_ = labels ? Vector(y) : Vector::Ones(raw_.rows());
    targets_ = labels ? Vector::Zero(raw_.rows()) : Vector(y);
    find_basis(all_moves);
    find_boundaries();
}

void Dataset::find_basis(bool all_moves) {
    if (all_moves) {
        basis_ = Matrix::Identity(d(), d());
        X_ = raw_;
        return;
    }
    // A sample moves neurons however small it is, given time: all have norms between 1 and 2 here. Powers of two leave
    // the digits of coordinates as they are.
    Eigen::MatrixXd directions = raw_.transpose();
    for (auto column : directions.colwise())
        if (const double norm = column.stableNorm(); norm > 0.0) {
            const int exponent = std::ilogb(norm);
            column = column.unaryExpr([exponent](double x) { return std::ldexp(x, -exponent); }).eval();
        }
    const Eigen::MatrixXd basis = span_basis(directions);
    if (basis.cols() == d()) {
        basis_ = Matrix::Identity(d(), d());
        X_ = raw_;
        return;
    }
    basis_ = basis;
    X_ = raw_ * basis_;
}

void Dataset::find_boundaries() {
    Parallels found = find_parallels(raw_);
    boundary_of_ = std::move(found.boundary);
    coefficients_.resize(n());
    std::vector<std::vector<int>> members(static_cast<std::size_t>(found.count));
    for (Index i = 0; i < n(); ++i) {
        members[boundary_of_[i]].push_back(static_cast<int>(i));
        coefficients_[i] = found.side[i] * raw_.row(i).norm();
    }
    normals_.resize(found.count, rank());
    first_member_.assign(1, 0);
    for (std::size_t boundary = 0; boundary < members.size(); ++boundary) {
        const int first = members[boundary].front();
        normals_.row(static_cast<Index>(boundary)) = X_.row(first).normalized() * found.side[first];
        members_.insert(members_.end(), members[boundary].begin(), members[boundary].end());
        first_member_.push_back(static_cast<int>(members_.size()));
    }
}

namespace {

/// The sign of a·b where the error bound of plain summation, (n + 2) ε Σ |a_k b_k| in any order, allows to tell; else
/// 0.
int plain_sign_of_dot(std::span<const double> a, std::span<const double> b) noexcept {
    using Values = Eigen::Map<const Eigen::ArrayXd>;
    const auto products =
        Values(a.data(), static_cast<Index>(a.size())) * Values(b.data(), static_cast<Index>(b.size()));
    const double sum = products.sum();
    const double size = products.abs().sum();
    const double count = static_cast<double>(a.size()) + 2.0;
    const double error = count * (kEps * size + std::numeric_limits<double>::min());  // products may underflow
    return std::abs(sum) > error ? (sum > 0.0 ? 1 : -1) : 0;
}

}  // namespace

int exact_sign_of_dot(std::span<const double> a, std::span<const double> b) noexcept {
    if (const int sign = plain_sign_of_dot(a, b); sign != 0) return sign;
    // Dot2 of Ogita, Rump and Oishi: as if computed in twice the working precision.
    double sum = 0.0;
    double error = 0.0;
    double size = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) {
        const double product = a[k] * b[k];
        const double product_error = std::fma(a[k], b[k], -product);
        const double next = sum + product;
        const double part = next - sum;
        error += ((sum - (next - part)) + (product - part)) + product_error;
        sum = next;
        size += std::abs(product);
    }
    const double value = sum + error;
    const double count = static_cast<double>(a.size()) + 1.0;
    return std::abs(value) <= count * count * kEps * kEps * size ? 0 : (value > 0.0 ? 1 : -1);
}

}  // namespace reluflow
