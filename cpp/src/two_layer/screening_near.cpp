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

/// Lists the boundaries within the path of the neuron and finds the distance to the nearest of all.
void Screening::list_near(int neuron, const double* z) {
    const double reach = paths_[neuron] + finder_.zero_tol(expansion_.series().size(neuron));
    const auto sides = mode_.pattern().row(neuron);
    double nearest = std::numeric_limits<double>::infinity();
    near_.clear();
    in_blocks(z, [&](int boundary, int end, double least) {
        if (least > reach) {
            nearest = std::min(nearest, least);
            return;
        }
        for (; boundary < end; ++boundary) {
            const double distance = std::abs(z[boundary]);
            if (distance <= reach && sides[boundary] == 0) continue;
            nearest = std::min(nearest, distance);
            if (distance <= reach) near_.push_back(boundary);
        }
    });
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

/// Keeps the boundaries that the neuron may meet, with a margin for events that turn it further than its series.
void Screening::keep_near(int neuron, const double* z) {
    const int piece = open(neuron);
    const double size = motion_.size(piece);
    Near& near = near_of(neuron);
    const double rate = size > 0.0 ? motion_.across(piece)[1] / size : std::numeric_limits<double>::infinity();
    make_room();
    near = {kept_, 0, kKeptTurn * rate + kTurnTol};
    const double scale = size > 0.0 ? 1.0 / size : 0.0;
    std::size_t count = near.begin;
    in_blocks(z, [&](int boundary, int end, double least) {
        if (scale * least > near.reach) return;
        for (; boundary < end; ++boundary) {
            const double turn = scale * std::abs(z[boundary]);
            near_boundaries_[count] = boundary;
            not_before_[count] = turn;
            count += turn <= near.reach ? 1 : 0;
        }
    });
    near.end = count;
    close_list(near.begin, near.end);
}

/// For the boundaries of one more neuron. The lists are not shortened: what is in them is written before it is read.
void Screening::make_room() {
    const std::size_t size = kept_ + static_cast<std::size_t>(data_.n_boundaries()) + kKeysAtOnce;
    if (size <= not_before_.size()) return;
    near_boundaries_.resize(size);
    not_before_.resize(size);
    least_.resize(size / kKeysAtOnce);
}

/// Ends the list of a neuron, which begins at `begin`, before `end`; the next one begins with a block.
void Screening::close_list(std::size_t begin, std::size_t end) {
    kept_ = (end + kKeysAtOnce - 1) / kKeysAtOnce * kKeysAtOnce;
    std::fill(not_before_.data() + end, not_before_.data() + kept_, std::numeric_limits<double>::infinity());
    std::fill(least_.data() + begin / kKeysAtOnce, least_.data() + kept_ / kKeysAtOnce, 0.0);
}

std::span<const int> Screening::candidates(int neuron, double u) {
    near_.clear();
    for (const auto& candidate : find_candidates(neuron, u)) near_.push_back(candidate.boundary);
    return near_;
}

/// Of a boundary in the span of others |z| is theirs times what it takes of them, up to 1 / kRankTol.
std::span<const int> Screening::beside(int neuron, double u) {
    constexpr double kOfOthers = kZeroUlps * std::numeric_limits<double>::epsilon() / kRankTol;
    const double turn = motion_.turn_to(motion_.last(neuron), u) + kTurnTol + kOfOthers;
    if (turn > near_of(neuron).reach) widen(neuron);
    const std::size_t found = within(near_of(neuron), turn);
    near_.clear();
    for (std::size_t k = 0; k < found; ++k) near_.push_back(near_boundaries_[within_[k]]);
    return near_;
}

/// Collects the boundaries with keys within `turn`. Keys only grow, so that the least one of a block is good for a
/// while. Branch-free: the outcome is unpredictable, so writing each candidate costs less than a mispredicted branch.
std::size_t Screening::within(const Near& near, double turn) {
    std::size_t count = 0;
    for (std::size_t begin = near.begin; begin < near.end; begin += kKeysAtOnce) {
        double& least = least_[begin / kKeysAtOnce];
        if (least > turn) continue;
        least = Keys(not_before_.data() + begin).minCoeff();
        if (least > turn) continue;
        const std::size_t end = std::min(begin + kKeysAtOnce, near.end);
        for (std::size_t i = begin; i < end; ++i) {
            within_[count] = static_cast<int>(i);
            count += not_before_[i] <= turn ? 1 : 0;
        }
    }
    return count;
}

std::span<const NearBoundary> Screening::find_candidates(int neuron, double u) {
    const int piece = motion_.last(neuron);
    const double turn = motion_.turn_to(piece, u) + kTurnTol;
    if (turn > near_of(neuron).reach) widen(neuron);
    const double scale = motion_.size(piece) > 0.0 ? 1.0 / motion_.size(piece) : 0.0;
    const double turned = motion_.piece(piece).turn_before;
    const auto sides = mode_.pattern().row(neuron);
    const std::size_t found = within(near_of(neuron), turn);
    std::size_t count = 0;
    const auto normal = [&](std::size_t k) { return data_.normals().row(near_boundaries_[within_[k]]).data(); };
    multiply_rows(found, normal, motion_.w(piece), data_.rank(), distances_.data());
    for (std::size_t k = 0; k < found; ++k) {
        const int boundary = near_boundaries_[within_[k]];
        const double z = distances_[k];
        // Measured from the present state, the boundary may be farther away than the sum of all turns suggests.
        double& not_before = not_before_[within_[k]];
        not_before = std::max(not_before, scale > 0.0 ? turned + scale * std::abs(z) : 0.0);
        candidates_[count] = {boundary, z};
        count += not_before <= turn && sides[boundary] != 0 ? 1 : 0;
    }
    return {candidates_.data(), count};
}

/// Events have turned the neuron further than the kept boundaries allow for: from now on all its boundaries are
/// candidates.
void Screening::widen(int neuron) {
    Near& near = near_of(neuron);
    const int piece = motion_.first(neuron);
    const ConstMap w(motion_.w(piece), data_.rank());
    const double size = motion_.size(piece);
    make_room();
    near = {kept_, kept_ + data_.n_boundaries(), std::numeric_limits<double>::infinity()};
    for (int boundary = 0; boundary < data_.n_boundaries(); ++boundary) {
        const double z = ConstMap(data_.normals().row(boundary).data(), data_.rank()).dot(w);
        near_boundaries_[near.begin + boundary] = boundary;
        not_before_[near.begin + boundary] = size > 0.0 ? std::abs(z) / size : 0.0;
    }
    close_list(near.begin, near.end);
}

}  // namespace reluflow
