/// The balance of the part of a neuron that moves, beside coordinates that rest.
///
/// A neuron that no sample moves in some coordinates w_F keeps a² - |w_M|² of the others, w_M, as if it had no others.
/// Where w_M and a decay together along the saddle, a² - |w|² tells that difference to the rounding of |w_F|² alone:
/// from |a| = 1e-8 |w_F| on, a would come to zero and grow with its sign turned over.
#pragma once

#include <cstdint>
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

    MovingParts(Index rank, Index neurons);

    /// Puts a neuron that has come from w to (end, output) back on the difference of what moves, by the smaller of
    /// |w_M| and |a|. False if it rests in no coordinate: nothing is changed.
    bool restore(Index neuron, ConstColumn w, Column end, double& output) const noexcept;
    /// Coordinates rest from (w, a) on, which no sample that acts on the neuron has: those with acts[k] = 0.
    void begin(Index neuron, ConstColumn w, double a, double whole, const std::vector<std::uint8_t>& acts) noexcept;
    /// The neuron has come there from w; what moves all the same, as by rounding, counts with the others.
    void move(Index neuron, ConstColumn w, ConstColumn end) noexcept;
    /// Other samples act on the neuron from now on: until begin() it is taken as a whole.
    void forget(Index neuron) noexcept { known_[neuron] = Known::nothing; }
    bool is_known(Index neuron) const noexcept { return known_[neuron] != Known::nothing; }
    /// The neuron has been multiplied by a factor.
    void scale(Index neuron, double factor) noexcept { difference_[neuron] *= factor * factor; }

  private:
    enum class Known : std::uint8_t { nothing, part, whole };
    /// What of a neuron moves from w to `end`, and its a² - |w_M|².
    struct Part {
        bool is_whole = true;
        double difference = 0.0;
        double size = 0.0;  // |w_M| at the end
    };
    bool rests(Index neuron, Index k, ConstColumn w, ConstColumn end) const noexcept;
    Part part_of(Index neuron, ConstColumn w, ConstColumn end) const noexcept;

    Index rank_;
    std::vector<Known> known_;
    std::vector<std::uint8_t> resting_;  // rank entries a neuron
    Vector difference_;
};

}  // namespace reluflow
