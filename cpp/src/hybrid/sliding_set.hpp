/// The boundaries one neuron is held on: the projector onto their complement and the multipliers that keep it there.
#pragma once

#include <span>
#include <vector>

#include "base/types.hpp"

namespace reluflow {

/// Boundaries H with unit normals e_h. Independent ones are factored as E_Hᵀ = Qᵀ R with orthonormal rows of Q
/// (docs/design/mathematics.md, section 3); those that depend on them are at zero for as long as these are, and are
/// listed beside them.
class SlidingSet {
  public:
    /// Keeps memory for `room` boundaries (for all there can be when negative); more take one allocation when they
    /// come.
    explicit SlidingSet(Index rank = 0, Index room = -1);

    bool empty() const noexcept { return boundaries_.empty(); }
    int size() const noexcept { return static_cast<int>(boundaries_.size()); }
    /// The independent ones.
    std::span<const int> boundaries() const noexcept { return boundaries_; }
    /// Those in their span.
    std::span<const int> dependent() const noexcept { return dependent_; }
    /// True when the neuron can only move along one line.
    bool is_line() const noexcept { return rank_ > 1 && size() == rank_ - 1; }

    /// Marks a neuron whose output weight is zero with nothing to drive it: what it does is decided when that changes.
    void wait() noexcept { waits_ = true; }
    bool waits() const noexcept { return waits_; }

    /// Sets the boundaries anew; the first of dependent ones are the independent ones. `normals` is that of the call
    /// before: the first boundaries, as far as they are those held, stay factored.
    void assign(std::span<const int> boundaries, const Matrix& normals);

    /// coordinates = Q v.
    void coordinates(const double* v, double* coordinates) const noexcept;

    /// v -= Qᵀ Q v, to rounding of v.
    void project(double* v) const noexcept;
    /// The same to rounding of what is left of v, however little that is.
    void project_fully(double* v) const noexcept;
    /// As project(), of `count` vectors one after the other in memory; unless null, coordinates = Q v of what was taken
    /// from each.
    void project(double* v, int count, double* coordinates = nullptr) const noexcept;
    /// Makes coordinates c to β with Σ_h β_h e_h = -Qᵀ c.
    void multipliers(double* values) const noexcept;
    /// How much a multiplier changes at most with a pull of length one: 1 / the sine of the angle between its boundary
    /// and what the others span. `work` has room for as many numbers as there are independent boundaries.
    double condition(int h, double* work) const noexcept;
    /// The least such sine, zero where boundaries are dependent.
    double least_sine(double* work) const noexcept;
    /// Of what a unit vector keeps outside the span of the boundaries.
    double length_outside(const double* v) const noexcept;
    /// The unit vector of the line; precondition: is_line().
    Vector line() const;

  private:
    bool add(int boundary, const double* normal);
    const double* row(int i) const noexcept { return q_.data() + i * rank_; }

    Index rank_;
    bool waits_ = false;
    std::vector<int> boundaries_, dependent_;
    Numbers q_;  // size × rank, orthonormal rows
    Numbers r_;  // packed columns of the upper triangle: column h starts at h(h+1)/2
};

}  // namespace reluflow
