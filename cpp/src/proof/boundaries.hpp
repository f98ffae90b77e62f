/// Which samples have one boundary: rows that are exact multiples of each other, as rational numbers.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "proof/double_double.hpp"

namespace reluflow::proof {

/// x_sample = ratio x_first, the ratio rounded to a double.
struct Member {
    Index sample;
    double ratio;

    /// Where the sample is when the first one is at `direction`.
    double side(double direction) const { return ratio > 0.0 ? direction : -direction; }
};

struct Boundaries {
    Boundaries(const double* X, Index n, Index d);

    std::vector<Index> first;                  // (n): the first sample of its boundary
    std::vector<std::vector<Member>> members;  // (n): of a first sample, itself included; of the others none

    const std::vector<Member>& of(Index sample) const {
        return members[static_cast<std::size_t>(first[static_cast<std::size_t>(sample)])];
    }
    bool same(Index i, Index k) const {
        return first[static_cast<std::size_t>(i)] == first[static_cast<std::size_t>(k)];
    }
    /// 1 or -1: the side on which a sample is when the first one is above.
    double side(Index sample) const;
    /// x_sample over the first row of its boundary, to as many digits as the type has; the rows are those of `X`.
    template <class Real>
    Real ratio(const double* X, Index d, const Member& member) const;
    /// Σ |ratio|.
    double spread(Index sample) const;
};

template <>
double Boundaries::ratio(const double* X, Index d, const Member& member) const;
template <>
DoubleDouble Boundaries::ratio(const double* X, Index d, const Member& member) const;

/// Whether x and v are multiples of each other and not zero, decided without rounding; `ratio` is then v over x.
bool parallel(const double* x, const double* v, Index d, double& ratio);

/// Whether x · v = 0, decided without rounding; false where that cannot be told.
bool exactly_orthogonal(const double* x, const double* v, Index d);

}  // namespace reluflow::proof
