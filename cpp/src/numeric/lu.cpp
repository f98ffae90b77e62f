#include "numeric/lu.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/products.hpp"

namespace reluflow {

namespace {

/// Columns of a panel: wide enough for full-speed updates, narrow enough that the panel's own work stays small.
constexpr Index kPanel = 32;

}  // namespace

void LuFactors::reserve(Index size) {
    entries_.reserve(size * size);
    swaps_.reserve(size);
}

Eigen::Map<Matrix> LuFactors::matrix(Index size) {
    size_ = size;
    entries_.resize(size * size);
    swaps_.resize(size);
    return {entries_.data(), size, size};
}

void LuFactors::factor() noexcept {
    for (Index first = 0; first < size_; first += kPanel) {
        const Index width = std::min(kPanel, size_ - first);
        factor_panel(first, width);
        update_right(first, width);
    }
}

/// Factors the columns first .. first + width of the remaining rows; whole rows are exchanged.
void LuFactors::factor_panel(Index first, Index width) noexcept {
    const Index end = first + width;
    for (Index k = first; k < end; ++k) {
        Index pivot = k;
        for (Index i = k + 1; i < size_; ++i)
            if (std::abs(row(i)[k]) > std::abs(row(pivot)[k])) pivot = i;
        swaps_[k] = pivot;
        if (pivot != k) std::swap_ranges(row(k), row(k) + size_, row(pivot));
        const double* top = row(k);
        for (Index i = k + 1; i < size_; ++i) {
            double* below = row(i);
            const double factor = below[k] /= top[k];
            for (Index j = k + 1; j < end; ++j) below[j] -= factor * top[j];
        }
    }
}

/// Updates the columns to the right of a panel: its rows of U, then the rows below.
void LuFactors::update_right(Index first, Index width) noexcept {
    const Index end = first + width;
    const Index rest = size_ - end;
    if (rest == 0) return;
    for (Index i = first; i < end; ++i)
        for (Index k = first; k < i; ++k) {
            const double factor = row(i)[k];
            for (Index j = end; j < size_; ++j) row(i)[j] -= factor * row(k)[j];
        }
    Eigen::Map<Matrix> all(entries_.data(), size_, size_);
    subtract_product(all.block(end, first, rest, width), all.block(first, end, width, rest),
                     all.block(end, end, rest, rest));
}

void LuFactors::solve(VectorRef b) const noexcept {
    for (Index i = 0; i < size_; ++i) std::swap(b[i], b[swaps_[i]]);
    const Eigen::Map<const Matrix> LU(entries_.data(), size_, size_);
    for (Index i = 1; i < size_; ++i) b[i] -= LU.row(i).head(i).dot(b.head(i));
    for (Index i = size_ - 1; i >= 0; --i) {
        const Index after = size_ - 1 - i;
        b[i] = (b[i] - LU.row(i).tail(after).dot(b.tail(after))) / LU(i, i);
    }
}

}  // namespace reluflow
