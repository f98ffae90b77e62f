#include "polar_parts.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>

#include "reluflow/errors.hpp"
#include "reluflow/generator.hpp"

namespace reluflow::detail {
namespace {

constexpr int kRounds = 60;  // of coordinate sweeps and one Newton step; a dozen is usual
constexpr int kSweeps = 5;   // coordinate sweeps a round: enough to find the bounds that hold
constexpr int kMixingSweeps =
    60;  // the relaxation is good to 1e-5 after about 20; what is missing only loosens the bound
constexpr double kMixed = 1e-7;  // relative progress of a sweep below which more of them are not worth while
constexpr double kNoise = 1e-2;  // start of the mixing method: near the rank-one solution, with something to grow from

/// How far q(τ) can be above the least value, by convexity.
double duality_gap(const Vector& gradient, const Vector& tau) {
    double gap = 0;
    for (Index j = 0; j < tau.size(); ++j) gap += gradient[j] > 0 ? gradient[j] * tau[j] : -gradient[j] * (1 - tau[j]);
    return 2 * gap;
}

void sweep(const Matrix& H, Vector& gradient, Vector& tau) {
    for (Index j = 0; j < tau.size(); ++j) {
        if (!(H(j, j) > 0)) continue;
        const double to = std::clamp(tau[j] - gradient[j] / H(j, j), 0.0, 1.0);
        gradient += (to - tau[j]) * H.row(j).transpose();
        tau[j] = to;
    }
}

/// The unconstrained least value over the coordinates strictly inside, as far as the box allows.
void newton(const Matrix& H, const Vector& gradient, Vector& tau) {
    std::vector<Index> inside;
    for (Index j = 0; j < tau.size(); ++j)
        if (tau[j] > 0 && tau[j] < 1) inside.push_back(j);
    if (inside.empty()) return;
    const Eigen::MatrixXd block = H(inside, inside);
    const Vector step = -block.completeOrthogonalDecomposition().solve(Vector(gradient(inside)));
    double length = 1;
    for (std::size_t p = 0; p < inside.size(); ++p) {
        const double at = tau[inside[p]], move = step[static_cast<Index>(p)];
        if (move > 0) length = std::min(length, (1 - at) / move);
        if (move < 0) length = std::min(length, -at / move);
    }
    for (std::size_t p = 0; p < inside.size(); ++p) {
        double& at = tau[inside[p]];
        at = std::clamp(at + length * step[static_cast<Index>(p)], 0.0, 1.0);
    }
}

Matrix first_vectors(Index f) {
    const auto rank = static_cast<Index>(std::ceil(std::sqrt(2.0 * static_cast<double>(f)))) + 1;  // Pataki's bound
    Matrix R(f, rank);
    Generator generator(0);
    for (Index i = 0; i < f; ++i) {
        for (Index c = 0; c < rank; ++c) {
            const double unit = static_cast<double>(generator.next() >> 11U) * 0x1.0p-53;
            R(i, c) = kNoise * (2 * unit - 1) + (c == 0 ? 1.0 : 0.0);
        }
        R.row(i).normalize();
    }
    return R;
}

}  // namespace

void check_polar(const MatrixView& gram, Index n_up) {
    if (gram.rows() != gram.cols())
        throw InvalidArgument("gram", std::to_string(gram.rows()) + " by " + std::to_string(gram.cols()), "square");
    if (n_up < 0 || n_up >= gram.rows())
        throw InvalidArgument("n_up", std::to_string(n_up),
                              std::string("from 0 to ").append(std::to_string(gram.rows() - 1)));
}

void minimise_in_box(const Matrix& H, const Vector& linear, double tolerance, Vector& tau) {
    Vector gradient = H * tau + linear;
    for (int round = 0; round < kRounds && duality_gap(gradient, tau) > tolerance; ++round) {
        for (int s = 0; s < kSweeps; ++s) sweep(H, gradient, tau);
        newton(H, gradient, tau);
        gradient = H * tau + linear;
    }
}

SignBound bound_signs(const Matrix& M) {
    const Index f = M.rows();
    Matrix R = first_vectors(f);
    Vector d = Vector::Zero(f);
    double before = 0;
    for (int s = 0; s < kMixingSweeps; ++s) {
        for (Index i = 0; i < f; ++i) {
            const Eigen::RowVectorXd pull = M.row(i) * R;
            d[i] = pull.norm();
            if (d[i] > 0) R.row(i) = pull / d[i];
        }
        if (std::abs(d.sum() - before) <= kMixed * d.sum()) break;
        before = d.sum();
    }
    Eigen::MatrixXd slack = -M;
    slack.diagonal() += d;
    const double least = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(slack, Eigen::EigenvaluesOnly).eigenvalues()[0];
    return {d.sum() + static_cast<double>(f) * std::max(0.0, -least), R * R.row(0).transpose()};
}

}  // namespace reluflow::detail
