#include "hybrid/pattern.hpp"

#include <algorithm>
#include <cstring>

#include "base/generator.hpp"

namespace reluflow {

EventKind kind_of_change(std::int8_t before, std::int8_t after, bool at_rest) noexcept {
    if (after == 0) return at_rest ? EventKind::die : EventKind::slide;
    if (before == 0) return after > 0 ? EventKind::leave_up : EventKind::leave_down;
    return after > 0 ? EventKind::cross_up : EventKind::cross_down;
}

void append_zero_boundaries(std::span<const std::int8_t> sides, std::vector<int>& boundaries) {
    // Sides ±1 are odd numbers and 0 is even: the lowest bits of eight bytes rule out eight boundaries at once.
    constexpr std::uint64_t kOdd = 0x0101010101010101ULL;
    const std::size_t count = sides.size();
    for (std::size_t begin = 0; begin < count; begin += 8) {
        const std::size_t end = std::min(begin + 8, count);
        std::uint64_t word = kOdd;
        std::memcpy(&word, sides.data() + begin, end - begin);
        if ((word & kOdd) == kOdd) continue;
        for (std::size_t boundary = begin; boundary < end; ++boundary)
            if (sides[boundary] == 0) boundaries.push_back(static_cast<int>(boundary));
    }
}

Pattern::Pattern(Index neurons, Index boundaries, std::uint64_t seed)
    : sides_(SignMatrix::Zero(neurons, boundaries)),
      keys_(3 * boundaries),
      hashes_(neurons, 0),
      zeros_(neurons, boundaries) {
    Generator generator(seed);
    for (auto& key : keys_) key = generator.next();
    for (Index w = 0; w < boundaries; ++w)
        for (auto& hash : hashes_) hash ^= keys_[3 * w + 1];
}

bool Pattern::same_row(Index a, Index b) const noexcept {
    const auto first = row(a);
    return std::equal(first.begin(), first.end(), row(b).begin());
}

void Pattern::set(Index neuron, Index boundary, std::int8_t side) noexcept {
    std::int8_t& current = sides_(neuron, boundary);
    if (current == side) return;
    hashes_[neuron] ^= keys_[3 * boundary + 1 + current] ^ keys_[3 * boundary + 1 + side];
    zeros_[neuron] += (side == 0 ? 1 : 0) - (current == 0 ? 1 : 0);
    current = side;
    version_.fetch_add(1, std::memory_order_relaxed);
}

SignMatrix Pattern::sample_signs(const Dataset& data) const {
    SignMatrix signs(neurons(), data.n());
    for (Index j = 0; j < neurons(); ++j)
        for (Index i = 0; i < data.n(); ++i) signs(j, i) = sample_sign(data, i, side(j, data.boundary_of(i)));
    return signs;
}

}  // namespace reluflow
