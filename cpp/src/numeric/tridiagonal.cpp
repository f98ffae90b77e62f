#include "numeric/tridiagonal.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "numeric/products.hpp"

namespace reluflow {

namespace {

/// Rows whose products with a vector are summed side by side.
constexpr Index kRowsAtOnce = 4;

/// In one order of additions, whatever the alignment.
double dot(const double* a, const double* b, Index size) noexcept {
    double sum = 0.0;
    multiply_rows(1, [a](std::size_t) { return a; }, b, size, &sum);
    return sum;
}

}  // namespace

void TridiagonalForm::reserve(Index size) {
    entries_.reserve(size * size);
    for (Numbers* part : {&diagonal_, &beside_, &scale_, &moved_, &last_moved_, &ratio_re_, &ratio_im_})
        part->reserve(size);
}

Eigen::Map<Matrix> TridiagonalForm::matrix(Index size) {
    size_ = size;
    entries_.resize(size * size);
    for (Numbers* part : {&diagonal_, &beside_, &scale_, &moved_, &last_moved_, &ratio_re_, &ratio_im_})
        part->resize(size);
    return {entries_.data(), size, size};
}

/// Takes what reflection k changes off row i: `moved` is its p (see reduce).
void TridiagonalForm::take_off(Index k, const double* moved, Index i) noexcept {
    const double* v = row(k) + k + 1;
    double* line = row(i) + k + 1;
    const double along = v[i - k - 1];
    const double across = moved[i - k - 1];
    for (Index j = 0; j < size_ - k - 1; ++j) line[j] -= along * moved[j] + across * v[j];
}

/// Householder's reflections S -> S - v pᵀ - p vᵀ. The matrix is larger than the nearest cache, so that it is passed
/// through once a reflection: rows get what the last one changes, and are multiplied by the next normal at once.
void TridiagonalForm::reduce() noexcept {
    double* p = moved_.data();
    double* last = last_moved_.data();
    for (Index k = 0; k < size_; ++k) {
        const bool waits = k > 0 && scale_[k - 1] != 0.0;  // what the last reflection changes is still to be taken off
        if (waits) take_off(k - 1, last, k);
        diagonal_[k] = row(k)[k];
        const Index rest = size_ - k - 1;
        if (rest == 0) break;
        double* v = row(k) + k + 1;  // the column below the diagonal, too
        const double length = std::sqrt(dot(v, v, rest));
        beside_[k] = v[0] > 0.0 ? -length : length;
        v[0] -= beside_[k];
        const double square = dot(v, v, rest);
        scale_[k] = square > 0.0 ? 2.0 / square : 0.0;
        for (Index first = 0; first < rest; first += kRowsAtOnce) {
            const Index count = std::min(kRowsAtOnce, rest - first);
            const auto below = [&](std::size_t i) { return row(k + 1 + first + static_cast<Index>(i)) + k + 1; };
            for (Index i = 0; waits && i < count; ++i) take_off(k - 1, last, k + 1 + first + i);
            multiply_rows(static_cast<std::size_t>(count), below, v, rest, p + first);
        }
        for (Index i = 0; i < rest; ++i) p[i] *= scale_[k];
        const double half = 0.5 * scale_[k] * dot(p, v, rest);
        for (Index i = 0; i < rest; ++i) p[i] -= half * v[i];
        std::swap(p, last);
    }
}

void TridiagonalForm::reflect(Index k, VectorRef x) const noexcept {
    const Index rest = size_ - k - 1;
    const double* v = row(k) + k + 1;
    double* part = x.data() + k + 1;
    const double along = scale_[k] * dot(v, part, rest);
    for (Index i = 0; i < rest; ++i) part[i] -= along * v[i];
}

void TridiagonalForm::solve_shifted(std::complex<double> value, VectorRef real, VectorRef imaginary) noexcept {
    for (Index k = 0; k + 1 < size_; ++k) {
        reflect(k, real);
        reflect(k, imaginary);
    }
    eliminate(value, real, imaginary);
    for (Index k = size_ - 2; k >= 0; --k) {
        reflect(k, real);
        reflect(k, imaginary);
    }
}

/// x = (I + value T)⁻¹ x.
void TridiagonalForm::eliminate(std::complex<double> value, VectorRef real, VectorRef imaginary) noexcept {
    using Complex = std::complex<double>;
    Complex ratio = 0.0;  // of the element right of the last pivot to that pivot
    Complex last = 0.0;
    for (Index k = 0; k < size_; ++k) {
        const Complex left = k > 0 ? value * beside_[k - 1] : 0.0;
        const Complex pivot = 1.0 + value * diagonal_[k] - left * ratio;
        last = (Complex(real[k], imaginary[k]) - left * last) / pivot;
        real[k] = last.real();
        imaginary[k] = last.imag();
        ratio = k + 1 < size_ ? value * beside_[k] / pivot : 0.0;
        ratio_re_[k] = ratio.real();
        ratio_im_[k] = ratio.imag();
    }
    for (Index k = size_ - 2; k >= 0; --k) {
        last = Complex(real[k], imaginary[k]) - Complex(ratio_re_[k], ratio_im_[k]) * last;
        real[k] = last.real();
        imaginary[k] = last.imag();
    }
}

}  // namespace reluflow
