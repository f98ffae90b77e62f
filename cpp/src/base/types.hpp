/// The aliases every module uses. The storage order has its home here: row-major, as numpy's default.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reluflow {

/// Signed, like Eigen's own index, so that loops and differences need no casts.
using Index = std::ptrdiff_t;
static_assert(sizeof(Index) == sizeof(Eigen::Index), "Index and Eigen::Index must be one type");

using Vector = Eigen::VectorXd;
/// Row-major: a row of X is a sample, a row of W is a neuron, and both are contiguous.
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Memory that grows and is mapped as vectors and matrices. Aligned as theirs is: the rounding of a sum, and of an
/// expression with fused products, depends on where packets begin, and equal runs must have equal bits.
using Numbers = std::vector<double, Eigen::aligned_allocator<double>>;
/// Signs in {-1, 0, +1}, one row per neuron, one column per sample.
using SignMatrix = Eigen::Matrix<std::int8_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Read-only parameters. A Ref<const> copies when the storage does not match: pass row-major, contiguous data.
using VectorView = Eigen::Ref<const Vector>;
using MatrixView = Eigen::Ref<const Matrix>;
using SignMatrixView = Eigen::Ref<const SignMatrix>;

/// Writable parameters.
using VectorRef = Eigen::Ref<Vector>;
using MatrixRef = Eigen::Ref<Matrix>;
using SignMatrixRef = Eigen::Ref<SignMatrix>;

/// The indices begin ... end - 1.
struct Range {
    Index begin = 0;
    Index end = 0;

    Index count() const noexcept { return end - begin; }
};

/// The numbers of a matrix or vector in the order of its memory.
std::span<const double> span_of(const auto& numbers) noexcept {
    return {numbers.data(), static_cast<std::size_t>(numbers.size())};
}

}  // namespace reluflow
