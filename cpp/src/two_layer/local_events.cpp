#include "two_layer/local_events.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace reluflow {

namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
using ConstMap = Eigen::Map<const Vector>;
/// A neuron that slides on a line meets any other boundary at w = 0 up to the rounding of a root; a boundary met
/// farther out contains the line.
constexpr double kAtOrigin = 1e-6;
/// Initial reserve: events per neuron and step, and simultaneous boundaries. Grows geometrically.
constexpr Index kUsualEvents = 4;
constexpr Index kUsualCorner = 64;

}  // namespace

LocalEvents::LocalEvents(const Dataset& data, State& state, BranchPolicy policy, NeuronMotion& motion,
                         HitFinder& finder, Screening& screening, Index neurons)
    : data_(data),
      parameters_(state.parameters),
      mode_(state.mode),
      policy_(policy),
      motion_(motion),
      finder_(finder),
      screening_(screening),
      corner_set_(data.rank()),
      w_(data.rank()),
      gradient_(data.rank()),
      sines_(2 * data.rank()) {
    boundaries_.reserve(data.n_boundaries());
    zero_sides_.reserve(data.n_boundaries());
    events_.reserve(kUsualEvents * neurons);
    const int usual = static_cast<int>(std::min({data.rank() + 1, data.n_boundaries(), kUsualCorner}));
    corner_.resize(usual, usual);
    solver_.reserve(usual);
}

void LocalEvents::begin_step(double largest_mean_norm) {
    largest_mean_norm_ = largest_mean_norm;
    forget();
}

void LocalEvents::forget() noexcept {
    events_.clear();
    branches_.clear();
    unresolved_ = {};
}

bool LocalEvents::apply(int neuron, const Hit& hit, std::span<const int> candidates) {
    const int piece = motion_.last(neuron);
    const bool leaves = hit.kind == HitKind::release;
    const bool dependent = !mode_.held(neuron).dependent().empty();
    const WayOut* way_out = leaves && dependent ? &finder_.find_way_out(mode_, neuron) : nullptr;
    motion_.evaluate(piece, hit.u, w_.data(), a_);
    motion_.load_gradient(piece, hit.u);
    turn_output(piece, hit);
    if (crosses(neuron, hit, candidates)) return true;
    motion_.owe_nothing(neuron);  // a neuron that leaves with the rate zero would be driven back
    if (leaves && hit.alone) return release(neuron, hit);

    collect_corner(neuron, hit, candidates);
    gradient_ = ConstMap(motion_.gradient(), data_.rank());
    for (const int boundary : boundaries_) {
        const std::int8_t side = mode_.side(neuron, boundary);
        if (side == 0) continue;
        double below = 0.0;
        double above = 0.0;
        motion_.contribution_at(boundary, hit.u, below, above);
        gradient_ -= (side > 0 ? above : below) * data_.normals().row(boundary).transpose();
    }
    fill_corner(neuron, hit.u, gradient_.data(), output_sign_after(piece, hit.u));
    int choice = 0;
    if (hit.rests && std::ssize(boundaries_) == 1 + mode_.pattern().zeros(neuron)) {  // nothing moves across: it slides
        no_sides_.assign(boundaries_.size(), 0);
        commit_sides(neuron, hit.u, no_sides_, false, false);
        return true;
    }
    if (way_out) way_out->tell(corner_);
    if (hit.kind == HitKind::output_sign) look_beyond_turn(neuron, hit.u);
    if (!(leaves ? decide_leaving(neuron, hit, choice) : decide(neuron, hit.u, choice))) return false;
    const auto& sides = solver_.continuations()[choice].sides;
    const bool moves = std::any_of(sides.begin(), sides.end(), [](std::int8_t side) { return side != 0; });
    if (leaves && !moves && !dependent && policy_ != BranchPolicy::stay) return release(neuron, hit);
    commit_sides(neuron, hit.u, sides, false, false);
    return true;
}

/// Leaving does not change the velocity at that instant, so there is nothing to decide.
bool LocalEvents::release(int neuron, const Hit& hit) {
    const SlidingSet& held = mode_.held(neuron);
    boundaries_.assign(held.boundaries().begin(), held.boundaries().end());
    stand_on_corner();
    std::erase(boundaries_, hit.boundary);
    mode_.hold(neuron, boundaries_);
    motion_.move_contribution(hit.boundary, hit.u, 0, hit.side);
    set_side(neuron, hit.boundary, hit.u, hit.side, kind_of_change(0, hit.side, false));
    parameters_.restore_invariant(neuron, w_.data(), a_);
    motion_.follow(motion_.last(neuron), hit.u, held, w_.data(), a_);
    return true;
}

/// Collects the boundaries that are zero together: the one that was hit, those that coincide with it to rounding, and
/// the sliding set.
void LocalEvents::collect_corner(int neuron, const Hit& hit, std::span<const int> candidates) {
    const bool meets = hit.kind == HitKind::boundary;
    boundaries_.clear();
    if (meets && is_at_origin(neuron, hit.u)) {
        w_.setZero();
        boundaries_.resize(data_.n_boundaries());
        std::iota(boundaries_.begin(), boundaries_.end(), 0);
    } else {
        const auto sides = mode_.pattern().row(neuron);
        if (meets) boundaries_.push_back(hit.boundary);
        if (meets) add_boundaries_at_zero(neuron, hit, candidates, false);
        if (mode_.pattern().zeros(neuron) > 0) append_zero_boundaries(sides, boundaries_);
        stand_on_corner();
        if (meets) add_dependent(neuron, hit);
    }
    std::sort(boundaries_.begin(), boundaries_.end());
}

/// True where all boundaries meet: of a neuron on a line, which meets another one at w = 0 alone, and of one that comes
/// to w = 0 on its own ray, so that all that is left of it there is rounding of what it came from.
bool LocalEvents::is_at_origin(int neuron, double u) const {
    const double left = w_.norm();
    if (left > kAtOrigin * std::abs(a_)) return false;
    const int piece = motion_.last(neuron);
    if (mode_.held(neuron).is_line() || data_.rank() == 1) return true;
    return left <= finder_.zero_tol(std::max(motion_.terms(piece, u), parameters_.largest(neuron)));
}

/// Adds candidates that are zero at the hit. Beside some the neuron only stays; they count if those `collected` so far
/// span them.
void LocalEvents::add_boundaries_at_zero(int neuron, const Hit& hit, std::span<const int> candidates, bool collected) {
    const auto sides = mode_.pattern().row(neuron);
    const auto known = std::ssize(boundaries_);
    finder_.boundaries_at_zero(w_.data(), candidates, sides, boundaries_);
    const auto is_only_near = [&](int boundary) {
        if (collected && corner_set_.length_outside(data_.normals().row(boundary).data()) <= kRankTol) return false;
        return finder_.stays_beside(motion_.last(neuron), boundary, sides[boundary], hit);
    };
    boundaries_.erase(std::remove_if(boundaries_.begin() + known, boundaries_.end(), is_only_near), boundaries_.end());
}

/// Adds boundaries that depend on those collected: they are zero with them, whatever their computed pre-activation. For
/// a boundary at a small angle to the path its rounding error is many times that of the one that was hit.
void LocalEvents::add_dependent(int neuron, const Hit& hit) {
    if (boundaries_.size() <= 1) return;
    const std::span<const int> near = screening_.beside(neuron, hit.u);
    for (std::size_t known = 0; boundaries_.size() > known;) {
        known = boundaries_.size();
        add_boundaries_at_zero(neuron, hit, near, true);
        if (boundaries_.size() > known) stand_on_corner();
    }
}

/// Removes the rounding error of pre-activations that are zero. Where boundaries are almost parallel the point where
/// they meet may be far away from a neuron that is at rounding from all of them: it stays where it is.
void LocalEvents::stand_on_corner() {
    corner_set_.assign(boundaries_, data_.normals());
    gradient_ = w_;
    corner_set_.project(gradient_.data());
    if ((gradient_ - w_).norm() <= kRankTol * std::hypot(w_.norm(), a_)) w_ = gradient_;
}

/// The value at a root may still have the old sign, and so may one within rounding of zero at another hit: what is
/// decided there is for the sign it has from then on.
void LocalEvents::turn_output(int piece, const Hit& hit) {
    const bool turns = hit.kind == HitKind::output_sign || std::abs(a_) <= finder_.zero_tol(w_.norm());
    if (!turns || w_.isZero(0.0)) return;
    const double rounding = std::max(std::abs(a_), kEps * kEps * w_.norm());
    a_ = std::copysign(rounding, output_sign_after(piece, hit.u));
}

/// Before the first event of the step what is known of the state holds: truncation alone turns such an output.
double LocalEvents::output_sign_after(int piece, double u) const {
    const double begins = motion_.a(piece)[0];
    const int neuron = motion_.piece(piece).neuron;
    if (piece == motion_.first(neuron) && begins != 0.0 && parameters_.keeps_output_sign(neuron))
        return begins > 0.0 ? 1.0 : -1.0;
    if (a_ != 0.0 && std::abs(a_) > finder_.zero_tol(w_.norm())) return a_ > 0.0 ? 1.0 : -1.0;
    const double rate = evaluate_derivative(motion_.a(piece), motion_.order(), u - motion_.piece(piece).begin);
    if (rate != 0.0) return rate > 0.0 ? 1.0 : -1.0;
    if (u == motion_.piece(piece).begin)
        for (int k = 2; k <= motion_.order(); ++k)
            if (motion_.a(piece)[k] != 0.0) return motion_.a(piece)[k] > 0.0 ? 1.0 : -1.0;
    return a_ < 0.0 ? -1.0 : 1.0;
}

/// `gradient` is the gradient without the contributions of the simultaneous boundaries.
void LocalEvents::fill_corner(int neuron, double u, const double* gradient, double output_sign) {
    corner_set_.assign(boundaries_, data_.normals());
    const int k = static_cast<int>(boundaries_.size());
    corner_.resize(k, corner_set_.size());
    corner_.sign = output_sign;
    corner_set_.coordinates(gradient, corner_.rest.data());
    for (int i = 0; i < k; ++i) {
        corner_.boundaries[i] = boundaries_[i];
        corner_.before[i] = mode_.side(neuron, boundaries_[i]);
        corner_set_.coordinates(data_.normals().row(boundaries_[i]).data(), corner_.normal(i));
        finder_.signs().contribution_at(boundaries_[i], u, corner_.below[i], corner_.above[i]);
    }
    corner_.weight = motion_.patience() * largest_mean_norm_;
    if (!is_plain()) corner_.weight = motion_.acting_weight(mode_.pattern().row(neuron), u);
}

/// True for one boundary whose decision does not depend on rounding.
bool LocalEvents::is_plain() const {
    if (corner_.size() != 1) return false;
    const double before = std::abs(corner_.rest[0] * corner_.normals[0] + corner_.below[0]);
    const double after = std::abs(corner_.rest[0] * corner_.normals[0] + corner_.above[0]);
    return std::min({before, after, std::abs(corner_.kink(0))}) > corner_.kink_tol();
}

/// Decides the continuation and records branch points. False, with unresolved_ set, if there is no decision.
bool LocalEvents::decide(int neuron, double u, int& choice) {
    const Verdict verdict = solver_.decide(corner_);
    const bool branching = verdict == Verdict::branching;
    const bool refused = branching && policy_ == BranchPolicy::raise;
    choice = verdict == Verdict::undecided || refused ? 0 : choose();
    if (branching) {
        BranchPoint point{u, neuron, corner_.boundaries, {}, refused ? -1 : choice};
        for (const auto& next : solver_.continuations()) point.options.push_back(next.sides);
        branches_.push_back(std::move(point));
    }
    if (verdict != Verdict::undecided && !refused) return true;
    if (!unresolved_.present || u < unresolved_.u) unresolved_ = {true, refused, u, neuron, corner_.boundaries};
    return false;
}

/// The continuation that the policy selects: the one with most samples inactive, or active, among those that stay on no
/// repelling boundary if there are any; or the one that stays on most boundaries.
int LocalEvents::choose() const {
    const auto found = solver_.continuations();
    const bool may_stand = policy_ == BranchPolicy::stay ||
                           std::all_of(found.begin(), found.end(), [](const auto& one) { return one.stands_on_ridge; });
    int best = -1;
    for (int i = 0; i < std::ssize(found); ++i) {
        if (found[i].stands_on_ridge && !may_stand) continue;
        if (best < 0 || is_preferred(found[i].sides, found[best].sides)) best = i;
    }
    return best;
}

/// Compares by the number of samples as the policy wants them; if equal, by the first sample that differs.
bool LocalEvents::is_preferred(std::span<const std::int8_t> sides, std::span<const std::int8_t> others) const {
    const auto score = [this](std::int8_t sign) {
        if (policy_ == BranchPolicy::stay) return sign == 0 ? 2 : (sign < 0 ? 1 : 0);
        const int wanted = policy_ == BranchPolicy::active ? sign : -sign;
        return wanted + 1;
    };
    int difference = 0;
    int first = 0;
    for (int i = 0; i < corner_.size(); ++i)
        for (const int sample : data_.samples_of(corner_.boundaries[i])) {
            const int here = score(sample_sign(data_, sample, sides[i])) - score(sample_sign(data_, sample, others[i]));
            difference += here;
            if (first == 0) first = here;
        }
    return difference != 0 ? difference > 0 : first > 0;
}

void LocalEvents::commit_sides(int neuron, double u, std::span<const std::int8_t> sides, bool at_start, bool silent) {
    const std::size_t first_event = events_.size();
    zero_sides_.clear();
    for (int i = 0; i < corner_.size(); ++i) {
        const int boundary = corner_.boundaries[i];
        if (sides[i] == 0) zero_sides_.push_back(boundary);
        if (!at_start) motion_.move_contribution(boundary, u, corner_.before[i], sides[i]);
        EventKind kind = kind_of_change(corner_.before[i], sides[i], false);
        if (at_start)
            kind =
                sides[i] == 0 ? EventKind::start_slide : (sides[i] > 0 ? EventKind::start_up : EventKind::start_down);
        if (sides[i] != corner_.before[i] || (at_start && !silent)) set_side(neuron, boundary, u, sides[i], kind);
    }
    mode_.hold(neuron, zero_sides_);
    if (at_start) return;
    for (std::size_t i = first_event; i < events_.size(); ++i)
        if (events_[i].kind == EventKind::slide && rests(neuron)) events_[i].kind = EventKind::die;
    parameters_.restore_invariant(neuron, w_.data(), a_);
    if (a_ == 0.0 && !zero_sides_.empty() && rests(neuron)) mode_.hold_waiting(neuron, zero_sides_);
    motion_.follow(motion_.last(neuron), u, mode_.held(neuron), w_.data(), a_);
}

/// True when nothing drives the neuron any more: ReLU, and inactive or sliding on every sample.
bool LocalEvents::rests(int neuron) const {
    if (motion_.leak() > 0.0) return false;
    for (Index i = 0; i < data_.n(); ++i)
        if (sample_sign(data_, i, mode_.side(neuron, data_.boundary_of(i))) > 0) return false;
    return true;
}

void LocalEvents::set_side(int neuron, int boundary, double u, std::int8_t after, EventKind kind) {
    const int number = static_cast<int>(events_.size());
    events_.push_back({u, neuron, boundary, mode_.side(neuron, boundary), after, kind, number});
    mode_.set_side(neuron, boundary, after);
}

/// A run holds neurons until multipliers leave by more than is known of them (see HitFinder); so does one that goes on.
/// Between boundaries at a small angle a rate is that sine of the multiplier's excess.
void LocalEvents::hold_what_was_held(int neuron) {
    const double acting = motion_.acting_weight(mode_.pattern().row(neuron), 0.0);
    const double unknown = 2.0 * motion_.acting_error(acting) / (kCornerUlps * kEps);
    corner_.weight = acting + corner_set_.least_sine(sines_.data()) * unknown;
}

/// In another leg of a run neurons are held until a step releases them, which sees what excess it takes back itself.
bool LocalEvents::apply_start(const Expansion& expansion, int neuron, KnownSides known) {
    const bool pattern_was_given = known != KnownSides::none;
    boundaries_.clear();
    append_zero_boundaries(mode_.pattern().row(neuron), boundaries_);
    if (boundaries_.empty()) return true;
    w_ = parameters_.w.col(neuron);
    a_ = parameters_.a[neuron];
    expansion.gradient_at_start(neuron, gradient_.data());
    const double rate = gradient_.dot(w_);
    if (a_ == 0.0 && w_.isZero(0.0)) return true;  // never moves
    if (a_ == 0.0 && rate == 0.0) {
        mode_.hold_waiting(neuron, boundaries_);
        if (!pattern_was_given)
            for (const int boundary : boundaries_) set_side(neuron, boundary, 0.0, 0, EventKind::start_slide);
        return true;
    }
    fill_corner(neuron, 0.0, gradient_.data(), a_ != 0.0 ? (a_ > 0.0 ? 1.0 : -1.0) : (rate > 0.0 ? 1.0 : -1.0));
    if (pattern_was_given) hold_what_was_held(neuron);
    if ((known == KnownSides::held && a_ != 0.0) || (pattern_was_given && rests(neuron))) {
        mode_.hold(neuron, boundaries_);
        return true;
    }
    int choice = 0;
    if (!decide(neuron, 0.0, choice)) return false;
    const auto& sides = solver_.continuations()[choice].sides;
    const auto is_zero = [](std::int8_t side) { return side == 0; };
    if (pattern_was_given && std::all_of(sides.begin(), sides.end(), is_zero))
        std::erase_if(branches_, [neuron](const auto& one) { return one.neuron == neuron; });
    commit_sides(neuron, 0.0, sides, true, pattern_was_given);
    return true;
}

void LocalEvents::cut(double u) {
    for (std::size_t i = events_.size(); i-- > 0;) {  // backwards: the earliest `before` of a boundary is restored
        if (events_[i].u <= u) continue;
        mode_.set_side(events_[i].neuron, events_[i].boundary, events_[i].before);
    }
    for (const auto& event : events_) {
        if (event.u <= u) continue;
        zero_sides_.clear();
        if (mode_.pattern().zeros(event.neuron) > 0)
            append_zero_boundaries(mode_.pattern().row(event.neuron), zero_sides_);
        mode_.hold(event.neuron, zero_sides_);
    }
    std::erase_if(events_, [u](const BoundaryEvent& event) { return event.u > u; });
    std::erase_if(branches_, [u](const BranchPoint& point) { return point.u > u; });
    if (unresolved_.present && unresolved_.u > u) unresolved_ = {};
}

}  // namespace reluflow
