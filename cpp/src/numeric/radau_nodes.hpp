/// The nodes of a late step and the matrices of interpolation between them.
#pragma once

#include <Eigen/LU>
#include <cmath>

#include "base/types.hpp"
#include "numeric/decompositions.hpp"

namespace reluflow {

/// Nodes per step.
inline constexpr int kStages = 6;

inline double legendre(int degree, double x) noexcept {
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

/// Radau nodes: the roots of P_s - P_{s-1} on [-1, 1], mapped to (0, 1]; the last one is 1.
struct RadauNodes {
    double at[kStages] = {};
    Matrix to_monomial = Matrix(kStages, kStages);  // node values to coefficients
    Matrix integration = Matrix(kStages, kStages);  // ∫_0^{c_k} of the Lagrange polynomials
    Spectrum modes;                                 // of the integration
    Matrix to_legendre = Matrix(kStages, kStages);  // node values to Legendre coefficients on [0, 1]

    RadauNodes() {
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
        modes = spectrum(integration);
        to_legendre = values.inverse();
    }

    static const RadauNodes& get() {
        static const RadauNodes nodes;
        return nodes;
    }
};

}  // namespace reluflow
