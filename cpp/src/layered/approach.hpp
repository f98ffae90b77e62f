/// Where a place meets its boundary, and whether its series knows that.
#pragma once

#include "layered/jet.hpp"

namespace reluflow::layered {

/// The first descent to a boundary. Not known: only until u does the series tell how far the place still is.
struct Descent {
    double u = 0.0;
    bool is_known = true;
};

/// Of a distance c on the place's side of its boundary, in [0, end]; `rounding` of it where it is that of z. A distance
/// that only tends to zero, as errors do where samples are fitted, falls like an exponential below all tolerances: its
/// series has a root where it no longer holds. `degree`: of the polynomials of θ where the step was not solved by
/// Taylor series, else 0. Such a step is as exact as the largest of θ asks, and a root of what is far smaller may be
/// one of its error, `error` for c: what starts within ten of it crosses where it is seen to be beyond by as much, and
/// is not known otherwise. c is changed.
Descent descend(Row& c, int order, double end, double rounding, int degree = 0, double error = 0.0) noexcept;

/// Descents to boundaries in one step.
class Approach {
  public:
    explicit Approach(const Jet& jet) : jet_(jet) {}

    /// Of a place at the distance c.
    Descent of(const Place& p, const Row& c, double end);
    /// Of an entry that is a boundary.
    Descent of(const Boundary& entry, const Row& c, double end);

  private:
    template <class RateTerms>
    Descent find(const Row& c, double end, double rounding, double error, double reach, const RateTerms& rate_terms);
    const Vector& velocity_terms();

    const Jet& jet_;
    Vector velocity_terms_;  // empty until they are asked for
};

/// The rounding of z of a place.
double rounding_of(const Jet& jet, const Place& p);

/// True if a place is so near to its boundary at u, where another is met, that both are met at one instant.
bool is_met_at(const Jet& jet, const Place& p, double u);

/// What a step that was not solved by Taylor series misses of z of a place; 0 for others.
double error_of(const Jet& jet, const Place& p);

/// The rounding of an entry that is a boundary.
double rounding_of(const Jet& jet, const Boundary& entry);
/// The same of what is left of an entry beside the largest one.
double rounding_of_theta(const Jet& jet);

}  // namespace reluflow::layered
