#include <algorithm>
#include <cmath>

#include "base/generator.hpp"
#include "geometry/dual_norm_parts.hpp"
#include "numeric/decompositions.hpp"

namespace reluflow::detail {
namespace {

constexpr int kMixingSweeps = 60;  // the relaxation is good to 1e-5 after about 20; more tightens the bound
constexpr double kMixed = 1e-7;    // the sweeps end at a relative progress below this
constexpr double kNoise = 1e-2;    // perturbation of the rank-one start, so that other directions can grow

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
    const double least = least_eigenvalue(slack);
    return {d.sum() + static_cast<double>(f) * std::max(0.0, -least), R * R.row(0).transpose()};
}

}  // namespace reluflow::detail
