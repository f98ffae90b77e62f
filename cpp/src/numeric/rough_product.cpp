#include "numeric/rough_product.hpp"

#include <algorithm>

namespace reluflow {

namespace {

using Packet = Eigen::internal::packet_traits<float>::type;
constexpr Index kPacket = Eigen::internal::packet_traits<float>::size;
/// What fits sixteen registers: four directions with three vectors of columns.
constexpr int kVectors = 3;
constexpr Index kDirections = 4;
constexpr Index kStrip = kVectors * kPacket;
/// Half a unit in the last place of 1.
constexpr double kRoundoff = 0x1p-24;
/// Roundings besides those of the additions: of both factors, of the bound that a product is compared with, and room
/// for what is of second order up to ten thousand terms.
constexpr double kOthers = 8.0;
constexpr double kSecondOrder = 1.001;

/// out (Count, kStrip) = directions times the packed terms of so many columns.
template <int Count>
void multiply_strip(const float* directions, Index rank, const float* packed, float* out, Index stride) noexcept {
    using namespace Eigen::internal;
    Packet sums[Count][kVectors];
    for (int i = 0; i < Count; ++i)
        for (int v = 0; v < kVectors; ++v) sums[i][v] = pset1<Packet>(0.0F);
    for (Index x = 0; x < rank; ++x) {
        Packet columns[kVectors];
        for (int v = 0; v < kVectors; ++v) columns[v] = ploadu<Packet>(packed + x * kStrip + v * kPacket);
        for (int i = 0; i < Count; ++i) {
            const Packet factor = pset1<Packet>(directions[i * rank + x]);
            for (int v = 0; v < kVectors; ++v) sums[i][v] = pmadd(factor, columns[v], sums[i][v]);
        }
    }
    for (int i = 0; i < Count; ++i)
        for (int v = 0; v < kVectors; ++v) pstoreu(out + i * stride + v * kPacket, sums[i][v]);
}

}  // namespace

RoughProduct::RoughProduct(const MatrixView& rows)
    : rank_(rows.cols()),
      columns_((rows.rows() + kStrip - 1) / kStrip * kStrip),
      error_(kRoundoff * (kSecondOrder * static_cast<double>(rank_) + kOthers)),
      packed_(columns_ * rank_, 0.0F) {
    for (Index k = 0; k < rows.rows(); ++k)
        for (Index x = 0; x < rank_; ++x)
            packed_[(k / kStrip * rank_ + x) * kStrip + k % kStrip] = static_cast<float>(rows(k, x));
}

void RoughProduct::multiply(const float* directions, Index count, float* out) const noexcept {
    for (Index column = 0; column < columns_; column += kStrip) {
        const float* packed = packed_.data() + column * rank_;
        Index i = 0;
        for (; i + kDirections <= count; i += kDirections)
            multiply_strip<kDirections>(directions + i * rank_, rank_, packed, out + i * columns_ + column, columns_);
        for (; i < count; ++i)
            multiply_strip<1>(directions + i * rank_, rank_, packed, out + i * columns_ + column, columns_);
    }
}

}  // namespace reluflow
