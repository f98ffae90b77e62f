/// When a neuron leaves boundaries that depend on each other, by the lines in which they meet.
#include <algorithm>
#include <cmath>

#include "two_layer/dependent_slide.hpp"

namespace reluflow {

namespace {

/// Searches uphill at times that earlier ones have found; two are usual.
constexpr int kMostTimes = 20;
/// Boundaries from whose normals each sets out, both ways.
constexpr int kMostStarts = 16;

}  // namespace

/// How much the pulls, and what they have to take up, can change until `end`.
void DependentSlide::bound_changes(double end) {
    const auto count = static_cast<int>(set_.size());
    changes_.resize(count);
    for (int w = 0; w < count; ++w) {
        changes_[w] = 0.0;
        for (int k = order_; k >= 1; --k)
            changes_[w] = (changes_[w] + std::max(std::abs(below_(w, k)), std::abs(above_(w, k)))) * end;
    }
    rest_change_ = 0.0;
    for (int k = order_; k >= 1; --k) rest_change_ = (rest_change_ + rest_.row(k).norm()) * end;
}

/// The pull as it is at u, larger by `part` of what pulls may change.
void DependentSlide::pose_lines(double u, double part) {
    const auto count = static_cast<int>(set_.size());
    const auto rank = static_cast<int>(rest_.cols());
    lines_.resize(count, rank);
    posed_.normals = normals_;
    posed_.set = set_;
    posed_.attracts = attracts_;
    posed_.sign = sign_;
    posed_.rest.setZero(rank);
    for (int k = order_; k >= 0; --k) posed_.rest = u * posed_.rest + sign_ * rest_.row(k).transpose();
    posed_.below.resize(count);
    posed_.above.resize(count);
    lines_.set_rest(posed_.rest.data());
    for (int w = 0; w < count; ++w) {
        posed_.below[w] = sign_ * evaluate(below_.row(w).data(), order_, u) - part * changes_[w];
        posed_.above[w] = sign_ * evaluate(above_.row(w).data(), order_, u) + part * changes_[w];
        lines_.set_boundary(w, normals_.row(w).data(), !attracts(w));
        lines_.set_pulls(w, posed_.below[w], posed_.above[w]);
    }
}

/// True where lines of before say so, with the pulls that are posed: the largest along a unit vector has not grown by
/// as much as there was to zero.
bool DependentSlide::is_known_to_stay() const {
    for (const Proof& proof : proofs_) {
        if (proof.sign != posed_.sign || proof.set != posed_.set || proof.attracts != posed_.attracts) continue;
        if (proof.normals.cols() != posed_.normals.cols() || proof.normals != posed_.normals) continue;
        double growth = (posed_.rest - proof.rest).norm() + rest_change_ + lines_.rounding();
        for (Index w = 0; w < posed_.below.size(); ++w)
            growth += std::max({0.0, proof.below[w] - posed_.below[w], posed_.above[w] - proof.above[w]});
        if (growth < proof.spare) return true;
    }
    return false;
}

/// Looks at all lines, with the pulls that are posed. The pull along a direction is linear between the boundaries, so
/// it is nowhere positive unless it is on one of them (LineSearch). While it is not, whatever sides repelling
/// boundaries have, the attracting ones can take up the pull.
void DependentSlide::follow_lines(double end) {
    const double rounding = lines_.rounding();
    lines_.look_at_all(-rest_change_ - rounding, [&](const double* way) {
        follow_line(way, end);
        return false;
    });
    posed_.spare = -lines_.largest() - rounding;
    if (!(posed_.spare > rest_change_)) return;
    proofs_[next_proof_] = posed_;
    next_proof_ = (next_proof_ + 1) % kProofs;
}

/// Where lines are too many: what is found by going uphill from the normals of some boundaries at one end, from what
/// that has led to at the other, and again at the time that it says, until nothing pulls out before.
void DependentSlide::follow_uphill(double end) {
    const auto count = static_cast<int>(set_.size());
    ways_.clear();
    for (int w = 0; w < count; w += 1 + count / kMostStarts)
        for (const double side : {1.0, -1.0}) ways_.push_back(side * normals_.row(w).transpose());
    climb_at(end, end);
    climb_at(0.0, end);
    for (int time = 0; time < kMostTimes && first_.u > 0.0 && first_.u <= end; ++time) {
        const double before = first_.u;
        climb_at(before, end);
        if (!(first_.u < before)) return;
    }
}

/// Puts in place of the ways those that are uphill of them.
void DependentSlide::climb_at(double u, double end) {
    pose_lines(u, 0.0);
    std::vector<Vector> tops;
    for (const Vector& start : ways_) {
        lines_.climb_from(start.data(), -lines_.rounding(), [&](const double* way) {
            follow_line(way, end);
            return false;
        });
        const Vector& top = lines_.top();
        const auto is_known = [&](const Vector& other) { return (other - top).norm() <= kAlong; };
        if (top.size() > 0 && std::none_of(tops.begin(), tops.end(), is_known)) tops.push_back(top);
    }
    ways_ = std::move(tops);
}

/// When the pull along a direction becomes positive. Of the boundaries that are not along it the one that it is
/// steepest to stands for all: its multiplier would come to its end then.
void DependentSlide::follow_line(const double* way, double end) {
    const Eigen::Map<const Vector> direction(way, rest_.cols());
    const auto count = static_cast<int>(set_.size());
    across_ = normals_ * direction;
    across_ = (across_.array().abs() <= kOnLine).select(0.0, across_);
    Index steepest = 0;
    const double largest = across_.cwiseAbs().maxCoeff(&steepest);
    if (!(largest > kAlong)) return;
    Coefficients gap{};
    double change = 0.0;
    for (int k = order_; k >= 0; --k) {
        const double rest = rest_.row(k).dot(direction);
        gap[k] = -sign_ * rest;
        change = k > 0 ? (change + std::abs(rest)) * end : change;
    }
    const auto pull = [&](int w) { return across_[w] > 0.0 ? above_.row(w).data() : below_.row(w).data(); };
    for (int w = 0; w < count; ++w) {
        gap[0] -= sign_ * pull(w)[0] * across_[w];
        change += changes_[w] * std::abs(across_[w]);
    }
    const double known_to = noise_ * (1.0 + direction.lpNorm<1>() / largest) + unknown_ / largest;
    if (gap[0] > change + known_to * largest) return;
    for (int w = 0; w < count; ++w)
        for (int k = 1; k <= order_; ++k) gap[k] -= sign_ * pull(w)[k] * across_[w];
    for (int k = 0; k <= order_; ++k) gap[k] /= largest;
    const bool is_out = gap[0] < -known_to;
    const auto [root, seen, rests] = known_fall(gap, order_, known_to, end);
    if (!is_out && (root == kNoRoot || is_taken_back(motion_, piece_, gap, order_, known_to, end))) return;
    const double u = is_out ? 0.0 : root;
    if (!(u < first_.u)) return;
    first_ = {u, set_[static_cast<std::size_t>(steepest)], static_cast<std::int8_t>(across_[steepest] > 0.0 ? 1 : -1),
              is_out ? kUnknownJump : jump_on_leaving(gap, order_, root), is_out ? 0.0 : seen};
    way_out_.sides.resize(set_.size());
    for (int w = 0; w < count; ++w)
        way_out_.sides[static_cast<std::size_t>(w)] =
            static_cast<std::int8_t>(std::abs(across_[w]) <= kAlong ? 0 : (across_[w] > 0.0 ? 1 : -1));
}

}  // namespace reluflow
