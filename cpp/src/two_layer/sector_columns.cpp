#include "two_layer/sector_columns.hpp"

#include "two_layer/sector.hpp"

namespace reluflow {

namespace {

/// Columns that are added up in registers.
constexpr Index kStrip = 16;
using Strip = Eigen::Array<double, kStrip, 1>;
using StripMap = Eigen::Map<Strip>;
using ConstStripMap = Eigen::Map<const Strip>;

template <int Rows>
void add_rows(const double* A, Index stride, Index terms, const double* B, double* out) noexcept {
    Strip sums[Rows];
    for (int i = 0; i < Rows; ++i) sums[i] = ConstStripMap(out + i * kSectorColumns);
    for (Index x = 0; x < terms; ++x) {
        const Strip b = ConstStripMap(B + x * kSectorColumns);
        for (int i = 0; i < Rows; ++i) sums[i] += A[i * stride + x] * b;
    }
    for (int i = 0; i < Rows; ++i) StripMap{out + i* kSectorColumns} = sums[i];
}

}  // namespace

void add_to_columns(const double* A, Index stride, Index rows, Index terms, const double* B, double* out) noexcept {
    constexpr int kRows = 4;
    for (Index column = 0; column < kSectorColumns; column += kStrip) {
        Index i = 0;
        for (; i + kRows <= rows; i += kRows)
            add_rows<kRows>(A + i * stride, stride, terms, B + column, out + i * kSectorColumns + column);
        for (; i < rows; ++i) add_rows<1>(A + i * stride, stride, terms, B + column, out + i * kSectorColumns + column);
    }
}

}  // namespace reluflow
