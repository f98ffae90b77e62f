/// Uniform in [-1, 1) for test problems: the same on every machine.
#pragma once

#include <cstdint>

namespace reluflow::tests {

class Uniform {
  public:
    explicit Uniform(std::uint64_t seed = 1) noexcept : state_(seed) {}

    double operator()() noexcept {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return 2.0 * static_cast<double>(state_ >> 11) / 9007199254740992.0 - 1.0;
    }

  private:
    std::uint64_t state_;
};

}  // namespace reluflow::tests
