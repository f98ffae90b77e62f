#include "proof/combination.hpp"

#include <cmath>

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

// The bound, for sums with terms of sizes S: a term is p + e with the product p and e, which is rounded by 2 u² |p|.
// The sum of all p is exact in `high` and what its additions miss, each at most u S. Between two renewals `low`, at
// most u S after one, grows by at most u S and its share of 2 u S each time, so that k additions after one it is at
// most (k + 3) u S and rounds by u times that; what is added to it has been rounded by u² S and 3 u² |p|. Over a block
// of 6 that is at most 6 + (4 + ... + 9) = 45 < 8 * 6 units u² S, and 5 u² S for all |p| together.
constexpr int kRenewed = 6;

template <int Tile>
void combine_tile(const DoubleDouble* coefficients, Index count, const double* rows, Index stride, DoubleDouble* out) {
    double high[Tile] = {};
    double low[Tile] = {};
    int added = 0;
    for (Index k = 0; k < count; ++k) {
        const DoubleDouble factor = coefficients[k];
        if (factor.high == 0.0) continue;
        const double* row = rows + k * stride;
        for (int c = 0; c < Tile; ++c) {
            const double product = factor.high * row[c];
            const double rest = std::fma(factor.low, row[c], std::fma(factor.high, row[c], -product));
            const double sum = high[c] + product;
            const double part = sum - high[c];
            low[c] += ((high[c] - (sum - part)) + (product - part)) + rest;
            high[c] = sum;
        }
        if (++added % kRenewed != 0) continue;
        for (int c = 0; c < Tile; ++c) {
            const DoubleDouble renewed = exact_sum(high[c], low[c]);
            high[c] = renewed.high;
            low[c] = renewed.low;
        }
    }
    for (int c = 0; c < Tile; ++c) out[c] = exact_sum(high[c], low[c]);
}

/// 32 entries fill four registers of the widest kind, so that the latency of an addition is hidden.
constexpr int kTile = 32;
constexpr int kSmallTile = 4;

template <class Real>
void combine_tiles(const Real* coefficients, Index count, const double* rows, Index stride, Index width, Real* out) {
    Index c = 0;
    for (; c + kTile <= width; c += kTile) combine_tile<kTile>(coefficients, count, rows + c, stride, out + c);
    for (; c + kSmallTile <= width; c += kSmallTile)
        combine_tile<kSmallTile>(coefficients, count, rows + c, stride, out + c);
    for (; c < width; ++c) combine_tile<1>(coefficients, count, rows + c, stride, out + c);
}

}  // namespace

void combine(const double* coefficients, Index count, const double* rows, Index stride, Index width, double* out) {
    combine_tiles(coefficients, count, rows, stride, width, out);
}

void combine(const DoubleDouble* coefficients, Index count, const double* rows, Index stride, Index width,
             DoubleDouble* out) {
    combine_tiles(coefficients, count, rows, stride, width, out);
}

}  // namespace reluflow::proof
