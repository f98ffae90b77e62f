#include "proof/combination.hpp"

namespace reluflow::proof {
namespace {

/// One tile of entries, kept in registers.
template <int Tile>
void combine_tile(const double* coefficients, Index count, const double* rows, Index stride, double* out) {
    double sum[Tile] = {};
    for (Index k = 0; k < count; ++k) {
        const double factor = coefficients[k];
        const double* row = rows + k * stride;
        for (int c = 0; c < Tile; ++c) sum[c] += factor * row[c];
    }
    for (int c = 0; c < Tile; ++c) out[c] = sum[c];
}

/// 32 entries fill four registers of the widest kind, so that the latency of an addition is hidden.
constexpr int kTile = 32;
constexpr int kSmallTile = 4;

}  // namespace

void combine(const double* coefficients, Index count, const double* rows, Index stride, Index width, double* out) {
    Index c = 0;
    for (; c + kTile <= width; c += kTile) combine_tile<kTile>(coefficients, count, rows + c, stride, out + c);
    for (; c + kSmallTile <= width; c += kSmallTile)
        combine_tile<kSmallTile>(coefficients, count, rows + c, stride, out + c);
    for (; c < width; ++c) combine_tile<1>(coefficients, count, rows + c, stride, out + c);
}

}  // namespace reluflow::proof
