/// Bounds of how places that are zero move, and of what pulls them, in all directions in which a flow can go on.
///
/// Such a direction is a mean of gradients: d = v + Σ_a p_a n_a with p_a = s_a B_a + S_a, where B_a and S_a add up what
/// the readers of a place send down and s_a is 1 where x_a > 0, leak where x_a < 0, and in between where x_a = 0.
/// Bounds of all p, from above downwards, give bounds of all x, from below upwards. What a place cannot do by them is
/// ruled out, which bounds p and x closer, and so on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "layered/local_form.hpp"

namespace reluflow::layered {

/// What a place may do, a sum of these.
inline constexpr std::uint8_t kUp = 1;
inline constexpr std::uint8_t kDown = 2;
inline constexpr std::uint8_t kRests = 4;
inline constexpr std::uint8_t kAnything = kUp | kDown | kRests;

struct Bounds {
    double low = 0.0;
    double high = 0.0;

    void add(double factor, const Bounds& other) noexcept {
        low += factor * (factor > 0.0 ? other.low : other.high);
        high += factor * (factor > 0.0 ? other.high : other.low);
    }
    void cover(const Bounds& other) noexcept {
        low = std::min(low, other.low);
        high = std::max(high, other.high);
    }
    Bounds within(const Bounds& other) const noexcept { return {std::max(low, other.low), std::min(high, other.high)}; }
    double size() const noexcept { return std::max(std::abs(low), std::abs(high)); }
};

class SignBounds {
  public:
    /// Of the places `open` of `form`, from below upwards; nothing else feels them. `form` and `open` have to outlive
    /// this.
    SignBounds(const LocalForm& form, const std::vector<int>& open);

    /// Takes from `options`, one of each open place, what no direction has that has one of each. False if there is
    /// none.
    bool follow(std::vector<std::uint8_t>& options);
    /// x, and B, with the options that were followed last.
    const Bounds& rate(std::size_t k) const noexcept { return rates_[k]; }
    const Bounds& above(std::size_t k) const noexcept { return above_[k]; }

  private:
    void find_mates();
    void find_readers();
    void find_alone(const std::vector<std::uint8_t>& options);
    Bounds pull_of(std::size_t k, std::uint8_t option) const;
    void pull(const std::vector<std::uint8_t>& options);
    Bounds rest_of(std::size_t k, double& size) const;
    bool move(std::size_t k, std::uint8_t& options);

    const LocalForm& form_;
    const std::vector<int>& open_;
    std::vector<std::vector<std::size_t>> mates_;    // in what depends on each other with a place
    std::vector<std::vector<std::size_t>> readers_;  // also through others
    std::vector<char> alone_;                        // the multiplier of what rests is unique
    std::vector<Bounds> above_, skip_, pulls_, limits_, rates_;
    Matrix gram_;
    Vector at_rest_, size_;
};

}  // namespace reluflow::layered
