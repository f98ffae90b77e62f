// The boundaries that a neuron may meet in a step, each with the angle by which it has to turn before.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"
#include "numeric/products.hpp"
#include "two_layer/screening.hpp"

namespace reluflow {

namespace {

/// Boundaries are kept up to this many times the angle by which the neuron would turn at its initial rate, because
/// events may speed it up.
constexpr double kKeptTurn = 2.0;
/// Up to this many boundaries, each is tested with its tangent before the neuron's series is copied.
constexpr std::size_t kFewBoundaries = 64;
constexpr float kNone = std::numeric_limits<float>::infinity();
/// Angles that are compared together.
constexpr int kKeysAtOnce = 8;
using Keys = Eigen::Map<const Eigen::Array<float, kKeysAtOnce, 1>>;
using ConstMap = Eigen::Map<const Vector>;

}  // namespace

/// Calls body(begin, end, least |sine|) for blocks of the boundaries: most are far away as a whole.
template <class Body>
void Screening::in_blocks(const float* sines, const Body& body) const {
    const int count = static_cast<int>(data_.n_boundaries());
    int boundary = 0;
    for (; boundary + kKeysAtOnce <= count; boundary += kKeysAtOnce)
        body(boundary, boundary + kKeysAtOnce, Keys(sines + boundary).abs().minCoeff());
    if (boundary < count) body(boundary, count, 0.0F);
}

/// Lists the boundaries that may be within the path of the neuron, and bounds the distance to the nearest of the
/// others, or of all where many are listed: true. Which are listed is not foretold by a branch.
bool Screening::list_near(const Look& look) {
    const double size = expansion_.series().size(look.neuron);
    const double reach = paths_[look.neuron] + finder_.zero_tol(size);
    const float within = rough(size > 0.0 ? reach / size : 1.0);
    const auto sides = mode_.pattern().row(look.neuron);
    const bool holds = mode_.pattern().zeros(look.neuron) > 0;
    float nearest = kNone;
    float beyond = kNone;
    std::size_t count = 0;
    near_.resize(data_.n_boundaries());
    in_blocks(look.sines, [&](int boundary, int end, float least) {
        if (least > within) {
            beyond = std::min(beyond, least);
            return;
        }
        for (; boundary < end; ++boundary) {
            const float sine = std::abs(look.sines[boundary]);
            if (holds && sine <= within && sides[boundary] == 0) continue;
            nearest = std::min(nearest, sine);
            beyond = std::min(beyond, sine > within ? sine : kNone);
            near_[count] = boundary;
            count += sine > within ? 0 : 1;
        }
    });
    near_.resize(count);
    const bool many = count > kFewBoundaries;
    if (many) beyond = std::min(beyond, nearest);
    slack(look.neuron) = std::max(0.0, (static_cast<double>(beyond) - rough_.error()) * size);
    return many;
}

/// Of the boundaries in near_ those that tangent and bend, and bounds of the group, do not exclude become candidates;
/// returns how many. The distance to the nearest of all is known then.
std::size_t Screening::list_reachable(const Look& look) {
    const auto normal = [&](std::size_t k) { return data_.normals().row(near_[k]).data(); };
    multiply_rows(near_.size(), normal, look.w, data_.rank(), distances_.data());
    const double size = expansion_.series().size(look.neuron);
    const double reach = paths_[look.neuron] + finder_.zero_tol(size);
    double nearest = slack(look.neuron);
    std::size_t count = 0;
    for (std::size_t k = 0; k < near_.size(); ++k) {
        const double distance = std::abs(distances_[k]);
        nearest = std::min(nearest, distance);
        candidates_[count] = {near_[k], distances_[k], 0.0};
        count += distance > reach ? 0 : 1;
    }
    slack(look.neuron) = nearest;
    find_slopes(look.rate, {candidates_.data(), count});
    const double tail = finder_.zero_tol(size) + expansion_.series().bend(look.neuron);
    const auto end = std::remove_if(
        candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count),
        [&](const NearBoundary& one) { return !can_reach(look.neuron, one.boundary, one.z, one.slope, tail); });
    return static_cast<std::size_t>(end - candidates_.begin());
}

void Screening::know_beside(const Look& look) {
    const double size = expansion_.series().size(look.neuron);
    const double moved = motion_.state_error() * std::hypot(size, parameters_.a[look.neuron]);
    const float within = rough(size > 0.0 ? moved / size : 1.0);
    const ConstMap w(look.w, data_.rank());
    in_blocks(look.sines, [&](int boundary, int end, float least) {
        if (least > within) return;
        for (; boundary < end; ++boundary) {
            const std::int8_t side = mode_.side(look.neuron, boundary);
            if (side == 0 || std::abs(look.sines[boundary]) > within) continue;
            if (std::abs(ConstMap(data_.normals().row(boundary).data(), data_.rank()).dot(w)) > moved) continue;
            known_beside_ = std::min(known_beside_, finder_.known_beside(open(look.neuron), boundary, side));
        }
    });
}

/// Keeps the boundaries that the neuron may meet, with a margin for events that turn it further than its series. Which
/// they are is not foretold by a branch.
void Screening::keep_near(const Look& look) {
    const int piece = open(look.neuron);
    const double size = motion_.size(piece);
    const double rate = size > 0.0 ? motion_.across(piece)[1] / size : std::numeric_limits<double>::infinity();
    const double reach = kKeptTurn * rate + kTurnTol;
    const float within = rough(reach);
    shelves_.make_list(local(look.neuron), reach, reach, [&](int* boundaries, double* turns) {
        std::size_t count = 0;
        in_blocks(look.sines, [&](int boundary, int end, float least) {
            if (least > within) return;
            for (; boundary < end; ++boundary) {
                const float sine = std::abs(look.sines[boundary]);
                boundaries[count] = boundary;
                turns[count] = std::max(0.0, static_cast<double>(sine) - rough_.error());
                count += sine > within ? 0 : 1;
            }
        });
        return count;
    });
}

/// False for a boundary that bounds of the group's gradient keep the neuron away from in the whole step, on its own
/// sides: a keeps its sign, and z' = H a g·normal.
bool Screening::may_come(int neuron, int boundary, double z) {
    if (!bounds_.are_known() || parameters_.invariant(neuron) < 0.0) return true;
    const int group = expansion_.groups().of(neuron);
    const double side = mode_.side(neuron, boundary);
    const double output = parameters_.a[neuron];
    const double size = std::hypot(expansion_.series().size(neuron), output);
    const auto [lowest, highest] = pull_on(group, boundary);
    const double slowest = side * output > 0.0 ? lowest : -highest;
    double fall = 0.0;
    if (slowest < 0.0) fall = motion_.step() * size * std::exp(motion_.step() * bounds_.fastest(group)) * slowest;
    return side * z + fall <= finder_.zero_tol(size);
}

/// Bounds of g·normal over the step, found once for all neurons of the group here.
GroupBounds::Interval Screening::pull_on(Index group, int boundary) {
    const std::size_t size = static_cast<std::size_t>(expansion_.groups().count() * data_.n_boundaries());
    if (pulls_.size() < size) {
        pulls_.resize(size);
        pull_known_.resize(size, 0);
    }
    const std::size_t at = static_cast<std::size_t>(group * data_.n_boundaries() + boundary);
    if (pull_known_[at] != step_) {
        pull_known_[at] = step_;
        pulls_[at] = bounds_.of(group, boundary);
    }
    return pulls_[at];
}

/// Of a boundary in the span of others |z| is theirs times what it takes of them, up to 1 / kRankTol.
std::span<const int> Screening::beside(int neuron, double u) {
    constexpr double kOfOthers = kZeroUlps * std::numeric_limits<double>::epsilon() / kRankTol;
    const double turn = motion_.turn_to(motion_.last(neuron), u) + kTurnTol + kOfOthers;
    if (turn > shelves_.reach(local(neuron))) widen(neuron, turn);
    near_.clear();
    const int last = shelves_.shelf_of(local(neuron), turn);
    for (int shelf = 0; shelf <= last; ++shelf) {
        const std::size_t taken = shelves_.take(local(neuron), shelf, turn, within_.data());
        for (std::size_t k = 0; k < taken; ++k) {
            near_.push_back(shelves_.boundary(within_[k]));
            shelves_.put(local(neuron), within_[k]);
        }
    }
    return near_;
}

/// Events have turned the neuron further than the kept boundaries allow for: from now on all its boundaries are
/// candidates.
void Screening::widen(int neuron, double turn) {
    const int piece = motion_.first(neuron);
    const ConstMap w(motion_.w(piece), data_.rank());
    const double size = motion_.size(piece);
    constexpr double kAll = std::numeric_limits<double>::infinity();
    shelves_.make_list(local(neuron), kAll, kKeptTurn * turn, [&](int* boundaries, double* turns) {
        for (int boundary = 0; boundary < data_.n_boundaries(); ++boundary) {
            const double z = ConstMap(data_.normals().row(boundary).data(), data_.rank()).dot(w);
            boundaries[boundary] = boundary;
            turns[boundary] = size > 0.0 ? std::abs(z) / size : 0.0;
        }
        return static_cast<std::size_t>(data_.n_boundaries());
    });
}

}  // namespace reluflow
