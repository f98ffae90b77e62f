/// The balance of the part of a neuron that moves, beside coordinates that rest.
///
/// A neuron that no sample moves in some coordinates w_F keeps a² - |w_M|² of the others, w_M, as if it had no others.
/// Where w_M and a decay together along the saddle, a² - |w|² tells that difference to the rounding of |w_F|² alone:
/// from |a| = 1e-8 |w_F| on, a would come to zero and grow with its sign turned over. Where few boundaries act, w_M is
/// the part in their span, whatever its direction; otherwise coordinates are told apart.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace reluflow {

class MovingParts {
  public:
    /// Entries of one neuron: consecutive ones are `stride` apart.
    struct Column {
        double* data;
        Index stride;
        double& operator[](Index k) const noexcept { return data[k * stride]; }
    };
    struct ConstColumn {
        const double* data;
        Index stride;
        double operator[](Index k) const noexcept { return data[k * stride]; }
    };

    /// More acting boundaries than this are not asked for their span, which takes time.
    static constexpr int kMostInSpan = 8;

    MovingParts(Index rank, Index neurons);

    /// Puts a neuron that has come from w to (end, output) back on the difference of what moves, by the smaller of
    /// |w_M| and |a|. False if it rests in no coordinate: nothing is changed.
    bool restore(Index neuron, ConstColumn w, Column end, double& output) const noexcept;
    /// Coordinates rest from (w, a) on, which no sample that acts on the neuron has: those with acts[k] = 0.
    void begin(Index neuron, ConstColumn w, double a, double whole, const std::vector<std::uint8_t>& acts) noexcept;
    /// The same of a neuron that moves in the span of these orthonormal vectors alone, `rank` numbers each.
    void begin_in_span(Index neuron, ConstColumn w, double a, std::span<const double> basis);
    /// The neuron has come there from w; what moves all the same, as by rounding, counts with the others.
    void move(Index neuron, ConstColumn w, ConstColumn end) noexcept;
    /// Other samples act on the neuron from now on: until begin() it is taken as a whole.
    void forget(Index neuron) noexcept { known_[neuron] = Known::nothing; }
    bool is_known(Index neuron) const noexcept { return known_[neuron] != Known::nothing; }
    /// True while a² ≥ |w_M|²: a comes to zero with w_M alone, which is never, and keeps its sign.
    bool keeps_output_sign(Index neuron) const noexcept {
        return (known_[neuron] == Known::part || known_[neuron] == Known::span) && difference_[neuron] >= 0.0;
    }
    /// The neuron has been multiplied by a factor.
    void scale(Index neuron, double factor) noexcept { difference_[neuron] *= factor * factor; }

  private:
    enum class Known : std::uint8_t { nothing, part, span, whole };
    /// What of a neuron moves from w to `end`, and its a² - |w_M|².
    struct Part {
        bool is_whole = true;
        double difference = 0.0;
        double size = 0.0;  // |w_M| at the end
    };
    /// What a vector has along each vector of the basis.
    using Shares = std::array<double, kMostInSpan>;
    Index shares_of(Index neuron, ConstColumn v, Shares& shares) const noexcept;
    double along(Index neuron, Index count, const Shares& shares, Index k) const noexcept;
    bool stays_in_span(Index neuron, ConstColumn w, ConstColumn end) const noexcept;
    bool restore_in_span(Index neuron, ConstColumn w, Column end, double& output) const noexcept;
    bool rests(Index neuron, Index k, ConstColumn w, ConstColumn end) const noexcept;
    Part part_of(Index neuron, ConstColumn w, ConstColumn end) const noexcept;

    Index rank_;
    std::vector<Known> known_;
    std::vector<std::uint8_t> resting_;  // rank entries a neuron
    std::vector<Numbers> basis_;         // of the spans
    Vector difference_;
};

}  // namespace reluflow
