#include "numeric/products.hpp"

#include <algorithm>

namespace reluflow {
namespace {

/// Rows and columns of a tile of the result.
constexpr Index kTile = 64;
/// Terms of its sums. An operand that Eigen packs is kTile * kDepth doubles: 96 KiB, under Eigen's limit with room for
/// padding.
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

/// Whole vectors, with products and sums in one operation where the processor has one.
using Packet = Eigen::internal::packet_traits<double>::type;
constexpr Index kPacket = Eigen::internal::packet_traits<double>::size;
/// What fits sixteen registers: four rows of A with three vectors of columns.
constexpr int kVectors = 3;
constexpr int kDotRows = 4;
constexpr Index kDotColumns = kVectors * kPacket;

/// out (Rows, kDotColumns) = A times the packed terms of so many columns, or += where a sum goes on.
template <int Rows>
void multiply_packed(const double* A, Index stride, Index terms, const double* packed, bool goes_on, double* out,
                     Index out_stride) noexcept {
    using namespace Eigen::internal;
    Packet sums[Rows][kVectors];
    for (int i = 0; i < Rows; ++i)
        for (int v = 0; v < kVectors; ++v) sums[i][v] = pset1<Packet>(0.0);
    for (Index x = 0; x < terms; ++x) {
        Packet columns[kVectors];
        for (int v = 0; v < kVectors; ++v) columns[v] = ploadu<Packet>(packed + x * kDotColumns + v * kPacket);
        for (int i = 0; i < Rows; ++i) {
            const Packet factor = pset1<Packet>(A[i * stride + x]);
            for (int v = 0; v < kVectors; ++v) sums[i][v] = pmadd(factor, columns[v], sums[i][v]);
        }
    }
    for (int i = 0; i < Rows; ++i)
        for (int v = 0; v < kVectors; ++v) {
            double* to = out + i * out_stride + v * kPacket;
            pstoreu(to, goes_on ? padd(ploadu<Packet>(to), sums[i][v]) : sums[i][v]);
        }
}

/// Rows of B, side by side for each term; zeros where there are fewer than kDotColumns.
void pack(const MatrixView& B, Index col, Index n_cols, Index term, Index n_terms, double* packed) noexcept {
    const double* from = B.data() + col * B.outerStride() + term;
    if (n_cols < kDotColumns) {
        std::fill_n(packed, n_terms * kDotColumns, 0.0);
        for (Index c = 0; c < n_cols; ++c, from += B.outerStride())
            for (Index x = 0; x < n_terms; ++x) packed[x * kDotColumns + c] = from[x];
        return;
    }
    for (Index x = 0; x < n_terms; ++x, packed += kDotColumns)
        for (Index c = 0; c < kDotColumns; ++c) packed[c] = from[c * B.outerStride() + x];
}

}  // namespace

/// Every product goes through the same operations in the same order wherever it stands. Nothing is cleared before.
void multiply_transposed(const MatrixView& A, const MatrixView& B, MatrixRef out) {
    double packed[kDepth * kDotColumns];
    double edge[kDotColumns] = {};
    if (A.cols() == 0) out.setZero();
    in_pieces(out.rows(), 2 * kTile, [&](Index row, Index n_rows) {
        in_pieces(out.cols(), kDotColumns, [&](Index col, Index n_cols) {
            in_pieces(A.cols(), kDepth, [&](Index term, Index n_terms) {
                pack(B, col, n_cols, term, n_terms, packed);
                in_pieces(n_rows, kDotRows, [&](Index first, Index count) {
                    const double* from = A.data() + (row + first) * A.outerStride() + term;
                    double* to = &out(row + first, col);
                    if (count == kDotRows && n_cols == kDotColumns)
                        return multiply_packed<kDotRows>(from, A.outerStride(), n_terms, packed, term > 0, to,
                                                         out.outerStride());
                    for (Index i = 0; i < count; ++i) {
                        if (term > 0) std::copy_n(to + i * out.outerStride(), n_cols, edge);
                        multiply_packed<1>(from + i * A.outerStride(), 0, n_terms, packed, term > 0, edge, 0);
                        std::copy_n(edge, n_cols, to + i * out.outerStride());
                    }
                });
            });
        });
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
