// Where a neuron goes that leaves several boundaries at once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"
#include "two_layer/local_events.hpp"

namespace reluflow {

namespace {

/// At the instant at which a neuron leaves boundaries nothing moves across them yet. The decision uses contributions of
/// a little later, when they have changed by this part of themselves: too little for another event.
constexpr double kLittleLater = 1e-9;
/// Where that decides nothing, because it is within rounding, it looks later by this factor, up to kMostLater.
constexpr double kLater = 1e3;
constexpr double kMostLater = 1e-3;
/// Where an output weight passes zero it looks to where contributions have changed by so much of what is not known.
constexpr double kBeyondDoubt = 1e3;
constexpr double kEps = std::numeric_limits<double>::epsilon();

}  // namespace

/// Looks no farther ahead than to where the pull is seen to be beyond what the boundaries take up, and there at last.
bool LocalEvents::decide_leaving(int neuron, const Hit& hit, int& choice) {
    const bool is_beyond = hit.seen <= hit.u;  // the instant itself decides, if anything does
    const double change = time_to_change(hit.u);
    const double most = std::min(1.0 - hit.u, kMostLater * change);
    const double beyond = hit.jump == kUnknownJump ? most : 0.0;
    const double last = is_beyond ? beyond : hit.seen - hit.u;
    for (double way = is_beyond ? 0.0 : kLittleLater * change;; way = std::max(kLittleLater * change, kLater * way)) {
        const bool is_last = way >= std::min(last, most);
        look_ahead(hit.u, is_last ? last : way);
        const std::size_t known = branches_.size();
        if (!decide(neuron, hit.u, choice)) return false;
        const auto& sides = solver_.continuations()[choice].sides;
        const bool moves = std::any_of(sides.begin(), sides.end(), [](std::int8_t side) { return side != 0; });
        if (moves || is_last) return true;
        branches_.resize(known);
    }
}

/// At a = 0 a single neuron moves no margin, and on whole numbers the weights then balance on one side of a boundary:
/// its rate there is what they are off by. The second order tells what the neuron does, so the corner becomes that of a
/// little later.
void LocalEvents::look_beyond_turn(int neuron, double u) {
    const double change = time_to_change(u);
    if (change == 0.0) return;
    const double acting = motion_.acting_weight(mode_.pattern().row(neuron), u);
    const double unknown = kCornerUlps * kEps * acting + motion_.acting_error(acting);
    double largest = 0.0;
    for (int i = 0; i < corner_.size(); ++i)
        largest = std::max({largest, std::abs(corner_.below[i]), std::abs(corner_.above[i])});
    const double part = largest > 0.0 ? std::min(kMostLater, kBeyondDoubt * unknown / largest) : kMostLater;
    look_ahead(u, std::min(kMostLater, part * change));
}

/// The contributions as they are `way` after u. Precondition: load_gradient(u).
void LocalEvents::look_ahead(double u, double way) {
    const Index rank = data_.rank();
    gradient_.setZero();
    for (int k = motion_.order() - 1; k >= 0; --k)
        gradient_ = way * gradient_ + Eigen::Map<const Vector>(motion_.gradient() + k * rank, rank);
    corner_set_.coordinates(gradient_.data(), corner_.rest.data());
    for (int i = 0; i < corner_.size(); ++i)
        finder_.signs().contribution_at(boundaries_[i], u + way, corner_.below[i], corner_.above[i]);
}

/// The time in which what decides changes by as much as the largest of the contributions, at the rates at u. Weights
/// that cancel in one of them do not count, however large; zero if none changes.
double LocalEvents::time_to_change(double u) const {
    double rate = 0.0;
    double largest = 0.0;
    if (motion_.order() > 1) rate = Eigen::Map<const Vector>(motion_.gradient() + data_.rank(), data_.rank()).norm();
    Coefficients below{};
    Coefficients above{};
    for (int i = 0; i < corner_.size(); ++i) {
        motion_.contribution_series(boundaries_[i], u, below, above);
        rate = std::max({rate, std::abs(below[1]), std::abs(above[1])});
        largest = std::max({largest, std::abs(below[0]), std::abs(above[0])});
    }
    return rate > 0.0 ? largest / rate : 0.0;
}

}  // namespace reluflow
