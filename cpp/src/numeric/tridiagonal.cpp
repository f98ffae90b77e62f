#include "numeric/tridiagonal.hpp"

#include <cmath>

#include "numeric/products.hpp"

namespace reluflow {

namespace {

/// In one order of additions, whatever the alignment.
double dot(const double* a, const double* b, Index size) noexcept {
    double sum = 0.0;
    multiply_rows(1, [a](std::size_t) { return a; }, b, size, &sum);
    return sum;
}

}  // namespace

void TridiagonalForm::reserve(Index size) {
    entries_.reserve(size * size);
    for (Numbers* part : {&diagonal_, &beside_, &scale_, &normal_, &moved_, &ratio_re_, &ratio_im_})
        part->reserve(size);
}

Eigen::Map<Matrix> TridiagonalForm::matrix(Index size) {
    size_ = size;
    entries_.resize(size * size);
    for (Numbers* part : {&diagonal_, &beside_, &scale_, &normal_, &moved_, &ratio_re_, &ratio_im_}) part->resize(size);
    return {entries_.data(), size, size};
}

void TridiagonalForm::reduce() noexcept {
    double* v = normal_.data();
    double* p = moved_.data();
    for (Index k = 0; k < size_; ++k) {
        diagonal_[k] = row(k)[k];
        const Index rest = size_ - k - 1;
        if (rest == 0) break;
        double* own = row(k) + k + 1;  // the column below the diagonal, too
        const double length = std::sqrt(dot(own, own, rest));
        beside_[k] = own[0] > 0.0 ? -length : length;
        own[0] -= beside_[k];
        const double square = dot(own, own, rest);
        scale_[k] = square > 0.0 ? 2.0 / square : 0.0;
        if (scale_[k] == 0.0) continue;
        for (Index i = 0; i < rest; ++i) v[i] = own[i];
        const auto below = [&](std::size_t i) { return row(k + 1 + static_cast<Index>(i)) + k + 1; };
        multiply_rows(static_cast<std::size_t>(rest), below, v, rest, p);
        for (Index i = 0; i < rest; ++i) p[i] *= scale_[k];
        const double half = 0.5 * scale_[k] * dot(p, v, rest);
        for (Index i = 0; i < rest; ++i) p[i] -= half * v[i];
        for (Index i = 0; i < rest; ++i) {
            double* line = below(static_cast<std::size_t>(i));
            const double along = v[i];
            const double moved = p[i];
            for (Index j = 0; j < rest; ++j) line[j] -= along * p[j] + moved * v[j];
        }
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
