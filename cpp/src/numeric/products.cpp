#include "numeric/products.hpp"

#include <algorithm>

namespace reluflow {
namespace {

/// Rows and columns of a tile of the result.
constexpr Index kTile = 64;
/// Terms of its sums. A packed operand is kTile * kDepth doubles: 96 KiB, under Eigen's limit with room for padding.
constexpr Index kDepth = 192;
static_assert(kTile * kDepth * sizeof(double) <= EIGEN_STACK_ALLOCATION_LIMIT, "a packed tile must fit the stack");

/// Calls body(start, size) for the pieces of [0, size) of at most `piece`.
template <class Body>
void in_pieces(Index size, Index piece, const Body& body) {
    for (Index start = 0; start < size; start += piece) body(start, std::min(piece, size - start));
}

/// Calls body(row, n_rows, col, n_cols, term, n_terms) for the tiles of a product of these sizes.
template <class Body>
void in_tiles(Index rows, Index cols, Index terms, const Body& body) {
    in_pieces(rows, kTile, [&](Index row, Index n_rows) {
        in_pieces(cols, kTile, [&](Index col, Index n_cols) {
            in_pieces(terms, kDepth, [&](Index term, Index n_terms) { body(row, n_rows, col, n_cols, term, n_terms); });
        });
    });
}

/// Columns that are added up in registers.
constexpr Index kStripColumns = 16;
using Strip = Eigen::Array<double, kStripColumns, 1>;
using StripMap = Eigen::Map<Strip>;
using ConstStripMap = Eigen::Map<const Strip>;

template <int Rows>
void add_rows(const double* A, Index stride, Index terms, const double* B, double* out) noexcept {
    Strip sums[Rows];
    for (int i = 0; i < Rows; ++i) sums[i] = ConstStripMap(out + i * kBlockColumns);
    for (Index x = 0; x < terms; ++x) {
        const Strip b = ConstStripMap(B + x * kBlockColumns);
        for (int i = 0; i < Rows; ++i) sums[i] += A[i * stride + x] * b;
    }
    for (int i = 0; i < Rows; ++i) StripMap{out + i* kBlockColumns} = sums[i];
}

}  // namespace

void multiply_transposed(const MatrixView& A, const MatrixView& B, MatrixRef out) {
    out.setZero();
    in_tiles(out.rows(), out.cols(), A.cols(),
             [&](Index row, Index n_rows, Index col, Index n_cols, Index term, Index n_terms) {
                 out.block(row, col, n_rows, n_cols).noalias() +=
                     A.block(row, term, n_rows, n_terms) * B.block(col, term, n_cols, n_terms).transpose();
             });
}

void multiply_self_transposed(const MatrixView& A, MatrixRef out) {
    in_pieces(out.rows(), kTile, [&](Index row, Index n_rows) {
        in_pieces(row + n_rows, kTile, [&](Index col, Index n_cols) {
            auto tile = out.block(row, col, n_rows, n_cols);
            tile.setZero();
            in_pieces(A.cols(), kDepth, [&](Index term, Index n_terms) {
                tile.noalias() += A.block(row, term, n_rows, n_terms) * A.block(col, term, n_cols, n_terms).transpose();
            });
            if (col < row) out.block(col, row, n_cols, n_rows) = tile.transpose();
        });
    });
}

void multiply(const MatrixView& A, const MatrixView& B, MatrixRef out) {
    out.setZero();
    add_product(A, B, out);
}

void transposed_multiply(const MatrixView& A, const MatrixView& B, MatrixRef out) {
    out.setZero();
    add_transposed_product(A, B, out);
}

void add_transposed_product(const MatrixView& A, const MatrixView& B, MatrixRef out) {
    in_tiles(out.rows(), out.cols(), A.rows(),
             [&](Index row, Index n_rows, Index col, Index n_cols, Index term, Index n_terms) {
                 out.block(row, col, n_rows, n_cols).noalias() +=
                     A.block(term, row, n_terms, n_rows).transpose() * B.block(term, col, n_terms, n_cols);
             });
}

void add_product(const MatrixView& A, const MatrixView& B, MatrixRef out) {
    in_tiles(out.rows(), out.cols(), A.cols(),
             [&](Index row, Index n_rows, Index col, Index n_cols, Index term, Index n_terms) {
                 out.block(row, col, n_rows, n_cols).noalias() +=
                     A.block(row, term, n_rows, n_terms) * B.block(term, col, n_terms, n_cols);
             });
}

void subtract_product(const MatrixView& A, const MatrixView& B, MatrixRef out) {
    in_tiles(out.rows(), out.cols(), A.cols(),
             [&](Index row, Index n_rows, Index col, Index n_cols, Index term, Index n_terms) {
                 out.block(row, col, n_rows, n_cols).noalias() -=
                     A.block(row, term, n_rows, n_terms) * B.block(term, col, n_terms, n_cols);
             });
}

void add_to_block(const double* A, Index stride, Index rows, Index terms, const double* B, double* out) noexcept {
    constexpr int kRows = 4;
    for (Index column = 0; column < kBlockColumns; column += kStripColumns) {
        Index i = 0;
        for (; i + kRows <= rows; i += kRows)
            add_rows<kRows>(A + i * stride, stride, terms, B + column, out + i * kBlockColumns + column);
        for (; i < rows; ++i) add_rows<1>(A + i * stride, stride, terms, B + column, out + i * kBlockColumns + column);
    }
}

}  // namespace reluflow
