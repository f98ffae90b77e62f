/// The Taylor coefficients of one quantity per sample and unit, stored so that a convolution of two series is one
/// product of matrices.
#pragma once

#include "base/types.hpp"
#include "numeric/products.hpp"

namespace reluflow::layered {

/// Orders 0 ... top of an (n, size) matrix. `wide` keeps order k in column block top - k, so that orders k ... 0 are
/// neighbours; `tall` keeps order k in row block k or, if `reversed`, top - k.
class SampleSeries {
  public:
    SampleSeries() = default;
    SampleSeries(Index n, Index size, int top, bool reversed)
        : n_(n), size_(size), top_(top), reversed_(reversed), wide_(n, size * (top + 1)), tall_(n * (top + 1), size) {}

    Index size() const noexcept { return size_; }
    auto order(int k) const { return tall_.middleRows(row(k), n_); }
    /// [order k, order k - 1, ..., order 0], (n, size (k + 1)).
    auto down_from(int k) const { return wide_.middleCols((top_ - k) * size_, (k + 1) * size_); }
    /// Orders 0 ... k below each other, or k ... 0 if reversed.
    auto stacked(int k) const { return tall_.middleRows(reversed_ ? row(k) : 0, n_ * (k + 1)); }
    double at(int k, Index i, Index u) const noexcept { return tall_(row(k) + i, u); }

    template <class Values>
    void set(int k, const Values& values) {
        tall_.middleRows(row(k), n_) = values;
        wide_.middleCols((top_ - k) * size_, size_) = tall_.middleRows(row(k), n_);
    }
    void set(int k, Index i, Index u, double value) noexcept {
        tall_(row(k) + i, u) = value;
        wide_(i, (top_ - k) * size_ + u) = value;
    }
    template <class Values>
    void add(int k, const Values& values) {
        tall_.middleRows(row(k), n_) += values;
        wide_.middleCols((top_ - k) * size_, size_) = tall_.middleRows(row(k), n_);
    }
    void gather(Index i, Index u, int top, double* c) const noexcept {
        for (int k = 0; k <= top; ++k) c[k] = at(k, i, u);
    }

  private:
    Index row(int k) const noexcept { return (reversed_ ? top_ - k : k) * n_; }

    Index n_ = 0;
    Index size_ = 0;
    int top_ = 0;
    bool reversed_ = false;
    Matrix wide_;
    Matrix tall_;
};

/// The Taylor coefficients of an edge's matrix A, (rows, cols): A_j below each other, and their transposes.
class EdgeSeries {
  public:
    EdgeSeries() = default;
    EdgeSeries(Index rows, Index cols, int top)
        : rows_(rows), cols_(cols), plain_(rows * (top + 1), cols), transposed_(cols * (top + 1), rows) {}

    auto plain(int k) const { return plain_.topRows((k + 1) * rows_); }
    auto transposed(int k) const { return transposed_.topRows((k + 1) * cols_); }
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
