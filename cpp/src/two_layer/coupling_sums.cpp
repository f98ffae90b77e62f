#include "two_layer/coupling_sums.hpp"

#include <algorithm>

namespace reluflow {

namespace {

static_assert(kStrip == 2 * kLane || kStrip == 4 * kLane);
/// A row of a table; one fixed-size array stays in registers.
template <Index Width>
using Row = Eigen::Array<double, Width, 1>;
template <Index Width>
using RowMap = Eigen::Map<Row<Width>>;
template <Index Width>
using ConstRowMap = Eigen::Map<const Row<Width>>;

/// Several sums side by side, since additions to one sum would wait for each other.
template <Index Width>
void add_rows(const double* tables, const std::uint8_t* codes, Index count, double* sum, bool begins) noexcept {
    Row<Width> total = Row<Width>::Zero();
    if (!begins) total = ConstRowMap<Width>(sum);
    for (Index k = 0; k < count; ++k) total += ConstRowMap<Width>(tables + (k * kSubsets + codes[k]) * Width);
    RowMap<Width>{sum} = total;
}

/// The sum of a subset is its first row and the sum of the others, which is made before.
template <Index Width>
void fill_table(const double* rows, double* table) noexcept {
    RowMap<Width>{table}.setZero();
    for (int bit = kChunk - 1; bit >= 0; --bit) {
        const Row<Width> row = ConstRowMap<Width>(rows + bit * Width);
        for (int others = 0; others < kSubsets; others += 2 << bit)
            RowMap<Width>{table + (others + (1 << bit))* Width} = row + ConstRowMap<Width>(table + others * Width);
    }
}

}  // namespace

void make_table(const double* rows, Index width, double* table) noexcept {
    if (width == kLane) return fill_table<kLane>(rows, table);
    if (width == 2 * kLane) return fill_table<2 * kLane>(rows, table);
    if (width == 3 * kLane) return fill_table<3 * kLane>(rows, table);
    fill_table<4 * kLane>(rows, table);
}

void add_entries(const double* tables, const std::uint8_t* codes, Index count, Index width, double* sum,
                 bool begins) noexcept {
    if (width == kLane) return add_rows<kLane>(tables, codes, count, sum, begins);
    if (width == 2 * kLane) return add_rows<2 * kLane>(tables, codes, count, sum, begins);
    if (width == 3 * kLane) return add_rows<3 * kLane>(tables, codes, count, sum, begins);
    add_rows<4 * kLane>(tables, codes, count, sum, begins);
}

}  // namespace reluflow
