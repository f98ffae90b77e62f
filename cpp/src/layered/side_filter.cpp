#include "layered/side_filter.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <Eigen/QR>

namespace reluflow::layered {
namespace {

/// What is beyond by less than this part of its terms is not plainly so: far more than rounding makes of a place where
/// the normals are as independent as the next constant asks.
constexpr double kPlainly = 1e-6;
/// Normals of length one depend on each other below this pivot, and one counts in another above this coefficient.
constexpr double kDependent = 1e-8;

/// What holds the places that stay. Where their normals depend on each other it is open how they share that.
struct Multipliers {
    Vector pulls;
    std::vector<char> is_open;
};

LocalForm in_own_span(const LocalForm& form) {
    std::vector<Vector> basis;
    return form.in_own_span(basis);
}

// Takes from the velocity what would move the places that stay.
Multipliers hold(const LocalForm& form, const std::vector<int>& staying, Vector& velocity) {
    const auto count = static_cast<Index>(staying.size());
    Multipliers held{Vector::Zero(count), std::vector<char>(staying.size(), 0)};
    if (count == 0) return held;
    const Vector lengths = form.normals(staying, Eigen::all).rowwise().norm();
    const Eigen::MatrixXd columns = form.normals(staying, Eigen::all).transpose() * lengths.cwiseInverse().asDiagonal();
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> factors(columns.rows(), count);
    factors.setThreshold(kDependent);
    factors.compute(columns);
    const Index rank = factors.rank();
    Vector turned = factors.householderQ().adjoint() * velocity;
    const auto triangle = factors.matrixR().topLeftCorner(rank, rank).triangularView<Eigen::Upper>();
    const Vector pulls = -triangle.solve(turned.head(rank));
    const Matrix parts = triangle.solve(Eigen::MatrixXd(factors.matrixR().topRightCorner(rank, count - rank)));
    for (Index k = 0; k < count; ++k) {
        const Index at = factors.colsPermutation().indices()[k];
        held.is_open[at] = k >= rank || (parts.row(k).array().abs() > kDependent).any() ? 1 : 0;
        if (k < rank) held.pulls[at] = pulls[k] / lengths[at];
    }
    turned.head(rank).setZero();
    velocity = factors.householderQ() * turned;
    return held;
}

bool all_move_to(const LocalForm& form, const std::vector<int>& signs, const std::vector<char>& chosen,
                 const Vector& direction) {
    for (int a = 0; a < form.count(); ++a) {
        if (signs[a] == 0 || chosen[a] == 0) continue;
        const double most = form.normals.row(a).norm() * form.velocity.norm();
        if (signs[a] * form.normals.row(a).dot(direction) < -kPlainly * most) return false;
    }
    return true;
}

// What stays at zero pulls by a part between the leak and 1 of what arrives above it, and by all that arrives at it.
// Where that part is open it widens what arrives below.
bool all_are_held(const LocalForm& form, const std::vector<int>& staying, const Multipliers& held) {
    Vector beta = form.beta;
    Vector gamma = form.gamma;
    Vector open_beta = Vector::Zero(beta.size());
    Vector open_gamma = open_beta;
    auto k = static_cast<Index>(staying.size()) - 1;
    for (int a = form.count() - 1; a >= 0; --a) {
        const bool stays = k >= 0 && staying[k] == a;
        const double open = open_beta[a] + open_gamma[a];
        const double most = std::abs(beta[a]) + std::abs(gamma[a]) + open;
        if (stays && held.is_open[k] == 0) {
            const double pull = held.pulls[k];
            const double on = beta[a] + gamma[a];
            const double off = form.leak[a] * beta[a] + gamma[a];
            const double slack = open + kPlainly * (most + std::abs(pull));
            if (pull < std::min(on, off) - slack || pull > std::max(on, off) + slack) return false;
            beta += pull * form.through_h.row(a).transpose();
            gamma += pull * form.through_z.row(a).transpose();
        } else if (stays || form.normals.row(a).isZero(0.0)) {
            open_beta += most * form.through_h.row(a).cwiseAbs().transpose();
            open_gamma += most * form.through_z.row(a).cwiseAbs().transpose();
        }
        if (stays) --k;
    }
    return true;
}

}  // namespace

SideFilter::SideFilter(const LocalForm& form) : form_(in_own_span(form)) {}

bool SideFilter::may_go(const std::vector<int>& signs, const std::vector<char>& chosen) const {
    LocalForm form = form_;
    for (int a = 0; a < form.count(); ++a)
        if (signs[a] != 0) form.put_in(a, signs[a]);
    std::vector<int> staying;
    for (int a = 0; a < form.count(); ++a)
        if (signs[a] == 0 && !form.normals.row(a).isZero(0.0)) staying.push_back(a);
    Vector direction = form.velocity;
    const Multipliers held = hold(form, staying, direction);
    return all_move_to(form, signs, chosen, direction) && all_are_held(form, staying, held);
}

}  // namespace reluflow::layered
