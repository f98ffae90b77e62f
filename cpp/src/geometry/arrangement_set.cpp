#include "geometry/arrangement_set.hpp"

#include <algorithm>

namespace reluflow::detail {
namespace {

constexpr std::size_t kWordBits = 64;
constexpr std::size_t kFirstTable = 64;  // a power of two; grows by doubling when half full

}  // namespace

CellSet::CellSet(const Boundaries& boundaries)
    : boundaries_(boundaries),
      n_words_((static_cast<std::size_t>(boundaries.size()) + kWordBits - 1) / kWordBits),
      scratch_(n_words_),
      heights_(boundaries.size()),
      table_(kFirstTable, -1) {}

bool CellSet::read_signs(const Vector& point) {
    std::fill(scratch_.begin(), scratch_.end(), 0U);
    heights_.noalias() = boundaries_.normals * point;
    for (Index i = 0; i < heights_.size(); ++i) {
        if (std::abs(heights_[i]) <= kInside) return false;
        const auto at = static_cast<std::size_t>(i);
        if (heights_[i] > 0) scratch_[at / kWordBits] |= std::uint64_t{1} << (at % kWordBits);
    }
    return true;
}

std::uint64_t CellSet::hash(const std::uint64_t* words) const {
    std::uint64_t bits = 0x9e3779b97f4a7c15U;
    for (std::size_t w = 0; w < n_words_; ++w) {
        bits = (bits ^ words[w]) * 0xbf58476d1ce4e5b9U;  // the mixing of SplitMix64, as in generator.hpp
        bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
        bits ^= bits >> 31U;
    }
    return bits;
}

std::size_t CellSet::slot() const {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = hash(scratch_.data()) & mask;
    for (; table_[at] >= 0; at = (at + 1) & mask) {
        const auto* found = signs_.data() + static_cast<std::size_t>(table_[at]) * n_words_;
        if (std::equal(scratch_.begin(), scratch_.end(), found)) break;
    }
    return at;
}

void CellSet::grow() {
    const std::size_t mask = 2 * table_.size() - 1;
    table_.assign(mask + 1, -1);
    for (Index c = 0; c < count_; ++c) {
        std::size_t at = hash(signs_.data() + static_cast<std::size_t>(c) * n_words_) & mask;
        while (table_[at] >= 0) at = (at + 1) & mask;
        table_[at] = c;
    }
}

void CellSet::insert(const Vector& point) {
    if (!read_signs(point)) return;
    const std::size_t at = slot();
    if (table_[at] >= 0) return;
    table_[at] = count_++;
    signs_.insert(signs_.end(), scratch_.begin(), scratch_.end());
    points_.insert(points_.end(), point.data(), point.data() + point.size());
    if (2 * static_cast<std::size_t>(count_) > table_.size()) grow();
}

}  // namespace reluflow::detail
