#include "two_layer/screening.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

/// Neurons whose pre-activations are computed in one product: enough for full speed, few enough for the cache.
constexpr Index kBlock = 128;

/// Flags of the boundaries that may let a neuron go that nothing else drives, by their weights alone. With a leak all
/// their samples act on both sides, and two that pull against each other may pass zero. With ReLU those of one label
/// hold it for ever, or never: they pull it back from the side on which they act. Of both labels two samples on one
/// side pull against each other, and x and -x pull the same way, so that one of them lets go what the other one held
/// alone.
std::vector<char> may_let_go(const Dataset& data, bool leaks) {
    std::vector<char> flags(static_cast<std::size_t>(data.n_boundaries()), 0);
    const auto kind_of = [&](int sample) { return data.signs()[sample] * (leaks ? data.orientation(sample) : 1.0); };
    for (int boundary = 0; boundary < data.n_boundaries(); ++boundary) {
        const double first = kind_of(data.samples_of(boundary)[0]);
        for (const int sample : data.samples_of(boundary))
            if (kind_of(sample) != first) flags[boundary] = 1;
    }
    return flags;
}

/// The label of the samples of each boundary; of those with both, that of the first one.
std::vector<std::int8_t> labels(const Dataset& data) {
    std::vector<std::int8_t> first(static_cast<std::size_t>(data.n_boundaries()));
    for (int boundary = 0; boundary < data.n_boundaries(); ++boundary)
        first[boundary] = data.signs()[data.samples_of(boundary)[0]] > 0.0 ? 1 : -1;
    return first;
}

}  // namespace

Screening::Screening(const ScreenedNetwork& network, Range neurons, NeuronMotion& motion, HitFinder& finder)
    : data_(network.data),
      parameters_(network.state.parameters),
      mode_(network.state.mode),
      expansion_(network.expansion),
      bounds_(network.bounds),
      rough_(network.rough),
      releases_(network.releases),
      paths_(network.paths),
      neurons_(neurons),
      motion_(motion),
      finder_(finder),
      effect_(network.data, network.state.mode, network.spread, motion),
      may_let_go_(may_let_go(network.data, network.state.parameters.leak() > 0.0)),
      labels_(labels(network.data)),
      slack_(neurons.count(), 0.0),
      gathered_(std::min(kBlock, neurons.count()) * data_.rank()),
      rates_(std::min(kBlock, neurons.count()) * data_.rank()),
      directions_(std::min(kBlock, neurons.count()) * data_.rank()),
      sines_(std::min(kBlock, neurons.count()) * rough_.columns()),
      shelves_(neurons.count(), data_.n_boundaries()) {
    hits_.reserve(neurons.count());
    due_.reserve(neurons.count());
    holding_.reserve(neurons.count());
    claimed_.reserve(neurons.count());
    candidates_.resize(data_.n_boundaries() + 1);
    within_.resize(data_.n_boundaries() + 1);
    distances_.resize(data_.n_boundaries() + 1);
    near_.reserve(data_.n_boundaries());
    const Index few = std::min(GroupBounds::kFewGroups, network.state.neurons());
    pulls_.reserve(few * data_.n_boundaries());
    pull_known_.reserve(few * data_.n_boundaries());
}

void Screening::begin(double known) {
    known_ = known;
    known_beside_ = kNoRoot;
    hits_.clear();
    due_.clear();
    holding_.clear();
    claimed_.clear();
    shelves_.clear();
    ++step_;
    bound_paths(1.0);
    for (Index j = neurons_.begin; j < neurons_.end; ++j) {
        if (paths_[j] == 0.0 && parameters_.invariant(j) >= 0.0 && !may_leave_at_rest(j)) continue;
        const double size = expansion_.series().size(j);
        if (paths_[j] >= slack(j) - finder_.zero_tol(size) || is_beside(static_cast<int>(j)))
            due_.push_back(static_cast<int>(j));
        else if (!mode_.held(j).empty())
            holding_.push_back(static_cast<int>(j));
    }
}

/// A neuron that does not move is skipped, except at w = 0, where weights can change their signs, where samples of one
/// boundary may let it go or pull away from it (their weights may have been too small to tell), and where its
/// boundaries take away all that others pull.
bool Screening::may_leave_at_rest(Index neuron) const {
    const SlidingSet& held = mode_.held(neuron);
    if (held.empty() || parameters_.a[neuron] == 0.0) return false;
    if (expansion_.series().size(neuron) == 0.0 || motion_.waveform().is_linear()) return true;
    const auto is_pulled = [this, neuron](int boundary) {
        return may_let_go_[boundary] != 0 || parameters_.a[neuron] * labels_[boundary] > 0.0;
    };
    if (std::ranges::any_of(held.boundaries(), is_pulled) || std::ranges::any_of(held.dependent(), is_pulled))
        return true;
    const Matrix* taken = expansion_.held_part(expansion_.groups().of(neuron));
    return taken && !taken->topRows(expansion_.series().order()).isZero(0.0);
}

/// As NeuronMotion::output_positive(), without opening the neuron where a tells.
bool Screening::output_positive(int neuron) {
    const double a = parameters_.a[neuron];
    return a != 0.0 ? a > 0.0 : motion_.output_positive(open(neuron));
}

void Screening::claim_releases() {
    for (const auto* list : {&due_, &holding_})
        for (const int j : *list)
            if (!mode_.held(j).empty() && !waits(j) && releases_.claim(expansion_.groups().of(j), output_positive(j)))
                claimed_.push_back(j);
}

void Screening::find_releases() {
    for (const int j : claimed_) {
        const bool positive = output_positive(j);
        releases_.of(expansion_.groups().of(j), positive) =
            finder_.first_release(open(j), known_, mode_.held(j), mode_.pattern().row(j), positive);
    }
}

const std::vector<FirstHit>& Screening::scan() {
    for (const int j : holding_)  // far from other boundaries, but it may leave its own
        if (parameters_.invariant(j) < 0.0 ||
            releases_.of(expansion_.groups().of(j), output_positive(j)).kind != HitKind::none)
            due_.push_back(j);
    std::sort(due_.begin(), due_.end());
    for (std::size_t begin = 0; begin < due_.size(); begin += kBlock)
        look_at({due_.data() + begin, std::min<std::size_t>(kBlock, due_.size() - begin)});
    return hits_;
}

/// paths_ bounds the motion of each neuron until u: by its series, or by |θ| (e^{H |g| u} - 1) where the terms
/// alternate.
void Screening::bound_paths(double u) {
    const StateSeries& series = expansion_.series();
    series.path_bounds(u, neurons_.begin, neurons_.end, paths_);
    if (!bounds_.are_known()) return;
    for (Index j = neurons_.begin; j < neurons_.end; ++j) {
        const double rapidity = motion_.step() * bounds_.fastest(expansion_.groups().of(j)) * u;
        paths_[j] = std::min(paths_[j], std::hypot(series.size(j), parameters_.a[j]) * std::expm1(rapidity));
    }
}

void Screening::look_at(std::span<const int> neurons) {
    const Index count = static_cast<Index>(neurons.size());
    Eigen::Map<Matrix> weights(gathered_.data(), count, data_.rank());
    Eigen::Map<Matrix> rates(rates_.data(), count, data_.rank());
    for (Index x = 0; x < data_.rank(); ++x)
        for (Index i = 0; i < count; ++i) weights(i, x) = parameters_.w(x, neurons[i]);
    expansion_.series().copy_rates(neurons, rates);
    for (Index i = 0; i < count; ++i) {
        const double size = expansion_.series().size(neurons[i]);
        Eigen::Map<Eigen::RowVectorXf> direction(directions_.data() + i * data_.rank(), data_.rank());
        if (size > 0.0)
            direction = (weights.row(i) / size).cast<float>();
        else
            direction.setZero();
    }
    rough_.multiply(directions_.data(), count, sines_.data());
    for (Index i = 0; i < count; ++i)
        first_hit({neurons[i], weights.row(i).data(), rates.row(i).data(), sines_.data() + i * rough_.columns()});
}

/// True if a neuron may be as near to a boundary as what a step may have moved it by.
bool Screening::is_beside(int neuron) const noexcept {
    const double moved = motion_.state_error() * std::hypot(expansion_.series().size(neuron), parameters_.a[neuron]);
    return slack_[neuron - neurons_.begin] <= moved;
}

bool Screening::can_reach(int neuron, int boundary, double z, double slope, double tail) {
    const double side = mode_.side(neuron, boundary);
    return std::min(side * z, side * (z + slope)) <= tail && may_come(neuron, boundary, z);
}

void Screening::first_hit(const Look& look) {
    const int neuron = look.neuron;
    const bool many = list_near(look);
    const std::size_t count = many ? near_.size() : list_reachable(look);
    if (is_beside(neuron)) know_beside(look);
    const bool holds = !mode_.held(neuron).empty();
    if (count == 0 && !holds) return;

    Hit hit;
    if (holds) {
        if (!waits(neuron)) hit = releases_.of(expansion_.groups().of(neuron), output_positive(neuron));
        if (!parameters_.keeps_output_sign(neuron)) {
            const Hit turn =
                finder_.output_sign_change(open(neuron), known_, mode_.pattern().row(neuron), waits(neuron));
            if (turn.u <= std::max(hit.u, hit.seen)) hit = turn;
        }
    }
    const double end = std::min(1.0, hit.u);
    Hit boundary;
    if (many) {
        keep_near(look);
        // Where no bound holds to the end of the step, the series is used beyond what truncation allows.
        const bool holds_throughout = motion_.turn_to(open(neuron), end) < std::numeric_limits<double>::infinity();
        boundary = next_boundary(neuron, holds_throughout ? end : std::min(known_, end));
    } else if (count > 0) {
        boundary = finder_.first_boundary(open(neuron), end, {candidates_.data(), count}, mode_.pattern().row(neuron));
    }
    if (boundary.kind != HitKind::none) hit = boundary;
    if (hit.kind == HitKind::none) return;
    if (!many) keep_near(look);
    const int piece = open(neuron);
    const Arrival found = arrival(neuron, hit);
    hits_.push_back({neuron, hit, effect_.coupling(piece, hit), found.rate, found.doubt});
}

Arrival Screening::arrival(int neuron, const Hit& hit) const {
    return finder_.arrival(motion_.last(neuron), hit, mode_.pattern().row(neuron));
}

int Screening::open(int neuron) {
    const int group = expansion_.groups().of(neuron);
    return motion_.open(neuron, mode_.held(neuron), expansion_.held_part(group), expansion_.own_gradient(group),
                        expansion_.owed_gradient(group));
}

Hit Screening::next_hit(int neuron, double end) {
    const int piece = motion_.last(neuron);
    if (mode_.held(neuron).waits() && motion_.a(piece)[0] == 0.0) return {};  // it has come to rest
    Hit other;
    if (!mode_.held(neuron).empty()) {
        other = finder_.first_release(piece, end, mode_.held(neuron), mode_.pattern().row(neuron),
                                      motion_.output_positive(piece));
        if (parameters_.invariant(neuron) < 0.0) {
            const Hit turn = finder_.output_sign_change(piece, end, mode_.pattern().row(neuron));
            if (turn.u <= std::max(other.u, other.seen)) other = turn;
        }
    }
    const Hit boundary = next_boundary(neuron, std::min(end, other.u));
    return boundary.kind != HitKind::none ? boundary : other;
}

void Screening::pass() noexcept {
    for (Index j = neurons_.begin; j < neurons_.end; ++j) slack(j) -= paths_[j];
}

void Screening::commit(double u) {
    if (u < 1.0) bound_paths(u);
    pass();
    for (const int neuron : motion_.touched())
        if (motion_.piece(motion_.first(neuron)).next >= 0) slack(neuron) = 0.0;
}

}  // namespace reluflow
