#include <algorithm>
#include <string>

#include "base/errors.hpp"
#include "geometry/dual_norm_parts.hpp"
#include "numeric/decompositions.hpp"

namespace reluflow::detail {
namespace {

constexpr int kSweeps = 4;    // coordinate sweeps before the active-set steps: they find most of the active bounds
constexpr int kRounds = 100;  // of active-set steps; a handful is usual, each frees at least one coordinate

/// Bounded least squares, min |c + τᵀQ|² over τ in [0,1]^l, from any start.
class BoxLeastSquares {
  public:
    BoxLeastSquares(const DualNormVectors& vectors, Vector&& base, Vector&& tau)
        : v_(vectors), base_(std::move(base)), tau_(std::move(tau)) {
        update();
    }

    void solve(double tolerance) {
        sweeps();
        for (int round = 0; round < kRounds && duality_gap() > tolerance; ++round) {
            const double before = sum_.squaredNorm();
            descend_inside();
            if (duality_gap() <= tolerance) return;
            sweeps();
            if (!(sum_.squaredNorm() < before)) return;
        }
    }

    const Vector& tau() const { return tau_; }
    const Vector& sum() const { return sum_; }

  private:
    void update() {
        sum_ = base_;
        sum_.noalias() += v_.down.transpose() * tau_;
        gradient_ = v_.down * sum_;
    }

    /// An upper bound of squared length minus optimum, by convexity.
    double duality_gap() const {
        double gap = 0;
        for (Index j = 0; j < tau_.size(); ++j)
            gap += gradient_[j] > 0 ? gradient_[j] * tau_[j] : -gradient_[j] * (1 - tau_[j]);
        return 2 * gap;
    }

    void sweeps() {
        const auto gram = v_.gram.bottomRightCorner(v_.n_down, v_.n_down);
        for (int s = 0; s < kSweeps; ++s) {
            for (Index j = 0; j < tau_.size(); ++j) {
                if (!(gram(j, j) > 0)) continue;
                const double to = std::clamp(tau_[j] - gradient_[j] / gram(j, j), 0.0, 1.0);
                gradient_ += (to - tau_[j]) * gram.row(j).transpose();
                tau_[j] = to;
            }
        }
        update();
    }

    /// Least squares over the coordinates strictly inside; those that would leave the box stop at its face, until none
    /// would.
    void descend_inside() {
        for (Index tries = 0; tries <= tau_.size(); ++tries) {
            std::vector<Index> inside;
            for (Index j = 0; j < tau_.size(); ++j)
                if (tau_[j] > 0 && tau_[j] < 1) inside.push_back(j);
            if (inside.empty()) break;
            const Eigen::MatrixXd columns = v_.down(inside, Eigen::all).transpose();
            const Vector step = -least_squares(columns, sum_);
            const bool whole = move(inside, step);
            update();
            if (whole) break;
        }
    }

    /// Moves along `step` as far as the box allows; false if that is not all the way.
    bool move(const std::vector<Index>& inside, const Vector& step) {
        double length = 1;
        std::size_t first = 0;
        for (std::size_t p = 0; p < inside.size(); ++p) {
            const double by = step[static_cast<Index>(p)];
            const double room = by > 0 ? (1 - tau_[inside[p]]) / by : by < 0 ? -tau_[inside[p]] / by : 2.0;
            if (room < length) {
                length = room;
                first = p;
            }
        }
        for (std::size_t p = 0; p < inside.size(); ++p) {
            double& at = tau_[inside[p]];
            at = std::clamp(at + length * step[static_cast<Index>(p)], 0.0, 1.0);
        }
        if (length < 1) tau_[inside[first]] = step[static_cast<Index>(first)] > 0 ? 1.0 : 0.0;
        return length >= 1;
    }

    const DualNormVectors& v_;
    const Vector base_;
    Vector tau_;
    Vector sum_;
    Vector gradient_;
};

}  // namespace

DualNormVectors::DualNormVectors(const MatrixView& vectors, Index up)
    : rows(vectors), n_up(up), n_down(vectors.rows() - 1 - up) {
    if (up < 0 || up >= vectors.rows())
        throw InvalidArgument("n_up", std::to_string(up),
                              std::string("from 0 to ").append(std::to_string(vectors.rows() - 1)));
    gram.noalias() = rows * rows.transpose();
    down = rows.bottomRows(n_down);
    scale2 = gram.diagonal().sum();
}

Vector DualNormVectors::respond(Vector& weights, double tolerance) const {
    Vector base = rows.topRows(1 + n_up).transpose() * weights.head(1 + n_up);
    if (n_down == 0) return base;
    BoxLeastSquares box(*this, std::move(base), weights.tail(n_down));
    box.solve(tolerance * scale2);
    weights.tail(n_down) = box.tau();
    return box.sum();
}

}  // namespace reluflow::detail
