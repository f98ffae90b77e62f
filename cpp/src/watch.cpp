#include "reluflow/watch.hpp"

#include <algorithm>
#include <cmath>

#include "bounds_spread.hpp"
#include "reluflow/products.hpp"

namespace reluflow {

namespace {

/// Neurons whose pre-activations are computed in one product: enough for a full-speed product, small enough for the
/// cache.
constexpr Index kBlock = 128;
/// Distances are kept of walls up to this many times as far as a neuron's own series goes: its events may speed it up.
constexpr double kKeptPath = 2.0;
/// The first window of a search for the next wall, as a part of what is left of the step, and how windows grow.
constexpr double kWindows = 16.0;
constexpr double kLonger = 4.0;
/// Distances that are compared together.
constexpr std::size_t kKeysAtOnce = 16;
/// Distances there is memory for from the start: all of them twice in a small problem, in a large one a megabyte and a
/// few for each neuron.
constexpr Index kUsualDistances = Index{1} << 16;
constexpr Index kUsualNear = 16;

using ConstMap = Eigen::Map<const Vector>;

}  // namespace

Watch::Watch(const WatchedNetwork& network, Range neurons, NeuronMotion& motion, HitFinder& finder)
    : data_(network.data),
      state_(network.state),
      pattern_(network.pattern),
      held_(network.held),
      expansion_(network.expansion),
      bounds_(network.bounds),
      spread_(network.spread),
      releases_(network.releases),
      paths_(network.paths),
      neurons_(neurons),
      motion_(motion),
      finder_(finder),
      slack_(neurons.count(), 0.0),
      z_(std::min(kBlock, neurons.count()) * data_.n_walls()),
      gathered_(std::min(kBlock, neurons.count()) * data_.rank()),
      rates_(std::min(kBlock, neurons.count()) * data_.rank()),
      near_of_(neurons.count()) {
    hits_.reserve(neurons.count());
    due_.reserve(neurons.count());
    holding_.reserve(neurons.count());
    claimed_.reserve(neurons.count());
    candidates_.reserve(data_.n_walls());
    near_.reserve(data_.n_walls());
    const Index usual = std::min(2 * data_.n_walls() * neurons.count(), kUsualDistances + kUsualNear * neurons.count());
    near_walls_.reserve(usual);
    not_before_.reserve(usual);
}

void Watch::begin() {
    hits_.clear();
    due_.clear();
    holding_.clear();
    claimed_.clear();
    near_walls_.clear();
    not_before_.clear();
    bound_paths(1.0);
    for (Index j = neurons_.begin; j < neurons_.end; ++j) {
        if (paths_[j] == 0.0 && state_.invariant(j) >= 0.0) continue;  // at rest
        const double size = expansion_.series().size(j);
        if (paths_[j] >= slack(j) - finder_.zero_tol(size))
            due_.push_back(static_cast<int>(j));
        else if (!held_[j].empty())
            holding_.push_back(static_cast<int>(j));
    }
}

void Watch::claim_releases() {
    for (const auto* list : {&due_, &holding_})
        for (const int j : *list)
            if (!held_[j].empty() && releases_.claim(expansion_.groups().of(j), state_.a[j] > 0.0))
                claimed_.push_back(j);
}

void Watch::find_releases() {
    for (const int j : claimed_) {
        const bool positive = state_.a[j] > 0.0;
        releases_.of(expansion_.groups().of(j), positive) = finder_.first_release(open(j), 1.0, held_[j], positive);
    }
}

const std::vector<FirstHit>& Watch::scan() {
    for (const int j : holding_)  // far from other walls, but the ones it holds may let it go
        if (state_.invariant(j) < 0.0 ||
            releases_.of(expansion_.groups().of(j), state_.a[j] > 0.0).kind != HitKind::none)
            due_.push_back(j);
    std::sort(due_.begin(), due_.end());
    for (std::size_t begin = 0; begin < due_.size(); begin += kBlock)
        look_at({due_.data() + begin, std::min<std::size_t>(kBlock, due_.size() - begin)});
    return hits_;
}

/// No neuron moves further than paths_ until u: by its series, or by |θ| (e^{H |g| u} - 1) where its terms alternate.
void Watch::bound_paths(double u) {
    const NeuronSeries& series = expansion_.series();
    series.path_bounds(u, neurons_.begin, neurons_.end, paths_);
    if (!bounds_.are_known()) return;
    for (Index j = neurons_.begin; j < neurons_.end; ++j) {
        const double rapidity = motion_.step() * bounds_.fastest(expansion_.groups().of(j)) * u;
        paths_[j] = std::min(paths_[j], std::hypot(series.size(j), state_.a[j]) * std::expm1(rapidity));
    }
}

void Watch::look_at(std::span<const int> neurons) {
    const Index count = static_cast<Index>(neurons.size());
    Eigen::Map<Matrix> weights(gathered_.data(), count, data_.rank());
    Eigen::Map<Matrix> rates(rates_.data(), count, data_.rank());
    for (Index x = 0; x < data_.rank(); ++x)
        for (Index i = 0; i < count; ++i) weights(i, x) = state_.w(x, neurons[i]);
    expansion_.series().copy_rates(neurons, rates);
    const Eigen::Map<Matrix> z(z_.data(), count, data_.n_walls());
    multiply_transposed(weights, data_.normals(), z);
    for (Index i = 0; i < count; ++i) first_hit(neurons[i], z.row(i).data(), rates.row(i).data());
}

bool Watch::can_reach(int neuron, int wall, double z, double slope, double tail) const {
    const double side = pattern_.side(neuron, wall);
    if (std::min(side * z, side * (z + slope)) > tail) return false;
    if (!bounds_.are_known() || state_.invariant(neuron) < 0.0) return true;
    const int group = expansion_.groups().of(neuron);  // a keeps its sign: z' = H a g·normal
    const double output = state_.a[neuron];
    const double size = std::hypot(expansion_.series().size(neuron), output);
    const double largest = motion_.step() * size * std::exp(motion_.step() * bounds_.fastest(group));
    const double slowest = side * output > 0.0 ? bounds_.lowest(group, wall) : -bounds_.highest(group, wall);
    return side * z + largest * std::min(slowest, 0.0) <= finder_.zero_tol(size);
}

/// Keeps the distances of the walls that the neuron may come to, at a path beyond that of its own series too.
void Watch::keep_near(int neuron, const double* z) {
    const double tolerance = finder_.zero_tol(expansion_.series().size(neuron));
    Near& near = near_of(neuron);
    near.begin = near_walls_.size();
    near.reach = kKeptPath * paths_[neuron] + tolerance;
    double nearest = std::numeric_limits<double>::infinity();
    for (int wall = 0; wall < data_.n_walls(); ++wall) {
        const double distance = std::abs(z[wall]);
        if (distance <= near.reach) {
            near_walls_.push_back(wall);
            not_before_.push_back(distance);
        } else {
            nearest = std::min(nearest, distance);
        }
    }
    near.end = near_walls_.size();
    const auto sides = pattern_.row(neuron);
    near_.clear();
    for (std::size_t i = near.begin; i < near.end; ++i) {
        if (is_zero(sides[near_walls_[i]])) continue;
        nearest = std::min(nearest, not_before_[i]);
        if (not_before_[i] <= paths_[neuron] + tolerance) near_.push_back(near_walls_[i]);
    }
    slack(neuron) = nearest;
}

/// Of a neuron without a hit nothing is asked again; it was the last one kept.
void Watch::forget_near(int neuron) {
    near_walls_.resize(near_of(neuron).begin);
    not_before_.resize(near_of(neuron).begin);
}

void Watch::first_hit(int neuron, const double* z, const double* rate) {
    keep_near(neuron, z);
    const double tail = finder_.zero_tol(expansion_.series().size(neuron)) + expansion_.series().bend(neuron);
    std::erase_if(near_, [&](int wall) {
        const double slope = ConstMap(data_.normals().row(wall).data(), data_.rank()).dot(ConstMap(rate, data_.rank()));
        return !can_reach(neuron, wall, z[wall], slope, tail);
    });

    Hit hit;
    if (!near_.empty()) hit = finder_.first_wall(open(neuron), 1.0, near_, pattern_.row(neuron));
    if (!held_[neuron].empty()) {
        const Hit release = releases_.of(expansion_.groups().of(neuron), state_.a[neuron] > 0.0);
        if (release.u < hit.u) hit = release;
        if (state_.invariant(neuron) < 0.0) {
            const Hit turn = finder_.output_sign_change(open(neuron), 1.0);
            if (turn.u < hit.u) hit = turn;
        }
    }
    if (hit.kind != HitKind::none)
        hits_.push_back({neuron, hit, coupling(open(neuron), hit)});
    else
        forget_near(neuron);
}

int Watch::open(int neuron) {
    return motion_.open(neuron, expansion_.held_part(expansion_.groups().of(neuron)));
}

std::span<const int> Watch::candidates(int neuron, double u) {
    const int piece = motion_.in_force(neuron, u);
    const double tolerance = finder_.zero_tol(motion_.sizes(motion_.first(neuron))[0] + motion_.sizes(piece)[0]);
    const double path = motion_.path_to(piece, u) + tolerance;
    if (path > near_of(neuron).reach) widen(neuron);
    candidates_.clear();
    const ConstMap w(motion_.w(piece), data_.rank());
    const double walked = motion_.piece(piece).path_before;
    const auto sides = pattern_.row(neuron);
    const Near& near = near_of(neuron);
    for (std::size_t begin = near.begin; begin < near.end; begin += kKeysAtOnce) {
        const std::size_t end = std::min(begin + kKeysAtOnce, near.end);
        bool any = false;
        for (std::size_t i = begin; i < end; ++i) any |= not_before_[i] <= path;
        for (std::size_t i = begin; any && i < end; ++i) {
            const int wall = near_walls_[i];
            if (not_before_[i] > path || is_zero(sides[wall])) continue;
            // Seen from here the wall may be farther away than the whole path so far made it seem.
            const double now = std::abs(ConstMap(data_.normals().row(wall).data(), data_.rank()).dot(w));
            not_before_[i] = std::max(not_before_[i], walked + now);
            if (not_before_[i] <= path) candidates_.push_back(wall);
        }
    }
    return candidates_;
}

/// Events have driven the neuron further than its series would have: from now on all its walls count.
void Watch::widen(int neuron) {
    Near& near = near_of(neuron);
    const ConstMap w(motion_.w(motion_.first(neuron)), data_.rank());
    near = {near_walls_.size(), near_walls_.size() + data_.n_walls(), std::numeric_limits<double>::infinity()};
    for (int wall = 0; wall < data_.n_walls(); ++wall) {
        near_walls_.push_back(wall);
        not_before_.push_back(std::abs(ConstMap(data_.normals().row(wall).data(), data_.rank()).dot(w)));
    }
}

Hit Watch::next_hit(int neuron, double end) {
    const int piece = motion_.last(neuron);
    Hit other;
    if (!held_[neuron].empty()) {
        other = finder_.first_release(piece, end, held_[neuron], motion_.a(piece)[0] > 0.0);
        if (state_.invariant(neuron) < 0.0) {
            const Hit turn = finder_.output_sign_change(piece, end);
            if (turn.u < other.u) other = turn;
        }
    }
    const Hit wall = next_wall(neuron, std::min(end, other.u));
    return wall.kind != HitKind::none ? wall : other;
}

/// In windows that grow: the next event is mostly near, and a short way leads to few walls.
Hit Watch::next_wall(int neuron, double end) {
    const int piece = motion_.last(neuron);
    const double begin = motion_.piece(piece).begin;
    for (double window = (end - begin) / kWindows;; window *= kLonger) {
        const double until = begin + window < end ? begin + window : end;
        const Hit hit = finder_.first_wall(piece, until, candidates(neuron, until), pattern_.row(neuron));
        if (hit.kind != HitKind::none || until == end) return hit;
    }
}

/// With e the direction in which the neuron's gradient jumps, margin i of the others starts to change by H a_j² jump
/// x_i·e, and p_i |x_i| of it drives them: Σ_i p_i |x_i| |x_i·e| at most, and as much again for Σ p = 1, both by
/// Cauchy and Schwarz. ½ (U - u)² H of it is their relative error when the event is left out of λ (flow.md §4).
double Watch::coupling(int piece, const Hit& hit) const {
    const double v = hit.u - motion_.piece(piece).begin;
    const double output = evaluate(motion_.a(piece), motion_.order(), v);
    const Waveform& waveform = motion_.waveform();
    const double size = std::sqrt(waveform.mean_square());
    double jump = waveform.mean_norm();
    double reach = size;
    if (hit.kind == HitKind::release) {
        jump = hit.slope / 3.0;
    } else if (hit.kind == HitKind::wall) {
        jump = 0.0;
        for (const int sample : data_.samples_of(hit.wall))
            jump +=
                (1.0 - motion_.leak()) * std::abs(data_.coefficient(sample) * waveform.signed_weight_at(sample, hit.u));
        if (held_[motion_.piece(piece).neuron].empty()) reach = std::min(size, spread_.along(hit.wall));
    }
    const double step = motion_.step();
    return step * step * output * output * jump * reach * (size + waveform.mean_norm());
}

void Watch::pass() noexcept {
    for (Index j = neurons_.begin; j < neurons_.end; ++j) slack(j) -= paths_[j];
}

void Watch::commit(double u) {
    if (u < 1.0) bound_paths(u);
    pass();
    for (const int neuron : motion_.touched())
        if (motion_.piece(motion_.first(neuron)).next >= 0) slack(neuron) = 0.0;
}

}  // namespace reluflow
