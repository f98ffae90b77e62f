#include "reluflow/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "bounds_spread.hpp"

namespace reluflow {

namespace {

/// Neurons of a lane at least: those whose pre-activations are one product at full speed.
constexpr Index kLane = 64;
/// Lanes at most: each has workspaces of the size of the data. Neither number may depend on the threads, for blocks of
/// a product give its bits.
constexpr Index kMaxLanes = 64;
/// About the operations of a neuron's look at one wall, coordinate by coordinate: most look at few.
constexpr double kLookWork = 2.0;
/// Events of a step, a neuron, for which there is memory from the start.
constexpr Index kUsualEvents = 4;

}  // namespace

Lanes::Lanes(const Dataset& data, const NetworkState& state, Pattern& pattern, std::vector<HeldSet>& held,
             const Expansion& expansion, BranchPolicy policy, Pool& pool)
    : data_(data),
      state_(state),
      expansion_(expansion),
      pool_(pool),
      bounds_(data),
      reach_(data, state, pattern, held),
      spread_(std::make_unique<Spread>(data)),
      releases_(state.neurons()),
      paths_(state.neurons()),
      size_(std::max(kLane, (state.neurons() + kMaxLanes - 1) / kMaxLanes)) {
    const WatchedNetwork network{data, state, pattern, held, expansion, bounds_, *spread_, releases_, paths_};
    for (Index begin = 0; begin < state.neurons(); begin += size_) {
        const Range neurons{begin, std::min(state.neurons(), begin + size_)};
        lanes_.push_back(std::make_unique<Lane>(network, neurons, policy, pattern, held));
    }
    hits_.reserve(state.neurons());
    events_.reserve(kUsualEvents * state.neurons());
}

Lanes::~Lanes() = default;

template <class Body>
void Lanes::for_all(double work, const Body& body) const {
    pool_.run(static_cast<Index>(lanes_.size()), work, [&](Index i) { body(*lanes_[i]); });
}

void Lanes::begin_run() {
    const double mean_norm = expansion_.waveform().largest_mean_norm();
    for (auto& lane : lanes_) lane->local().begin_step(mean_norm);
}

bool Lanes::decide_start(bool pattern_was_given) {
    bool decided = true;
    for (auto& lane : lanes_) lane->set_weight_error(pattern_was_given ? expansion_.weight_error() : 0.0);
    for (Index j = 0; decided && j < state_.neurons(); ++j)
        decided = lanes_[j / size_]->local().apply_start(expansion_, static_cast<int>(j), pattern_was_given);
    gather();
    return decided;
}

void Lanes::forget_distance(int neuron) {
    lanes_[neuron / size_]->watch().forget_distance(neuron);
}

void Lanes::forget_distances() {
    for (int j = 0; j < static_cast<int>(state_.neurons()); ++j) forget_distance(j);
}

void Lanes::prepare() {
    bounds_.update(expansion_);
}

void Lanes::skip() {
    hits_.clear();
    for (auto& lane : lanes_) lane->skip();
    gather();
}

void Lanes::settle() {
    for (Index j = 0; j < state_.neurons(); ++j)
        paths_[j] = std::hypot(expansion_.series().size(j), state_.a[j]) *
                    std::expm1(reach_.rapidity(expansion_.groups().of(static_cast<int>(j))));
    for (auto& lane : lanes_) lane->watch().pass();
    reach_.settled();
}

const std::vector<FirstHit>& Lanes::scan() {
    reach_.settled();  // the neurons move on from here
    releases_.forget(expansion_.groups().count());
    spread_->update(expansion_.waveform());
    const double moving = static_cast<double>(state_.neurons() * expansion_.series().order());
    const double mean_norm = expansion_.waveform().largest_mean_norm();
    const double weight_error = expansion_.weight_error();
    for_all(2.0 * moving, [=](Lane& lane) {
        lane.set_weight_error(weight_error);
        lane.begin_step(mean_norm);
    });
    for (auto& lane : lanes_) lane->watch().claim_releases();
    const double looks = static_cast<double>(state_.neurons() * data_.n_walls() * data_.rank());
    const Pool::Hearing hearing(pool_);  // the looks change nothing but what they find
    for_all(kLookWork * looks, [](Lane& lane) { lane.watch().find_releases(); });
    for_all(kLookWork * looks, [](Lane& lane) { lane.scan(); });
    hits_.clear();
    for (const auto& lane : lanes_) hits_.insert(hits_.end(), lane->hits().begin(), lane->hits().end());
    return hits_;
}

double Lanes::follow(double end, std::vector<Disturbance>& disturbances) {
    const auto count =
        std::count_if(hits_.begin(), hits_.end(), [end](const auto& first) { return first.hit.u <= end; });
    const double order = expansion_.series().order();
    follow_all(end, 3.0 * static_cast<double>(count * data_.rank()) * order * order);
    for (const auto& lane : lanes_) {
        end = std::min(end, lane->end());
        disturbances.insert(disturbances.end(), lane->disturbances().begin(), lane->disturbances().end());
    }
    return end;
}

/// A lane that is taken through its events may be given up before the next one: then all are undone.
void Lanes::follow_all(double end, double work) {
    try {
        const Pool::Hearing hearing(pool_);
        for_all(work, [end](Lane& lane) { lane.follow(end); });
    } catch (...) {
        constexpr double kBeforeAll = -1.0;
        for (auto& lane : lanes_) lane->local().cut(kBeforeAll);
        throw;
    }
}

bool Lanes::follows_events() const noexcept {
    return std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return !lane->local().events().empty(); });
}

void Lanes::cut(double u) {
    for_all(static_cast<double>(hits_.size() * data_.n_walls()), [u](Lane& lane) { lane.cut(u); });
    gather();
}

void Lanes::gather() {
    events_.clear();
    branches_.clear();
    obstacle_ = {};
    for (const auto& lane : lanes_) {
        const LocalEvents& local = lane->local();
        const auto before = static_cast<int>(events_.size());
        events_.insert(events_.end(), local.events().begin(), local.events().end());
        for (std::size_t i = before; i < events_.size(); ++i) events_[i].number = static_cast<int>(i);
        branches_.insert(branches_.end(), local.branches().begin(), local.branches().end());
        const Obstacle& met = local.obstacle();
        if (met.present && (!obstacle_.present || met.u < obstacle_.u)) obstacle_ = met;
    }
    // By the order of the neurons where they coincide. (std::stable_sort would take a buffer.)
    std::sort(events_.begin(), events_.end(),
              [](const auto& a, const auto& b) { return a.u < b.u || (a.u == b.u && a.number < b.number); });
    std::stable_sort(branches_.begin(), branches_.end(), [](const auto& a, const auto& b) { return a.u < b.u; });
}

void Lanes::place(double u, Matrix& w, Vector& a) const {
    const double order = expansion_.series().order();
    for_all(2.0 * order * static_cast<double>(events_.size() * data_.rank()),
            [&, u](Lane& lane) { lane.place(u, w, a); });
}

void Lanes::commit(double u) {
    const double moving = static_cast<double>(state_.neurons() * expansion_.series().order());
    for_all(2.0 * moving, [u](Lane& lane) { lane.watch().commit(u); });
}

double Lanes::worst_inconsistency() const noexcept {
    double worst = 0.0;
    for (const auto& lane : lanes_) worst = std::max(worst, lane->worst_inconsistency());
    return worst;
}

}  // namespace reluflow
