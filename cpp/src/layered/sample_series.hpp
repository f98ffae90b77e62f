/// The Taylor coefficients of one quantity per sample and unit, stored so that the sums of a convolution over samples
/// are one product of matrices.
#pragma once

#include "base/types.hpp"

namespace reluflow::layered {

/// Orders 0 ... top of an (n, size) matrix below each other, order k in row block k or, if `reversed`, top - k.
class SampleSeries {
  public:
    SampleSeries() = default;
    SampleSeries(Index n, Index size, int top, bool reversed)
        : n_(n), size_(size), top_(top), reversed_(reversed), numbers_(n * (top + 1), size) {}

    Index size() const noexcept { return size_; }
    auto order(int k) const { return numbers_.middleRows(row(k), n_); }
    auto order(int k) { return numbers_.middleRows(row(k), n_); }
    /// The rows of order k of some samples.
    auto rows(int k, const Range& samples) const {
        return numbers_.middleRows(row(k) + samples.begin, samples.count());
    }
    auto rows(int k, const Range& samples) { return numbers_.middleRows(row(k) + samples.begin, samples.count()); }
    /// Orders 0 ... k below each other, or k ... 0 if reversed.
    auto stacked(int k) const { return numbers_.middleRows(reversed_ ? row(k) : 0, n_ * (k + 1)); }
    double at(int k, Index i, Index u) const noexcept { return numbers_(row(k) + i, u); }
    /// Order k, row by row.
    const double* data(int k) const noexcept { return numbers_.data() + row(k) * size_; }

    void set(int k, Index i, Index u, double value) noexcept { numbers_(row(k) + i, u) = value; }

  private:
    Index row(int k) const noexcept { return (reversed_ ? top_ - k : k) * n_; }

    Index n_ = 0;
    Index size_ = 0;
    int top_ = 0;
    bool reversed_ = false;
    Matrix numbers_;
};

/// The Taylor coefficients of an edge's matrix A, (rows, cols): A_j below each other, and their transposes.
class EdgeSeries {
  public:
    EdgeSeries() = default;
    EdgeSeries(Index rows, Index cols, int top)
        : rows_(rows), cols_(cols), plain_(rows * (top + 1), cols), transposed_(cols * (top + 1), rows) {}

    auto plain_order(int k) const { return plain_.middleRows(k * rows_, rows_); }
    auto transposed_order(int k) const { return transposed_.middleRows(k * cols_, cols_); }
    void set(int k, Index row, Index col, double value) noexcept {
        plain_(k * rows_ + row, col) = value;
        transposed_(k * cols_ + col, row) = value;
    }

  private:
    Index rows_ = 0;
    Index cols_ = 0;
    Matrix plain_;
    Matrix transposed_;
};

}  // namespace reluflow::layered
