#include "drive_sums.hpp"

#include <algorithm>
#include <bit>

namespace reluflow {

namespace {

using Lane = Eigen::Array<double, kLane, 1>;
using LaneMap = Eigen::Map<Lane>;
using ConstLaneMap = Eigen::Map<const Lane>;

/// Four sums side by side: one after the other would wait for each addition.
void add_four(const double* tables, const std::uint8_t* codes, Index count, Index width, double* sum) noexcept {
    Lane a = ConstLaneMap(sum);
    Lane b = ConstLaneMap(sum + kLane);
    Lane c = ConstLaneMap(sum + 2 * kLane);
    Lane d = ConstLaneMap(sum + 3 * kLane);
    for (Index k = 0; k < count; ++k) {
        const double* entry = tables + (k * kSubsets + codes[k]) * width;
        a += ConstLaneMap(entry);
        b += ConstLaneMap(entry + kLane);
        c += ConstLaneMap(entry + 2 * kLane);
        d += ConstLaneMap(entry + 3 * kLane);
    }
    LaneMap{sum} = a;
    LaneMap{sum + kLane} = b;
    LaneMap{sum + 2 * kLane} = c;
    LaneMap{sum + 3 * kLane} = d;
}

void add_one(const double* tables, const std::uint8_t* codes, Index count, Index width, double* sum) noexcept {
    Lane a = ConstLaneMap(sum);
    for (Index k = 0; k < count; ++k) a += ConstLaneMap(tables + (k * kSubsets + codes[k]) * width);
    LaneMap{sum} = a;
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
    Index x = 0;
    for (; x + 4 * kLane <= width; x += 4 * kLane) add_four(tables + x, codes, count, width, sum + x);
    for (; x < width; x += kLane) add_one(tables + x, codes, count, width, sum + x);
}

}  // namespace reluflow
