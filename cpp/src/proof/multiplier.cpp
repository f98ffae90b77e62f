#include "proof/multiplier.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "proof/rounding.hpp"

namespace reluflow::proof {
namespace {

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

}  // namespace

template <class Real>
ScalarSeries<Real> inside_bound(const Samples& samples, const PieceMaker<Real>& maker, const Piece<Real>& piece,
                                Index position, double direction, double& error, double side) {
    // A boundary on which a neuron slides attracts: more slope pulls it down, where a is positive, and up otherwise.
    const double factor = side * direction * (piece.a[0] > 0.0 ? -1.0 : 1.0);
    const auto& members = samples.boundaries.of(piece.held.rows()[at(position)]);
    const auto order = piece.multipliers.size() / at(piece.held.size());
    std::vector<Real> series(order, Real(0.0));
    error = piece.multiplier_error;
    for (const Member& member : members) {
        const double slope = member.side(direction) > 0.0 ? 1.0 : samples.leak;
        const Real ratio = samples.boundaries.template ratio<Real>(samples.X.data(), samples.d, member);
        double of_dual = 0.0;
        const std::vector<Real> dual = maker.dual_about(member.sample, piece.start, of_dual);
        for (std::size_t k = 0; k < order; ++k) series[k] += slope * ratio * dual[k];
        // Ratios and sums are rounded.
        const double sizes = maker.largest_dual(member.sample) * gamma<Real>(static_cast<double>(members.size() + 8));
        error += std::abs(member.ratio) * (of_dual + sizes);
    }
    for (std::size_t k = 0; k < order; ++k)
        series[k] = factor * (series[k] - piece.multipliers[k * at(piece.held.size()) + at(position)]);
    error *= kUp;
    return ScalarSeries<Real>(std::move(series));
}

template ScalarSeries<double> inside_bound(const Samples&, const PieceMaker<double>&, const Piece<double>&, Index,
                                           double, double&, double);
template ScalarSeries<DoubleDouble> inside_bound(const Samples&, const PieceMaker<DoubleDouble>&,
                                                 const Piece<DoubleDouble>&, Index, double, double&, double);

}  // namespace reluflow::proof
