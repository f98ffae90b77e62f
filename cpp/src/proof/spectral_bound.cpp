#include "proof/spectral_bound.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "proof/rounding.hpp"

namespace reluflow::proof {
namespace {

/// 2^9 = 512: the factor that is lost, size^(1/1024), is below 1.01 for 1,000 columns.
constexpr int kSquarings = 9;

using Square = std::vector<double>;

/// B Bᵀ of a row-major matrix.
Square gram(const double* B, Index rows, Index cols) {
    Square out(static_cast<std::size_t>(rows * rows));
    for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j <= i; ++j) {
            const double sum = dot(B + i * cols, B + j * cols, cols);
            out[static_cast<std::size_t>(i * rows + j)] = sum;
            out[static_cast<std::size_t>(j * rows + i)] = sum;
        }
    return out;
}

}  // namespace

// Let M be a symmetric positive matrix and B = c M with a power of two c. The computed square S of B has |S - B²|_F ≤
// gamma |B|_F², so |B|₂² = |B²|₂ ≤ |S|₂ + gamma |B|_F². This goes on from S, which is symmetric because both halves
// are one number; the last |S|₂ ≤ |S|_F.
double spectral_norm_up(MatrixView X) {
    const bool wide = X.cols() > X.rows();
    const Matrix rows_of_gram = wide ? Matrix(X) : Matrix(X.transpose());
    const Index size = rows_of_gram.rows();
    const Index terms = rows_of_gram.cols();
    const double frobenius = norm_up(X.data(), X.size());
    Square B = gram(rows_of_gram.data(), size, terms);
    const double gram_error = gamma(static_cast<double>(terms) + 2.0) * frobenius * frobenius * kUp + kTiny;
    std::array<double, kSquarings> scales{};
    std::array<double, kSquarings> errors{};
    for (int k = 0; k < kSquarings; ++k) {
        int exponent = 0;
        (void)std::frexp(norm_up(B.data(), size * size), &exponent);
        const auto at = static_cast<std::size_t>(k);
        scales[at] = std::ldexp(1.0, -exponent);
        for (double& entry : B) entry *= scales[at];
        const double norm = norm_up(B.data(), size * size);
        errors[at] = gamma(static_cast<double>(size) + 2.0) * norm * norm * kUp + kTiny;
        B = gram(B.data(), size, size);
    }
    double bound = norm_up(B.data(), size * size);
    for (std::size_t k = kSquarings; k-- > 0;) bound = std::sqrt(bound + errors[k]) * kUp / scales[k];
    return std::sqrt(bound + gram_error) * kUp + kTiny;
}

}  // namespace reluflow::proof
