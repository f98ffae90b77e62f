/// The project's own random numbers: the same on every platform, which <random>'s distributions are not.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/types.hpp"

namespace reluflow {

/// SplitMix64 (Steele, Lea & Flood 2014): 64 bits of state, every seed is a good one.
class Generator {
  public:
    explicit Generator(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t bits = (state_ += 0x9e3779b97f4a7c15U);
        bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
        bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
        return bits ^ (bits >> 31U);
    }

    /// Uniform in [0, bound), without the bias of a bare remainder; precondition: bound > 0.
    std::uint64_t below(std::uint64_t bound) noexcept {
        const std::uint64_t rejected = (0U - bound) % bound;  // 2^64 mod bound: the incomplete last round
        std::uint64_t bits = next();
        while (bits < rejected) bits = next();
        return bits % bound;
    }

  private:
    std::uint64_t state_;
};

/// Fisher-Yates: every order of `values` has the same chance.
inline void shuffle(std::span<Index> values, Generator& generator) noexcept {
    for (std::size_t left = values.size(); left > 1; --left)
        std::swap(values[left - 1], values[static_cast<std::size_t>(generator.below(left))]);
}

}  // namespace reluflow
