/// Minimises |b + Σ_w c_w e_w| with every c_w in an interval: a bounded least-squares problem of a few unit vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace reluflow {

/// Stark and Parker's active-set method (BVLS). The vectors may depend on each other: those whose coefficient is
/// strictly inside its interval stay independent, so the residual is unique and found without a singular system.
/// Coefficients are compared in units of what they multiply, so intervals of 1e100 beside numbers of order one do no
/// harm. Keeps its memory from call to call.
class BoxLeastSquares {
  public:
    enum class Place : std::uint8_t { low, high, inside };

    /// Reserves memory for so many vectors.
    void reserve(int count, int rank);
    /// Sets the size of the problem: `count` unit vectors of `rank` coordinates. Everything else has to be set again.
    void resize(int count, int rank);
    double* vector(int w) noexcept { return vectors_.data() + w * rank_; }
    const double* vector(int w) const noexcept { return vectors_.data() + w * rank_; }
    double* offset() noexcept { return offset_.data(); }
    /// The interval of c_w; equal ends fix it, infinite ones free it.
    void set_interval(int w, double low, double high) noexcept {
        low_[w] = low;
        high_[w] = high;
    }
    /// Where the search starts.
    void set_place(int w, Place place) noexcept { place_[w] = place; }

    /// Finds the optimum. `weight` is the size of the terms of b, the scale of tolerance(). False if the search did not
    /// end because of rounding.
    bool solve(double weight);

    int count() const noexcept { return count_; }
    int rank() const noexcept { return rank_; }
    double coefficient(int w) const noexcept { return c_[w]; }
    Place place(int w) const noexcept { return place_[w]; }
    /// v = b + Σ c_w e_w, and v·e_w.
    const double* residual() const noexcept { return residual_.data(); }
    double rate(int w) const noexcept;
    /// Rates below this are zero: the rounding of the sums they are computed from.
    double tolerance() const noexcept { return tolerance_; }
    /// The signs of all rates, 0 for what is along those vectors: inside(), and others whose rate is within
    /// tolerance(). Where vectors are at small angles, not all of these may be along v: a rate is known to as much of
    /// the tolerance as the vector has outside the span of those before.
    void signs(std::int8_t* signs);
    /// The vectors with a coefficient inside its interval, independent.
    const std::vector<int>& inside() const noexcept { return inside_; }
    /// Coefficients over inside() of the part of e_w in their span; returns the length of the part outside.
    double split(int w, double* coefficients) const;

  private:
    void keep_independent();
    bool add_inside(int w);
    void refit();
    void clip();
    int worst() const noexcept;
    int worst_beside();
    double length() const noexcept;
    double last_outside() const noexcept;
    bool admit(int w);

    int count_ = 0;
    int rank_ = 0;
    double weight_ = 0.0;
    double tolerance_ = 0.0;
    Numbers vectors_, offset_, low_, high_, c_, target_, residual_, left_;
    std::vector<Place> place_;
    std::vector<char> barred_;  // freed before without success
    std::vector<int> others_;   // those inside before one more is freed
    std::vector<int> inside_;
    Numbers q_, r_;  // the vectors inside, factored: orthonormal rows and packed triangular columns
    mutable Numbers column_;
};

}  // namespace reluflow
