#include "numeric/radau_nodes.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>

namespace reluflow {

double legendre(int degree, double x) noexcept {
    double before = 1.0;
    double value = x;
    if (degree == 0) return 1.0;
    for (int k = 1; k < degree; ++k) {
        const double next = ((2 * k + 1) * x * value - k * before) / (k + 1);
        before = value;
        value = next;
    }
    return value;
}

namespace {

void find_nodes(double* at) {
    const auto radau = [](double x) { return legendre(kStages, x) - legendre(kStages - 1, x); };
    constexpr int kScan = 400;  // the gaps between six nodes are far wider than 1/200
    int found = 0;
    for (int i = 0; i < kScan && found < kStages - 1; ++i) {
        double low = -1.0 + 2.0 * i / kScan;
        double high = -1.0 + 2.0 * (i + 1) / kScan;
        if (radau(low) * radau(high) > 0.0) continue;
        for (int pass = 0; pass < 60; ++pass) {
            const double middle = 0.5 * (low + high);
            (radau(low) * radau(middle) <= 0.0 ? high : low) = middle;
        }
        at[found++] = 0.5 * (1.0 + 0.5 * (low + high));
    }
    at[kStages - 1] = 1.0;
}

}  // namespace

RadauNodes::RadauNodes() {
    find_nodes(at);
    Matrix powers(kStages, kStages);
    Matrix integrals(kStages, kStages);
    Matrix values(kStages, kStages);
    for (int k = 0; k < kStages; ++k)
        for (int j = 0; j < kStages; ++j) {
            powers(k, j) = std::pow(at[k], j);
            integrals(k, j) = std::pow(at[k], j + 1) / (j + 1);
            values(k, j) = legendre(j, 2.0 * at[k] - 1.0);
        }
    to_monomial = powers.inverse();
    integration = integrals * to_monomial;
    to_legendre = values.inverse();
    for (int k = 0; k < kStages; ++k) {
        Matrix moments(kStages, kStages);  // ∫_0^{c_k} u^(i + j)
        for (int i = 0; i < kStages; ++i)
            for (int j = 0; j < kStages; ++j) moments(i, j) = std::pow(at[k], i + j + 1) / (i + j + 1);
        products[k] = to_monomial.transpose() * moments * to_monomial;
    }
    constant_modes = modes_of(growing_integration(0.0));
}

const RadauNodes& RadauNodes::get() {
    static const RadauNodes nodes;
    return nodes;
}

StageMatrix RadauNodes::growing_integration(double growth) const noexcept {
    StageMatrix result;
    double grown[kStages];
    for (int k = 0; k < kStages; ++k) grown[k] = std::exp(growth * at[k]);
    for (int k = 0; k < kStages; ++k)
        for (int l = 0; l < kStages; ++l) {
            double sum = 0.0;
            for (int j = 0; j < kStages; ++j) sum += products[k](l, j) * grown[j];
            result(k, l) = grown[k] * sum;
        }
    return result;
}

StageModes modes_of(const StageMatrix& matrix) {
    const Eigen::EigenSolver<StageMatrix> solver(matrix);
    StageModes result{solver.eigenvalues(), solver.eigenvectors(), {}};
    // The inverse of A + iB is the first column of blocks of [[A, -B], [B, A]]^-1; complex LU factors would be compiled
    // for this line alone.
    Eigen::Matrix<double, 2 * kStages, 2 * kStages> blocks;
    blocks << result.right.real(), -result.right.imag(), result.right.imag(), result.right.real();
    const Eigen::Matrix<double, 2 * kStages, 2 * kStages> inverse = blocks.inverse();
    result.left.real() = inverse.topLeftCorner<kStages, kStages>();
    result.left.imag() = inverse.bottomLeftCorner<kStages, kStages>();
    return result;
}

}  // namespace reluflow
