/// The nodes of a late step and the matrices of interpolation between them.
#pragma once

#include <complex>

#include "base/types.hpp"

namespace reluflow {

/// Nodes per step.
inline constexpr int kStages = 6;

double legendre(int degree, double x) noexcept;

using StageMatrix = Eigen::Matrix<double, kStages, kStages, Eigen::RowMajor>;

/// matrix = right diag(values) left with left = right^-1, for a matrix with distinct eigenvalues.
struct StageModes {
    Eigen::Matrix<std::complex<double>, kStages, 1> values;
    Eigen::Matrix<std::complex<double>, kStages, kStages> right, left;
};
StageModes modes_of(const StageMatrix& matrix);

/// Radau nodes: the roots of P_s - P_{s-1} on [-1, 1], mapped to (0, 1]; the last one is 1. ℓ_k are the Lagrange
/// polynomials of the nodes.
struct RadauNodes {
    double at[kStages] = {};
    Matrix to_monomial = Matrix(kStages, kStages);  // node values to coefficients
    Matrix integration = Matrix(kStages, kStages);  // ∫_0^{c_k} ℓ_l
    Matrix products[kStages];                       // of node k: ∫_0^{c_k} ℓ_j ℓ_l
    Matrix to_legendre = Matrix(kStages, kStages);  // node values to Legendre coefficients on [0, 1]
    StageModes constant_modes;                      // of growing_integration(0), found once

    RadauNodes();
    static const RadauNodes& get();

    /// ∫_0^{c_k} ℓ_l(u) e^(growth (c_k + u)) du: the integration under a kernel that grows so in either argument.
    StageMatrix growing_integration(double growth) const noexcept;
};

}  // namespace reluflow
