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
using Keys = Eigen::Map<const Eigen::Array<double, Screening::kKeysAtOnce, 1>>;
using ConstMap = Eigen::Map<const Vector>;

}  // namespace

/// Calls body(begin, end, least |z|) for blocks of the boundaries: most are far away as a whole.
template <class Body>
void Screening::in_blocks(const double* z, const Body& body) const {
    const int count = static_cast<int>(data_.n_boundaries());
    constexpr int kBlockSize = kKeysAtOnce;
    int boundary = 0;
    for (; boundary + kBlockSize <= count; boundary += kBlockSize)
        body(boundary, boundary + kBlockSize, Keys(z + boundary).abs().minCoeff());
    if (boundary < count) body(boundary, count, 0.0);
}

/// Lists the boundaries within the path of the neuron and finds the distance to the nearest of all. Which are listed is
/// not foretold by a branch.
void Screening::list_near(int neuron, const double* z) {
    const double reach = paths_[neuron] + finder_.zero_tol(expansion_.series().size(neuron));
    const auto sides = mode_.pattern().row(neuron);
    const bool holds = mode_.pattern().zeros(neuron) > 0;
    double nearest = std::numeric_limits<double>::infinity();
    std::size_t count = 0;
    near_.resize(data_.n_boundaries());
    in_blocks(z, [&](int boundary, int end, double least) {
        if (least > reach) {
            nearest = std::min(nearest, least);
            return;
        }
        for (; boundary < end; ++boundary) {
            const double distance = std::abs(z[boundary]);
            if (holds && distance <= reach && sides[boundary] == 0) continue;
            nearest = std::min(nearest, distance);
            near_[count] = boundary;
            count += distance <= reach ? 1 : 0;
        }
    });
    near_.resize(count);
    slack(neuron) = nearest;
}

void Screening::know_beside(int neuron, const double* z) {
    const double moved = motion_.state_error() * std::hypot(expansion_.series().size(neuron), parameters_.a[neuron]);
    in_blocks(z, [&](int boundary, int end, double least) {
        if (least > moved) return;
        for (; boundary < end; ++boundary) {
            const std::int8_t side = mode_.side(neuron, boundary);
            if (side == 0 || std::abs(z[boundary]) > moved) continue;
            known_beside_ = std::min(known_beside_, finder_.known_beside(open(neuron), boundary, side));
        }
    });
}

/// Keeps the boundaries that the neuron may meet, with a margin for events that turn it further than its series. Which
/// they are is not foretold by a branch.
void Screening::keep_near(int neuron, const double* z) {
    const int piece = open(neuron);
    const double size = motion_.size(piece);
    const double rate = size > 0.0 ? motion_.across(piece)[1] / size : std::numeric_limits<double>::infinity();
    const double reach = kKeptTurn * rate + kTurnTol;
    const double scale = size > 0.0 ? 1.0 / size : 0.0;
    shelves_.make_list(local(neuron), reach, reach, [&](int* boundaries, double* turns) {
        std::size_t count = 0;
        in_blocks(z, [&](int boundary, int end, double least) {
            if (scale * least > reach) return;
            for (; boundary < end; ++boundary) {
                const double turn = scale * std::abs(z[boundary]);
                boundaries[count] = boundary;
                turns[count] = turn;
                count += turn <= reach ? 1 : 0;
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
