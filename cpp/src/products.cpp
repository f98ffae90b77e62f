#include "reluflow/products.hpp"

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

}  // namespace

void multiply_transposed(const MatrixView& A, const MatrixView& B, MatrixRef out) {
    if (A.cols() == 0) out.setZero();
    in_pieces(out.rows(), kTile, [&](Index row, Index n_rows) {
        in_pieces(out.cols(), kTile, [&](Index col, Index n_cols) {
            auto tile = out.block(row, col, n_rows, n_cols);
            in_pieces(A.cols(), kDepth, [&](Index term, Index n_terms) {
                const auto left = A.block(row, term, n_rows, n_terms);
                const auto right = B.block(col, term, n_cols, n_terms).transpose();
                if (term == 0)
                    tile.noalias() = left * right;
                else
                    tile.noalias() += left * right;
            });
        });
    });
}

void add_product(const MatrixView& A, const MatrixView& B, MatrixRef out) {
    in_pieces(out.rows(), kTile, [&](Index row, Index n_rows) {
        in_pieces(out.cols(), kTile, [&](Index col, Index n_cols) {
            auto tile = out.block(row, col, n_rows, n_cols);
            in_pieces(A.cols(), kDepth, [&](Index term, Index n_terms) {
                tile.noalias() += A.block(row, term, n_rows, n_terms) * B.block(term, col, n_terms, n_cols);
            });
        });
    });
}

}  // namespace reluflow
