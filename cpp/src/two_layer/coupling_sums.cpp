#include "two_layer/coupling_sums.hpp"

#include <algorithm>
#include <bit>

namespace reluflow {

namespace {

using Lane = Eigen::Array<double, kLane, 1>;
using LaneMap = Eigen::Map<Lane>;
using ConstLaneMap = Eigen::Map<const Lane>;

/// Several sums side by side, since additions to one sum would wait for each other.
template <int Lanes>
void add_lanes(const double* tables, const std::uint8_t* codes, Index count, Index width, double* sum) noexcept {
    Lane lanes[Lanes];
    for (int i = 0; i < Lanes; ++i) lanes[i] = ConstLaneMap(sum + i * kLane);
    for (Index k = 0; k < count; ++k) {
        const double* entry = tables + (k * kSubsets + codes[k]) * width;
        for (int i = 0; i < Lanes; ++i) lanes[i] += ConstLaneMap(entry + i * kLane);
    }
    for (int i = 0; i < Lanes; ++i) LaneMap{sum + i* kLane} = lanes[i];
}

}  // namespace

void make_table(const double* rows, Index width, double* table) noexcept {
    std::fill_n(table, width, 0.0);
    for (unsigned subset = 1; subset < kSubsets; ++subset) {
        const double* row = rows + std::countr_zero(subset) * width;
        const double* rest = table + (subset & (subset - 1)) * width;
        double* entry = table + subset * width;
        for (Index x = 0; x < width; x += kLane) LaneMap(entry + x) = ConstLaneMap(row + x) + ConstLaneMap(rest + x);
    }
}

void add_entries(const double* tables, const std::uint8_t* codes, Index count, Index width, double* sum) noexcept {
    static_assert(kStrip == 2 * kLane);
    if (width == kStrip)
        add_lanes<2>(tables, codes, count, width, sum);
    else
        add_lanes<1>(tables, codes, count, width, sum);
}

}  // namespace reluflow
