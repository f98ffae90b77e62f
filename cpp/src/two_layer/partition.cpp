#include "two_layer/partition.hpp"

#include <algorithm>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

/// Initial reserve, in events per neuron and step; grows geometrically.
constexpr Index kUsualDisturbances = 4;
/// After this many events of a neuron at one instant, what decides them is taken to be rounding: near a critical point,
/// with a multiplier at its bound, rates and their changes are noise. Cascades take one or two events per boundary.
constexpr int kPatienceAfter = 12;
constexpr double kMorePatience = 100.0;
constexpr double kMostPatience = 1e6;
/// An output weight that is zero to rounding, as a part of |w|: its sign alone counts.
constexpr double kLeastOutput = 0x1p-104;
/// Initial reserve, in pieces of one neuron in a step; grows geometrically.
constexpr std::size_t kUsualPieces = 64;
/// The nodes of Gauss' rule with two points, from the middle of an interval, as parts of its half.
constexpr double kGauss = 0.57735026918962576;
/// A piece behind an event may leave out this many errors of a step: about what the budget of events is.
constexpr double kPieceErrors = kCouplingPart / kLatePart;
/// A gradient of this many times what drives all others is that of a sample that drove nobody.
constexpr double kWakes = 1e3;

}  // namespace

Partition::Partition(const ScreenedNetwork& network, State& state, Range neurons, BranchPolicy policy)
    : expansion_(network.expansion),
      motion_(network.data, network.expansion.waveform(), state.parameters.leak(), neurons),
      finder_(motion_, policy == BranchPolicy::stay),
      screening_(network, neurons, motion_, finder_),
      local_(network.data, state, policy, motion_, finder_, screening_, neurons.count()),
      column_(network.data.rank()),
      moved_(network.data.rank()),
      expected_(network.data.rank()) {
    finder_.watch(state.parameters, network.expansion);
    hits_.reserve(neurons.count());
    disturbances_.reserve(kUsualDisturbances * neurons.count());
    doubts_.reserve(kUsualDisturbances * neurons.count());
    chain_.reserve(kUsualPieces);
}

void Partition::begin_step(double largest_mean_norm, double known) {
    local_.begin_step(largest_mean_norm);
    motion_.begin_step(expansion_.series());
    finder_.forget_inconsistency();
    screening_.begin(known);
}

void Partition::skip() {
    local_.forget();
    motion_.begin_step(expansion_.series());
    hits_.clear();
}

void Partition::scan() {
    const auto& found = screening_.scan();
    hits_.assign(found.begin(), found.end());
    sort_hits();
}

bool Partition::meet_at(std::size_t number, double u) {
    FirstHit& first = hits_[number];
    if (!finder_.is_there(motion_.last(first.neuron), first.hit, u)) return false;
    first.hit.u = u;
    return true;
}

void Partition::sort_hits() {
    std::sort(hits_.begin(), hits_.end(), [](const FirstHit& a, const FirstHit& b) {
        return a.hit.u < b.hit.u || (a.hit.u == b.hit.u && a.neuron < b.neuron);
    });
}

void Partition::follow(double end) {
    end_ = end;
    disturbances_.clear();
    doubts_.clear();
    for (const auto& first : hits_) {
        if (first.hit.u > end_) break;
        follow(first);
    }
}

void Partition::follow(const FirstHit& first) {
    Hit hit = first.hit;
    const int neuron = first.neuron;
    std::span<const int> boundaries = screening_.candidates(neuron, hit.u);
    double last = -1.0;
    int together = 0;
    motion_.set_patience(1.0);
    for (int count = 0; hit.u <= end_; ++count) {
        if (count == kMaxEventsPerTrack) {
            end_ = hit.u;
            return;
        }
        together = hit.u == last ? together + 1 : 0;
        last = hit.u;
        if (together == kPatienceAfter) {
            motion_.set_patience(std::min(kMostPatience, kMorePatience * motion_.patience()));
            together = 0;
        }
        if (count > 0) {
            const Arrival arrival = screening_.arrival(neuron, hit);
            const double coupling = screening_.effect().coupling(motion_.last(neuron), hit);
            disturbances_.push_back({hit.u, coupling, arrival.rate, neuron, hit.boundary});
            if (arrival.doubt.present) doubts_.push_back(arrival.doubt);
        }
        const int piece = motion_.last(neuron);
        const std::size_t known = local_.events().size();
        if (!local_.apply(neuron, hit, boundaries)) {
            end_ = hit.u;
            return;
        }
        if (hit.kind == HitKind::boundary || hit.jump == kUnknownJump) disturb_by_corner(piece, hit, known);
        if (outruns(neuron)) {
            end_ = hit.u;
            return;
        }
        if (!expansion_.waveform().is_prescribed())  // late steps ask that of all pieces together
            end_ = motion_.known_until(motion_.last(neuron), kPieceErrors * motion_.state_error(), end_);
        hit = screening_.next_hit(neuron, end_);
        if (hit.kind == HitKind::none) return;
        boundaries = finder_.met();
    }
}

/// True for a neuron that has woken a sample of a weight that dwarfs all others. What it does from there on takes no
/// time on the scale of this step: the next one is on its own.
bool Partition::outruns(int neuron) const {
    const double* gradient = motion_.g(motion_.last(neuron));
    // Squares that overflow are those of a gradient that outruns all; a stable norm takes a fiftieth of an event.
    const double driving = Eigen::Map<const Vector>(gradient, motion_.rank()).norm();
    return driving > kWakes * expansion_.waveform().mean_norm();
}

/// What was hit is one boundary of a corner, and its sample may weigh nothing: the others of which the neuron changes
/// its side disturb, too. Where dependent boundaries had to be decided anew, only what changed does.
void Partition::disturb_by_corner(int piece, const Hit& hit, std::size_t known) {
    const auto& events = local_.events();
    for (std::size_t i = known; i < events.size(); ++i)
        if (hit.jump == kUnknownJump || events[i].boundary != hit.boundary)
            disturbances_.push_back(
                {hit.u, screening_.effect().coupling(piece, {hit.u, HitKind::boundary, events[i].boundary})});
}

void Partition::cut(double u) {
    local_.cut(u);
    for (const int neuron : motion_.touched()) motion_.truncate(neuron, u);
}

void Partition::add_moved(double u, Matrix& moments) {
    for (const int neuron : motion_.touched()) {
        const int first = motion_.first(neuron);
        const int piece = motion_.in_force(neuron, u);
        if (piece == first) continue;
        double a = 0.0;
        motion_.evaluate(piece, u, column_.data(), a);
        auto moment = moments.col(expansion_.groups().of(neuron));
        moment += a * column_;
        motion_.evaluate(first, u, column_.data(), a);
        moment -= a * column_;
    }
}

/// Within a piece what the events have moved is smooth, with a kink at each event; on a boundary that a neuron slides
/// on its pre-activation is zero, so that the slope there does not matter.
void Partition::integrate_moved(double u, Matrix& moments, Vector& margins) {
    const std::span<const BoundaryEvent> events(local_.events());  // those of a neuron follow each other
    for (std::size_t first = 0; first < events.size();) {
        std::size_t last = first + 1;
        while (last < events.size() && events[last].neuron == events[first].neuron) ++last;
        integrate_moved(events.subspan(first, last - first), u, moments, margins);
        first = last;
    }
}

void Partition::integrate_moved(std::span<const BoundaryEvent> events, double end, Matrix& moments, Vector& margins) {
    const int neuron = events.front().neuron;
    const int first = motion_.first(neuron);
    chain_.clear();
    for (int piece = motion_.piece(first).next; piece >= 0; piece = motion_.piece(piece).next) chain_.push_back(piece);
    moved_.setZero();
    expected_.setZero();
    const Dataset& data = motion_.data();
    const auto slope = [&](std::int8_t sign) { return sign > 0 ? 1.0 : (sign < 0 ? motion_.leak() : 0.0); };
    std::size_t left = events.size();
    for (std::size_t k = chain_.size(); k-- > 0;) {
        const double begin = motion_.piece(chain_[k]).begin;
        const double half = 0.5 * ((k + 1 < chain_.size() ? motion_.piece(chain_[k + 1]).begin : end) - begin);
        for (const double node : {1.0 - kGauss, 1.0 + kGauss}) {
            double a = 0.0;
            motion_.evaluate(chain_[k], begin + half * node, column_.data(), a);
            moved_ += half * a * column_;
            motion_.evaluate(first, begin + half * node, column_.data(), a);
            expected_ += half * a * column_;
        }
        for (; left > 0 && events[left - 1].u >= begin; --left) {
            const BoundaryEvent& event = events[left - 1];
            for (const int sample : data.samples_of(event.boundary))
                margins[sample] +=
                    (slope(sample_sign(data, sample, event.after)) - slope(sample_sign(data, sample, event.before))) *
                    data.signs()[sample] * data.X().row(sample).dot(moved_);
        }
    }
    moments.col(expansion_.groups().of(neuron)) += moved_ - expected_;
}

double Partition::series_rest(double u) const noexcept {
    double rest = 0.0;
    for (const int neuron : motion_.touched())
        for (int piece = motion_.first(neuron); piece >= 0; piece = motion_.piece(piece).next)
            rest = std::max(rest, motion_.series_rest(piece, u));
    return rest;
}

/// On a boundary the sign of the output weight decides what the neuron may do, and changes by hits alone: what passes
/// zero without one does so by rounding.
void Partition::keep_output_sign(int piece, double& a) const noexcept {
    const double before = motion_.a(piece)[0];
    if (!motion_.piece(piece).holds || before == 0.0 || a * before > 0.0) return;
    a = std::copysign(kLeastOutput * motion_.size(piece), before);
}

void Partition::place(double u, Matrix& w, Vector& a) {
    for (const int neuron : motion_.touched()) {
        const int piece = motion_.in_force(neuron, u);
        if (piece != motion_.first(neuron)) {
            motion_.evaluate(piece, u, column_.data(), a[neuron]);
            w.col(neuron) = column_;
        }
        keep_output_sign(piece, a[neuron]);
    }
}

}  // namespace reluflow
