#include "reluflow/watch.hpp"

#include <algorithm>
#include <cmath>

#include "reluflow/products.hpp"
#include "watch_spread.hpp"

namespace reluflow {

namespace {

/// Neurons whose pre-activations are computed in one product: enough for a full-speed product, small enough for the
/// cache.
constexpr Index kBlock = 128;
/// With at most so many groups, bounds over the step of every g·normal cost less than looking at the pairs they rule
/// out.
constexpr Index kFewGroups = 6;
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

Watch::Watch(const Dataset& data, const NetworkState& state, const Pattern& pattern, const std::vector<HeldSet>& held,
             const Expansion& expansion, NeuronMotion& motion, HitFinder& finder)
    : data_(data),
      state_(state),
      pattern_(pattern),
      held_(held),
      expansion_(expansion),
      motion_(motion),
      finder_(finder),
      slack_(state.neurons(), 0.0),
      paths_(state.neurons()),
      z_(std::min(kBlock, state.neurons()) * data.n_walls()),
      gathered_(std::min(kBlock, state.neurons()) * data.rank()),
      rates_(std::min(kBlock, state.neurons()) * data.rank()),
      near_of_(state.neurons()),
      spread_(std::make_unique<Spread>(data)),
      release_of_group_(state.neurons()) {
    hits_.reserve(state.neurons());
    due_.reserve(state.neurons());
    candidates_.reserve(data.n_walls());
    near_.reserve(data.n_walls());
    const Index usual = std::min(2 * data.n_walls() * state.neurons(), kUsualDistances + kUsualNear * state.neurons());
    near_walls_.reserve(usual);
    not_before_.reserve(usual);
    fastest_.reserve(kFewGroups);
    lowest_.reserve(kFewGroups * data.n_walls());
    highest_.reserve(kFewGroups * data.n_walls());
    projections_.reserve((kMaxOrder + 2) * data.n_walls());
    gathered_.resize(std::max<std::size_t>(gathered_.size(), (kMaxOrder + 2) * data.rank()));
}

Watch::~Watch() = default;

const std::vector<FirstHit>& Watch::scan() {
    hits_.clear();
    due_.clear();
    near_walls_.clear();
    not_before_.clear();
    spread_->update(expansion_.waveform());
    std::fill_n(release_of_group_.begin(), expansion_.groups().count(), GroupRelease{});
    bound_groups();
    bound_paths(1.0);
    for (Index j = 0; j < state_.neurons(); ++j) {
        if (paths_[j] == 0.0 && state_.invariant(j) >= 0.0) continue;  // at rest
        const double size = expansion_.series().motion(0, j);
        if (paths_[j] >= slack_[j] - finder_.zero_tol(size) || !held_[j].empty()) due_.push_back(static_cast<int>(j));
    }
    for (std::size_t begin = 0; begin < due_.size(); begin += kBlock)
        look_at({due_.data() + begin, std::min<std::size_t>(kBlock, due_.size() - begin)});
    std::sort(hits_.begin(), hits_.end(), [](const FirstHit& a, const FirstHit& b) {
        return a.hit.u < b.hit.u || (a.hit.u == b.hit.u && a.neuron < b.neuron);
    });
    return hits_;
}

void Watch::bound_groups() {
    const Index groups = expansion_.groups().count();
    bounded_ = groups <= kFewGroups;
    if (!bounded_) return;
    const NeuronSeries& series = expansion_.series();
    const int order = series.order() - 1;
    const Index rank = data_.rank();
    fastest_.assign(groups, 0.0);
    lowest_.resize(groups * data_.n_walls());
    highest_.resize(groups * data_.n_walls());
    Coefficients c{};
    for (Index group = 0; group < groups; ++group) {
        const int leader = expansion_.groups().leader(group);
        double square = 0.0;
        for (Index x = 0; x < rank; ++x) {
            double low = 0.0;
            double high = 0.0;
            for (int k = 0; k <= order; ++k) gathered_[k * rank + x] = c[k] = series.g(k, x, leader);
            range_on_unit(c, order, low, high);
            square += std::max(low * low, high * high);
        }
        fastest_[group] = std::sqrt(square);
        const Eigen::Map<const Matrix> g(gathered_.data(), order + 1, rank);
        projections_.resize(data_.n_walls() * (order + 1));
        const Eigen::Map<Matrix> projections(projections_.data(), data_.n_walls(), order + 1);
        multiply_transposed(data_.normals(), g, projections);
        for (Index wall = 0; wall < data_.n_walls(); ++wall) {
            const Index at = group * data_.n_walls() + wall;
            range_on_unit(projections.row(wall).data(), order, lowest_[at], highest_[at]);
        }
    }
}

/// No neuron moves further than paths_ until u: by its series, or by |θ| (e^{H |g| u} - 1) where its terms alternate.
void Watch::bound_paths(double u) {
    const NeuronSeries& series = expansion_.series();
    series.path_bounds(u, paths_);
    if (!bounded_) return;
    for (Index j = 0; j < state_.neurons(); ++j) {
        const double rapidity = motion_.step() * fastest_[expansion_.groups().of(j)] * u;
        paths_[j] = std::min(paths_[j], std::hypot(series.motion(0, j), series.a(0, j)) * std::expm1(rapidity));
    }
}

void Watch::look_at(std::span<const int> neurons) {
    const Index count = static_cast<Index>(neurons.size());
    Eigen::Map<Matrix> weights(gathered_.data(), count, data_.rank());
    Eigen::Map<Matrix> rates(rates_.data(), count, data_.rank());
    for (Index x = 0; x < data_.rank(); ++x)
        for (Index i = 0; i < count; ++i) {
            weights(i, x) = state_.w(x, neurons[i]);
            rates(i, x) = expansion_.series().w(1, x, neurons[i]);
        }
    const Eigen::Map<Matrix> z(z_.data(), count, data_.n_walls());
    multiply_transposed(weights, data_.normals(), z);
    for (Index i = 0; i < count; ++i) first_hit(neurons[i], z.row(i).data(), rates.row(i).data());
}

bool Watch::can_reach(int neuron, int wall, double z, double slope, double tail) const {
    const double side = pattern_.side(neuron, wall);
    if (std::min(side * z, side * (z + slope)) > tail) return false;
    if (!bounded_ || state_.invariant(neuron) < 0.0) return true;
    const int group = expansion_.groups().of(neuron);  // a keeps its sign: z' = H a g·normal
    const Index at = group * data_.n_walls() + wall;
    const double output = state_.a[neuron];
    const double size = std::hypot(expansion_.series().motion(0, neuron), output);
    const double largest = motion_.step() * size * std::exp(motion_.step() * fastest_[group]);
    const double slowest = side * output > 0.0 ? lowest_[at] : -highest_[at];
    return side * z + largest * std::min(slowest, 0.0) <= finder_.zero_tol(size);
}

/// Keeps the distances of the walls that the neuron may come to, at a path beyond that of its own series too.
void Watch::keep_near(int neuron, const double* z) {
    const double tolerance = finder_.zero_tol(expansion_.series().motion(0, neuron));
    Near& near = near_of_[neuron];
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
    slack_[neuron] = nearest;
}

/// Of a neuron without a hit nothing is asked again; it was the last one kept.
void Watch::forget_near(int neuron) {
    near_walls_.resize(near_of_[neuron].begin);
    not_before_.resize(near_of_[neuron].begin);
}

void Watch::first_hit(int neuron, const double* z, const double* rate) {
    keep_near(neuron, z);
    double tail = finder_.zero_tol(expansion_.series().motion(0, neuron));
    for (int k = 2; k <= expansion_.series().order(); ++k) tail += expansion_.series().motion(k, neuron);
    std::erase_if(near_, [&](int wall) {
        const double slope = ConstMap(data_.normals().row(wall).data(), data_.rank()).dot(ConstMap(rate, data_.rank()));
        return !can_reach(neuron, wall, z[wall], slope, tail);
    });

    Hit hit;
    if (!near_.empty()) hit = finder_.first_wall(open(neuron), 1.0, near_, pattern_.row(neuron));
    if (!held_[neuron].empty()) {
        const Hit release = first_release_of_group(neuron);
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

/// Multipliers are those of the group, whatever the size of the neuron: the same bits give all of them the same time.
Hit Watch::first_release_of_group(int neuron) {
    const bool positive = state_.a[neuron] > 0.0;
    GroupRelease& release = release_of_group_[expansion_.groups().of(neuron)];
    if (!release.known || release.positive != positive)
        release = {true, positive, finder_.first_release(open(neuron), 1.0, held_[neuron], positive)};
    return release.hit;
}

std::span<const int> Watch::candidates(int neuron, double u) {
    const int piece = motion_.in_force(neuron, u);
    const double tolerance = finder_.zero_tol(motion_.sizes(motion_.first(neuron))[0] + motion_.sizes(piece)[0]);
    const double path = motion_.path_to(piece, u) + tolerance;
    if (path > near_of_[neuron].reach) widen(neuron);
    candidates_.clear();
    const ConstMap w(motion_.w(piece), data_.rank());
    const double walked = motion_.piece(piece).path_before;
    const auto sides = pattern_.row(neuron);
    const Near& near = near_of_[neuron];
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
    Near& near = near_of_[neuron];
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
double Watch::coupling(int piece, const Hit& hit) {
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
        if (held_[motion_.piece(piece).neuron].empty()) reach = std::min(size, spread_->along(hit.wall));
    }
    const double step = motion_.step();
    return step * step * output * output * jump * reach * (size + waveform.mean_norm());
}

void Watch::commit(double u) {
    if (u < 1.0) bound_paths(u);
    for (Index j = 0; j < state_.neurons(); ++j) slack_[j] -= paths_[j];
    for (const int neuron : motion_.touched())
        if (motion_.piece(motion_.first(neuron)).next >= 0) slack_[neuron] = 0.0;
}

}  // namespace reluflow
