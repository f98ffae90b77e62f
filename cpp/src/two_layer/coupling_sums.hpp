/// Products with a matrix of zeros and ones by the sums of all subsets of a few rows (Arlazarov et al. 1970): private
/// part of `drive`. Five rows have 32 sums; looking one up adds five rows at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace reluflow {

/// Rows of a chunk.
inline constexpr int kChunk = 5;
inline constexpr int kSubsets = 1 << kChunk;
/// Columns come in multiples of this, filled with zeros: whole vector registers.
inline constexpr Index kLane = 8;
/// Columns that are added up together, and tables made at a time: 48 KB of tables, near the fastest cache, beside sums
/// that stay in the second. Measured: half of it and twice of it are a tenth slower at most, other widths more.
inline constexpr Index kStrip = 2 * kLane;
inline constexpr Index kTables = 12;

inline Index chunks_of(Index rows) noexcept {
    return (rows + kChunk - 1) / kChunk;
}
inline Index strips_of(Index columns) noexcept {
    return (columns + kStrip - 1) / kStrip;
}
/// Columns of a strip in whole registers.
inline Index padded(Index columns) noexcept {
    return (columns + kLane - 1) / kLane * kLane;
}

/// Sums of all subsets of kChunk rows; the bits of the index say which rows. rows (kChunk, width), table (kSubsets,
/// width), width a multiple of kLane.
void make_table(const double* rows, Index width, double* table) noexcept;

/// sum (width) += the entry codes[k] of table k, for k < count; tables follow each other.
void add_entries(const double* tables, const std::uint8_t* codes, Index count, Index width, double* sum) noexcept;

/// One thread's sums of one strip. It makes all tables itself: those of another thread would have to come from that
/// one's cache, which takes longer.
class SubsetSums {
  public:
    SubsetSums() : rows_(kChunk * kStrip), tables_(kTables * kSubsets * kStrip) {}

    /// Sums for the codes (., chunks of n_rows) of the range `which`, of a strip that has `columns` columns.
    /// fill(row, stride, rows) writes the columns of the kChunk rows from `row` on, without those beyond the last.
    template <class Fill>
    void make(Index n_rows, Index columns, const Fill& fill, const std::uint8_t* codes, Index code_stride,
              Range which) {
        width_ = padded(columns);
        sums_.assign(static_cast<std::size_t>(which.count() * width_), 0.0);
        const Index chunks = chunks_of(n_rows);
        for (Index first = 0; first < chunks; first += kTables) {
            const Index count = std::min(kTables, chunks - first);
            for (Index table = 0; table < count; ++table) {
                std::fill(rows_.begin(), rows_.end(), 0.0);
                fill((first + table) * kChunk, width_, rows_.data());
                make_table(rows_.data(), width_, tables_.data() + table * kSubsets * width_);
            }
            for (Index s = which.begin; s < which.end; ++s)
                add_entries(tables_.data(), codes + s * code_stride + first, count, width_,
                            sums_.data() + (s - which.begin) * width_);
        }
    }

    /// The sum of the i-th of `which`.
    double* of(Index i) noexcept { return sums_.data() + i * width_; }

  private:
    Index width_ = 0;
    /// Whole lines of the cache: an entry that lies across two is read twice.
    using Lines = std::vector<double, Eigen::aligned_allocator<double>>;

    Lines rows_, tables_, sums_;
};

}  // namespace reluflow
