#include "two_layer/coupling_sums.hpp"

#include <algorithm>

namespace reluflow {

namespace {

static_assert(kStrip % kLane == 0);
/// A row of a table; one fixed-size array stays in registers.
template <Index Width>
using Row = Eigen::Array<double, Width, 1>;
template <Index Width>
using RowMap = Eigen::Map<Row<Width>>;
template <Index Width>
using ConstRowMap = Eigen::Map<const Row<Width>>;

/// Several sums side by side, since additions to one sum would wait for each other.
template <Index Width>
void add_rows(const double* tables, const Codes& codes, Index count, double* sums, bool begins) noexcept {
    for (Index s = codes.which.begin; s < codes.which.end; ++s, sums += Width) {
        const std::uint8_t* code = codes.first + s * codes.per_sum;
        Row<Width> total = Row<Width>::Zero();
        if (!begins) total = ConstRowMap<Width>(sums);
        for (Index k = 0; k < count; ++k)
            total += ConstRowMap<Width>(tables + (k * kSubsets + code[k * codes.per_table]) * Width);
        RowMap<Width>{sums} = total;
    }
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

/// Calls body<Width>() with the width that the compiler knows.
template <Index Width = kLane, class Body>
void with_width(Index width, const Body& body) {
    if constexpr (Width < kStrip)
        if (width > Width) return with_width<Width + kLane>(width, body);
    body.template operator()<Width>();
}

}  // namespace

void make_table(const double* rows, Index width, double* table) noexcept {
    with_width(width, [&]<Index Width>() { fill_table<Width>(rows, table); });
}

void add_entries(const double* tables, const Codes& codes, Index count, Index width, double* sums,
                 bool begins) noexcept {
    with_width(width, [&]<Index Width>() { add_rows<Width>(tables, codes, count, sums, begins); });
}

}  // namespace reluflow
