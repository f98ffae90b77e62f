#include "proof/combination.hpp"

#include <cmath>

namespace reluflow::proof {
namespace {

/// Where the rows are: all of them, or the chosen ones.
struct AllRows {
    const double* rows;
    Index stride;
    const double* operator()(Index k) const { return rows + k * stride; }
};
struct ChosenRows {
    const double* rows;
    Index stride;
    const Index* chosen;
    const double* operator()(Index k) const { return rows + chosen[k] * stride; }
};

/// One tile of entries from `first` on, kept in registers.
template <int Tile, class RowOf>
void combine_tile(const double* coefficients, Index count, const RowOf row_of, Index first, double* out) {
    using Entries = Eigen::Array<double, Tile, 1>;
    Entries sum = Entries::Zero();
    for (Index k = 0; k < count; ++k) sum += coefficients[k] * Eigen::Map<const Entries>(row_of(k) + first);
    Eigen::Map<Entries>{out} = sum;
}

// The bound, for sums with terms of sizes S: a term is p + e with the product p and e, which is rounded by 2 u² |p|.
// The sum of all p is exact in `high` and what its additions miss, each at most u S. Between two renewals `low`, at
// most u S after one, grows by at most u S and its share of 2 u S each time, so that k additions after one it is at
// most (k + 3) u S and rounds by u times that; what is added to it has been rounded by u² S and 3 u² |p|. Over a block
// of 6 that is at most 6 + (4 + ... + 9) = 45 < 8 * 6 units u² S, and 5 u² S for all |p| together.
constexpr int kRenewed = 6;

template <int Tile, class RowOf>
void combine_tile(const DoubleDouble* coefficients, Index count, const RowOf row_of, Index first, DoubleDouble* out) {
    double high[Tile] = {};
    double low[Tile] = {};
    for (Index k = 0; k < count; ++k) {
        const DoubleDouble factor = coefficients[k];
        const double* row = row_of(k) + first;
        for (int c = 0; c < Tile; ++c) {
            const double product = factor.high * row[c];
            const double rest = std::fma(factor.low, row[c], std::fma(factor.high, row[c], -product));
            const double sum = high[c] + product;
            const double part = sum - high[c];
            low[c] += ((high[c] - (sum - part)) + (product - part)) + rest;
            high[c] = sum;
        }
        if ((k + 1) % kRenewed != 0) continue;
        for (int c = 0; c < Tile; ++c) {
            const DoubleDouble renewed = exact_sum(high[c], low[c]);
            high[c] = renewed.high;
            low[c] = renewed.low;
        }
    }
    for (int c = 0; c < Tile; ++c) out[c] = exact_sum(high[c], low[c]);
}

/// Tiles from this width down, each half as wide: 32 entries fill four registers of the widest kind, so that the
/// latency of an addition is hidden.
template <int Tile = 32, class Real, class RowOf>
void combine_tiles(const Real* coefficients, Index count, const RowOf row_of, Index first, Index width, Real* out) {
    for (; first + Tile <= width; first += Tile) combine_tile<Tile>(coefficients, count, row_of, first, out + first);
    if constexpr (Tile > 1) combine_tiles<Tile / 2>(coefficients, count, row_of, first, width, out);
}

}  // namespace

template <class Real>
void combine(const Real* coefficients, Index count, const double* rows, Index stride, Index width, Real* out) {
    combine_tiles(coefficients, count, AllRows{rows, stride}, 0, width, out);
}

template <class Real>
void combine(const std::vector<Real>& coefficients, const std::vector<Index>& chosen, const double* rows, Index width,
             Real* out) {
    const ChosenRows row_of{rows, width, chosen.data()};
    combine_tiles(coefficients.data(), static_cast<Index>(chosen.size()), row_of, 0, width, out);
}

template void combine(const double*, Index, const double*, Index, Index, double*);
template void combine(const DoubleDouble*, Index, const double*, Index, Index, DoubleDouble*);
template void combine(const std::vector<double>&, const std::vector<Index>&, const double*, Index, double*);
template void combine(const std::vector<DoubleDouble>&, const std::vector<Index>&, const double*, Index, DoubleDouble*);

}  // namespace reluflow::proof
