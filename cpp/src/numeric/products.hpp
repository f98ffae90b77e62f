/// Matrix products that allocate nothing. Eigen packs the operands of a large product into buffers that it takes from
/// the heap above EIGEN_STACK_ALLOCATION_LIMIT (128 KiB); in tiles of bounded size they stay on the stack, and the
/// tiles stay in the cache.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/types.hpp"

namespace reluflow {

/// out = A Bᵀ; precondition: out is (A.rows, B.rows), and A.cols == B.cols.
void multiply_transposed(const MatrixView& A, const MatrixView& B, MatrixRef out);

/// out = A Aᵀ, a tile and its mirror image at once; precondition: out is (A.rows, A.rows).
void multiply_self_transposed(const MatrixView& A, MatrixRef out);

/// out = A B; precondition: out is (A.rows, B.cols), and A.cols == B.rows.
void multiply(const MatrixView& A, const MatrixView& B, MatrixRef out);

/// out = Aᵀ B; precondition: out is (A.cols, B.cols), and A.rows == B.rows.
void transposed_multiply(const MatrixView& A, const MatrixView& B, MatrixRef out);

/// out += A B; precondition: out is (A.rows, B.cols), and A.cols == B.rows.
void add_product(const MatrixView& A, const MatrixView& B, MatrixRef out);

/// out += Aᵀ B; precondition: out is (A.cols, B.cols), and A.rows == B.rows.
void add_transposed_product(const MatrixView& A, const MatrixView& B, MatrixRef out);

/// out -= A B; precondition as for add_product.
void subtract_product(const MatrixView& A, const MatrixView& B, MatrixRef out);

/// Columns of a block.
inline constexpr Index kBlockColumns = 64;

/// out (rows, 64) += A (rows, terms) B (terms, 64); rows of A are `stride` apart, the others are contiguous. Every
/// column goes through the same operations in the same order wherever it stands, so that equal columns stay equal to
/// the last bit; a general matrix product does not guarantee that.
void add_to_block(const double* A, Index stride, Index rows, Index terms, const double* B, double* out) noexcept;

/// out[i] = row(i)·v for i < count, where row(i) points to `size` numbers: several sums side by side, each by itself,
/// so that none depends on the others.
template <class Row>
void multiply_rows(std::size_t count, const Row& row, const double* v, Index size, double* out) noexcept {
    constexpr Index kLane = 4;
    constexpr std::size_t kRows = 4;
    using Lane = Eigen::Array<double, kLane, 1>;
    using LaneMap = Eigen::Map<const Lane>;
    for (std::size_t first = 0; first < count; first += kRows) {
        const double* rows[kRows];
        Lane sums[kRows];
        for (std::size_t i = 0; i < kRows; ++i) {
            rows[i] = row(std::min(first + i, count - 1));  // the last one more than once
            sums[i].setZero();
        }
        Index x = 0;
        for (; x + kLane <= size; x += kLane) {
            const Lane part = LaneMap(v + x);
            for (std::size_t i = 0; i < kRows; ++i) sums[i] += LaneMap(rows[i] + x) * part;
        }
        for (std::size_t i = 0; i < kRows && first + i < count; ++i) {
            double sum = sums[i].sum();
            for (Index rest = x; rest < size; ++rest) sum += rows[i][rest] * v[rest];
            out[first + i] = sum;
        }
    }
}

}  // namespace reluflow
