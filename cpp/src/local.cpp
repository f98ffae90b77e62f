#include "reluflow/local.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace reluflow {

namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
using ConstMap = Eigen::Map<const Vector>;
/// How far past the release of a dependent wall its corner is decided, as a part of the step: far above rounding, far
/// below what another event could hide in.
constexpr double kLittleLater = 1e-6;
/// Events of a step, a neuron, and walls of a corner, for which there is memory from the start.
constexpr Index kUsualEvents = 4;
constexpr Index kUsualCorner = 64;

}  // namespace

LocalEvents::LocalEvents(const Dataset& data, const NetworkState& state, BranchPolicy policy, NeuronMotion& motion,
                         HitFinder& finder, Pattern& pattern, std::vector<HeldSet>& held, Index neurons)
    : data_(data),
      state_(state),
      policy_(policy),
      motion_(motion),
      finder_(finder),
      pattern_(pattern),
      held_(held),
      corner_set_(data.rank()),
      w_(data.rank()),
      gradient_(data.rank()),
      weights_(data.n()) {
    walls_.reserve(data.n_walls());
    zero_sides_.reserve(data.n_walls());
    events_.reserve(kUsualEvents * neurons);
    const int usual = static_cast<int>(std::min({data.rank() + 1, data.n_walls(), kUsualCorner}));
    corner_.resize(usual);
    solver_.reserve(usual);
}

void LocalEvents::begin_step(double largest_mean_norm) {
    largest_mean_norm_ = largest_mean_norm;
    forget();
}

void LocalEvents::forget() noexcept {
    events_.clear();
    branches_.clear();
    obstacle_ = {};
}

bool LocalEvents::apply(int neuron, const Hit& hit, std::span<const int> candidates) {
    const int piece = motion_.last(neuron);
    motion_.evaluate(piece, hit.u, w_.data(), a_);
    motion_.load_gradient(piece, hit.u);
    if (hit.kind == HitKind::release && !leans(neuron)) return release(neuron, hit);

    collect_corner(neuron, hit, candidates);
    // Multipliers of dependent walls exchange continuously: what comes next shows a little later.
    const double later = hit.kind == HitKind::release ? kLittleLater : 0.0;
    gradient_ = ConstMap(motion_.gradient(), data_.rank());
    for (const int wall : walls_) {
        const std::int8_t side = pattern_.side(neuron, wall);
        if (side == 0) continue;
        double base = 0.0;
        double range = 0.0;
        motion_.contribution_at(wall, hit.u + later, base, range);
        gradient_ -= (side > 0 ? base + range : base) * data_.normals().row(wall).transpose();
    }
    fill_corner(neuron, hit.u + later, gradient_.data(), output_sign_after(piece, hit.u));
    if (later > 0.0) add_drift(later);
    return settle(neuron, hit.u);
}

bool LocalEvents::leans(int neuron) const {
    const auto sides = pattern_.row(neuron);
    return std::any_of(sides.begin(), sides.end(),
                       [](std::int8_t side) { return side == kLeaning || side == -kLeaning; });
}

/// The corner's gradient of what is not in it, moved on by the slope of its series.
void LocalEvents::add_drift(double later) {
    if (motion_.order() < 2) return;
    const ConstMap slope(motion_.gradient() + data_.rank(), data_.rank());
    for (int i = 0; i < corner_.size(); ++i)
        corner_.rest[i] += later * data_.normals().row(corner_.walls[i]).dot(slope);
}

/// A released wall does not change the velocity at that instant, so there is nothing to decide.
bool LocalEvents::release(int neuron, const Hit& hit) {
    HeldSet& held = held_[neuron];
    walls_.assign(held.walls().begin(), held.walls().end());
    stand_on_corner();
    std::erase(walls_, hit.wall);
    held.assign(walls_, data_.normals());
    motion_.move_contribution(hit.wall, hit.u, 0, hit.side);
    set_side(neuron, hit.wall, hit.u, hit.side, kind_of_change(0, hit.side, false), true);
    state_.restore_invariant(neuron, w_.data(), a_);
    motion_.follow(motion_.last(neuron), hit.u, held, w_.data(), a_);
    return true;
}

/// The walls that are zero together: the one that was hit, those that coincide with it to rounding, and the held ones.
void LocalEvents::collect_corner(int neuron, const Hit& hit, std::span<const int> candidates) {
    const HeldSet& held = held_[neuron];
    const bool at_origin = hit.kind == HitKind::wall && (held.is_line() || data_.rank() == 1);
    walls_.clear();
    if (at_origin) {  // a neuron on a line meets another wall only at w = 0, where all walls meet
        w_.setZero();
        walls_.resize(data_.n_walls());
        std::iota(walls_.begin(), walls_.end(), 0);
    } else {
        if (hit.wall >= 0) walls_.push_back(hit.wall);
        const auto sides = pattern_.row(neuron);
        finder_.walls_at_zero(w_.data(), candidates, sides, walls_);
        if (pattern_.zeros(neuron) > 0) append_zero_walls(sides, walls_);
        stand_on_corner();
    }
    std::sort(walls_.begin(), walls_.end());
}

/// Removes the rounding that is left of the zero pre-activations.
void LocalEvents::stand_on_corner() {
    corner_set_.assign(walls_, data_.normals());
    corner_set_.project(w_.data());
}

double LocalEvents::output_sign_after(int piece, double u) const {
    if (a_ != 0.0 && std::abs(a_) > finder_.zero_tol(w_.norm())) return a_ > 0.0 ? 1.0 : -1.0;
    const double rate = evaluate_derivative(motion_.a(piece), motion_.order(), u - motion_.piece(piece).begin);
    if (rate != 0.0) return rate > 0.0 ? 1.0 : -1.0;
    return a_ < 0.0 ? -1.0 : 1.0;
}

/// `gradient` is what everything but the corner's walls adds up to.
void LocalEvents::fill_corner(int neuron, double u, const double* gradient, double output_sign) {
    const int k = static_cast<int>(walls_.size());
    corner_.resize(k);
    corner_.output = output_sign;
    const ConstMap rest(gradient, data_.rank());
    for (int i = 0; i < k; ++i) {
        const auto normal = data_.normals().row(walls_[i]);
        corner_.walls[i] = walls_[i];
        corner_.before[i] = pattern_.side(neuron, walls_[i]);
        corner_.rest[i] = normal.dot(rest);
        motion_.contribution_at(walls_[i], u, corner_.base[i], corner_.range[i]);
        for (int j = 0; j <= i; ++j)
            corner_.gram(i, j) = corner_.gram(j, i) = i == j ? 1.0 : normal.dot(data_.normals().row(walls_[j]));
    }
    corner_.rate_tol = kCornerUlps * kEps * largest_mean_norm_;
    if (!is_plain()) corner_.rate_tol = kCornerUlps * kEps * active_weight(neuron, u);
}

/// One wall, and nothing at it that a smaller tolerance would see in another way.
bool LocalEvents::is_plain() const {
    if (corner_.size() != 1) return false;
    const double before = std::abs(corner_.rest[0] + corner_.base[0]);
    const double after = std::abs(corner_.rest[0] + corner_.base[0] + corner_.range[0]);
    return std::min({before, after, std::abs(corner_.range[0])}) > corner_.rate_tol;
}

/// Σ p_i |x_i| of what acts on the neuron at u: the rounding of its gradient is relative to that.
double LocalEvents::active_weight(int neuron, double u) const {
    motion_.waveform().signed_weights_at(u, weights_);
    const auto sides = pattern_.row(neuron);
    double sum = 0.0;
    for (Index i = 0; i < data_.n(); ++i) {
        const bool acts = motion_.leak() > 0.0 || sample_sign(data_, i, sides[data_.wall_of(i)]) >= 0;
        sum += acts ? std::abs(weights_[i] * data_.coefficient(i)) : 0.0;
    }
    return sum;
}

/// Decides the corner, keeps branch points, and says what stands in the way: nothing, or an obstacle.
bool LocalEvents::decide(int neuron, double u, int& choice) {
    const Verdict verdict = solver_.decide(corner_);
    const bool branching = verdict == Verdict::branching;
    choice = verdict == Verdict::unique || verdict == Verdict::undecided ? 0 : solver_.choose(policy_);
    if (branching) {
        BranchPoint point{u, neuron, corner_.walls, {}, policy_ == BranchPolicy::raise ? -1 : choice};
        for (const auto& next : solver_.continuations()) point.options.push_back(next);
        branches_.push_back(std::move(point));
    }
    bool decided = verdict != Verdict::undecided && !(branching && policy_ == BranchPolicy::raise);
    if (decided) {  // dependent walls that stay at zero have no multipliers of their own
        zero_sides_.clear();
        for (int i = 0; i < corner_.size(); ++i)
            if (solver_.continuations()[choice][i] == 0) zero_sides_.push_back(corner_.walls[i]);
        decided = corner_set_.assign(zero_sides_, data_.normals());
    }
    if (!decided && (!obstacle_.present || u < obstacle_.u))
        obstacle_ = {true, branching && policy_ == BranchPolicy::raise, u, neuron, corner_.walls};
    return decided;
}

bool LocalEvents::settle(int neuron, double u) {
    int choice = 0;
    if (!decide(neuron, u, choice)) return false;
    commit_sides(neuron, u, solver_.continuations()[choice], false, false);
    return true;
}

void LocalEvents::commit_sides(int neuron, double u, const Sides& sides, bool at_start, bool silent) {
    const std::size_t first_event = events_.size();
    zero_sides_.clear();
    for (int i = 0; i < corner_.size(); ++i) {
        const int wall = corner_.walls[i];
        if (sides[i] == 0) zero_sides_.push_back(wall);
        if (!at_start) motion_.move_contribution(wall, u, corner_.before[i], sides[i]);
        EventKind kind = kind_of_change(sign_of(corner_.before[i]), sign_of(sides[i]), false);
        if (at_start)
            kind = is_zero(sides[i]) ? EventKind::start_hold
                                     : (sides[i] > 0 ? EventKind::start_up : EventKind::start_down);
        const bool is_event = sign_of(sides[i]) != sign_of(corner_.before[i]) || (at_start && !silent);
        if (is_event || sides[i] != corner_.before[i]) set_side(neuron, wall, u, sides[i], kind, is_event);
    }
    held_[neuron].assign(zero_sides_, data_.normals());
    if (at_start) return;
    for (std::size_t i = first_event; i < events_.size(); ++i)
        if (events_[i].kind == EventKind::hold && rests(neuron)) events_[i].kind = EventKind::stop;
    state_.restore_invariant(neuron, w_.data(), a_);
    motion_.follow(motion_.last(neuron), u, held_[neuron], w_.data(), a_);
}

/// True when nothing drives the neuron any more: ReLU, and every sample inactive or held.
bool LocalEvents::rests(int neuron) const {
    if (motion_.leak() > 0.0) return false;
    for (Index i = 0; i < data_.n(); ++i)
        if (sample_sign(data_, i, pattern_.side(neuron, data_.wall_of(i))) > 0) return false;
    return true;
}

void LocalEvents::set_side(int neuron, int wall, double u, std::int8_t after, EventKind kind, bool is_event) {
    const int number = static_cast<int>(events_.size());
    events_.push_back({u, neuron, wall, pattern_.side(neuron, wall), after, kind, is_event, number});
    pattern_.set(neuron, wall, after);
}

bool LocalEvents::apply_start(const Expansion& expansion, int neuron, bool pattern_was_given) {
    walls_.clear();
    append_zero_walls(pattern_.row(neuron), walls_);
    if (walls_.empty()) return true;
    w_ = state_.w.col(neuron);
    a_ = state_.a[neuron];
    expansion.gradient_at_start(neuron, gradient_.data());
    const double rate = gradient_.dot(w_);
    if (a_ == 0.0 && (w_.isZero(0.0) || rate == 0.0)) return true;  // never moves
    fill_corner(neuron, 0.0, gradient_.data(), a_ != 0.0 ? (a_ > 0.0 ? 1.0 : -1.0) : (rate > 0.0 ? 1.0 : -1.0));
    if (pattern_was_given && rests(neuron)) {
        held_[neuron].assign(walls_, data_.normals());
        return true;
    }
    int choice = 0;
    if (!decide(neuron, 0.0, choice)) return false;
    commit_sides(neuron, 0.0, solver_.continuations()[choice], true, pattern_was_given);
    return true;
}

void LocalEvents::cut(double u) {
    for (std::size_t i = events_.size(); i-- > 0;) {  // backwards: the earliest `before` of a wall wins
        if (events_[i].u <= u) continue;
        pattern_.set(events_[i].neuron, events_[i].wall, events_[i].before);
    }
    for (const auto& event : events_) {
        if (event.u <= u) continue;
        zero_sides_.clear();
        for (int wall = 0; wall < data_.n_walls(); ++wall)
            if (pattern_.side(event.neuron, wall) == 0) zero_sides_.push_back(wall);
        held_[event.neuron].assign(zero_sides_, data_.normals());
    }
    std::erase_if(events_, [u](const WallEvent& event) { return event.u > u; });
    std::erase_if(branches_, [u](const BranchPoint& point) { return point.u > u; });
    // By the order in which they were found where they coincide. (std::stable_sort would take a buffer.)
    std::sort(events_.begin(), events_.end(),
              [](const auto& a, const auto& b) { return a.u < b.u || (a.u == b.u && a.number < b.number); });
    if (obstacle_.present && obstacle_.u > u) obstacle_ = {};
}

}  // namespace reluflow
