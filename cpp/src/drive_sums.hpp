/// Products with a matrix of zeros and ones by the sums of all subsets of a few rows (Arlazarov et al. 1970): private
/// part of `drive`. Five rows have 32 sums; looking one up adds five rows at once.
#pragma once

#include <cstdint>

#include "reluflow/types.hpp"

namespace reluflow {

/// Rows of a chunk. Five keep a table of 64 columns in the fastest cache, and cost little to make for few groups.
inline constexpr int kChunk = 5;
inline constexpr int kSubsets = 1 << kChunk;
/// Tables made at a time: enough to write a sum seldom, few enough for the cache.
inline constexpr int kTables = 8;
/// Columns come in multiples of this, filled with zeros: whole vector registers.
inline constexpr Index kLane = 8;

inline Index chunks_of(Index rows) noexcept {
    return (rows + kChunk - 1) / kChunk;
}
inline Index padded(Index columns) noexcept {
    return (columns + kLane - 1) / kLane * kLane;
}

/// Sums of all subsets of kChunk rows; the bits of the index say which rows. rows (kChunk, width), table (kSubsets,
/// width), width a multiple of kLane.
void make_table(const double* rows, Index width, double* table) noexcept;

/// sum (width) += the entry codes[k] of table k, for k < count; tables follow each other.
void add_entries(const double* tables, const std::uint8_t* codes, Index count, Index width, double* sum) noexcept;

}  // namespace reluflow
