#include "two_layer/partitions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "two_layer/spread.hpp"

namespace reluflow {

namespace {

/// Least size of a partition: neurons whose pre-activations are one product at full speed.
constexpr Index kLeastNeurons = 64;
/// Largest number of partitions: each has workspaces of the size of the data. Neither number may depend on the number
/// of threads, since the blocks of a product determine its bits.
constexpr Index kMaxPartitions = 64;
/// Operations, about, of examining one boundary of a neuron, per coordinate.
constexpr double kLookWork = 2.0;
/// Initial reserve, in events per neuron and step; grows geometrically.
constexpr Index kUsualEvents = 4;
/// Hits within this part of a step may be one instant to rounding.
constexpr double kTogether = 1e-6;

}  // namespace

Partitions::Partitions(const Dataset& data, State& state, const Expansion& expansion, BranchPolicy policy, Pool& pool)
    : data_(data),
      state_(state),
      expansion_(expansion),
      pool_(pool),
      bounds_(data),
      reach_(data, state),
      spread_(std::make_unique<Spread>(data)),
      rough_(data.normals()),
      releases_(state.neurons()),
      paths_(state.neurons()),
      size_(std::max(kLeastNeurons, (state.neurons() + kMaxPartitions - 1) / kMaxPartitions)) {
    const ScreenedNetwork network{data, state, expansion, bounds_, *spread_, rough_, releases_, paths_};
    for (Index begin = 0; begin < state.neurons(); begin += size_) {
        const Range neurons{begin, std::min(state.neurons(), begin + size_)};
        partitions_.push_back(std::make_unique<Partition>(network, state, neurons, policy));
    }
    hits_.reserve(state.neurons());
    by_time_.reserve(state.neurons());
    events_.reserve(kUsualEvents * state.neurons());
}

Partitions::~Partitions() = default;

template <class Body>
void Partitions::for_all(double work, const Body& body) const {
    pool_.run(static_cast<Index>(partitions_.size()), work, [&](Index i) { body(*partitions_[i]); });
}

void Partitions::begin_run() {
    const double mean_norm = expansion_.waveform().largest_mean_norm();
    for (auto& partition : partitions_) partition->local().begin_step(mean_norm);
}

bool Partitions::decide_start(KnownSides known) {
    bool decided = true;
    for (auto& partition : partitions_)
        partition->set_weight_error(known == KnownSides::none ? 0.0 : expansion_.weight_error());
    for (Index j = 0; decided && j < state_.neurons(); ++j)
        decided = partitions_[j / size_]->local().apply_start(expansion_, static_cast<int>(j), known);
    gather();
    return decided;
}

void Partitions::forget_distance(int neuron) {
    partitions_[neuron / size_]->screening().forget_distance(neuron);
}

void Partitions::forget_distances() {
    for (int j = 0; j < static_cast<int>(state_.neurons()); ++j) forget_distance(j);
}

void Partitions::prepare() {
    bounds_.update(expansion_);
}

bool Partitions::is_clear() {
    if (bounds_.are_known() && expansion_.sectors()) bounds_.find_all();
    return reach_.is_clear(expansion_, bounds_);
}

void Partitions::skip() {
    hits_.clear();
    for (auto& partition : partitions_) partition->skip();
    gather();
}

void Partitions::settle() {
    for (Index j = 0; j < state_.neurons(); ++j)
        paths_[j] = std::hypot(expansion_.series().size(j), state_.parameters.a[j]) *
                    std::expm1(reach_.rapidity(expansion_.groups().of(static_cast<int>(j))));
    for (auto& partition : partitions_) partition->screening().pass();
    reach_.settled();
}

const std::vector<FirstHit>& Partitions::scan(double known) {
    reach_.settled();  // neurons are not deferred in this step
    releases_.forget(expansion_.groups().count());
    spread_->update(expansion_.waveform());
    const double moving = static_cast<double>(state_.neurons() * expansion_.series().order());
    const double mean_norm = expansion_.waveform().largest_mean_norm();
    const double weight_error = expansion_.weight_error();
    const double state_error = expansion_.state_error();
    const double outputs_square = state_.parameters.a.squaredNorm();
    for_all(2.0 * moving, [=](Partition& partition) {
        partition.set_weight_error(weight_error);
        partition.set_state_error(state_error);
        partition.set_outputs_square(outputs_square);
        partition.begin_step(mean_norm, known);
    });
    for (auto& partition : partitions_) partition->screening().claim_releases();
    const double looks = static_cast<double>(state_.neurons() * data_.n_boundaries() * data_.rank());
    const Pool::Hearing hearing(pool_);  // can be abandoned: only results are written
    for_all(kLookWork * looks, [](Partition& partition) { partition.screening().find_releases(); });
    for_all(kLookWork * looks, [](Partition& partition) { partition.scan(); });
    meet_together();
    hits_.clear();
    for (const auto& partition : partitions_)
        hits_.insert(hits_.end(), partition->hits().begin(), partition->hits().end());
    return hits_;
}

void Partitions::meet_together() {
    by_time_.clear();
    for (std::size_t i = 0; i < partitions_.size(); ++i)
        for (std::size_t k = 0; k < partitions_[i]->hits().size(); ++k)
            by_time_.push_back({partitions_[i]->hits()[k].hit.u, i, k});
    std::sort(by_time_.begin(), by_time_.end(), [](const Place& a, const Place& b) { return a.u < b.u; });
    double instant = -1.0;
    bool moved = false;
    for (const Place& one : by_time_) {
        const bool is_near = one.u > instant && one.u - instant <= kTogether;
        if (is_near && partitions_[one.partition]->meet_at(one.number, instant))
            moved = true;
        else
            instant = one.u;
    }
    if (!moved) return;
    for (auto& partition : partitions_) partition->sort_hits();
}

double Partitions::follow(double end, std::vector<Disturbance>& disturbances, std::vector<Doubt>& doubts) {
    const auto count =
        std::count_if(hits_.begin(), hits_.end(), [end](const auto& first) { return first.hit.u <= end; });
    const double order = expansion_.series().order();
    follow_all(end, 3.0 * static_cast<double>(count * data_.rank()) * order * order);
    for (const auto& partition : partitions_) {
        end = std::min(end, partition->end());
        disturbances.insert(disturbances.end(), partition->disturbances().begin(), partition->disturbances().end());
        doubts.insert(doubts.end(), partition->doubts().begin(), partition->doubts().end());
    }
    return end;
}

/// The loop can be abandoned between two partitions; all of them are then undone.
void Partitions::follow_all(double end, double work) {
    try {
        const Pool::Hearing hearing(pool_);
        for_all(work, [end](Partition& partition) { partition.follow(end); });
    } catch (...) {
        constexpr double kBeforeAll = -1.0;
        for (auto& partition : partitions_) partition->local().cut(kBeforeAll);
        throw;
    }
}

double Partitions::known_beside() const noexcept {
    double known = kNoRoot;
    for (const auto& partition : partitions_) known = std::min(known, partition->screening().known_beside());
    return known;
}

bool Partitions::follows_events() const noexcept {
    return std::any_of(partitions_.begin(), partitions_.end(),
                       [](const auto& partition) { return !partition->local().events().empty(); });
}

void Partitions::cut(double u) {
    for_all(static_cast<double>(hits_.size() * data_.n_boundaries()), [u](Partition& partition) { partition.cut(u); });
    gather();
}

void Partitions::gather() {
    events_.clear();
    branches_.clear();
    unresolved_ = {};
    for (const auto& partition : partitions_) {
        const LocalEvents& local = partition->local();
        const auto before = static_cast<int>(events_.size());
        events_.insert(events_.end(), local.events().begin(), local.events().end());
        for (std::size_t i = before; i < events_.size(); ++i) events_[i].number = static_cast<int>(i);
        branches_.insert(branches_.end(), local.branches().begin(), local.branches().end());
        const UnresolvedEvent& met = local.unresolved();
        if (met.present && (!unresolved_.present || met.u < unresolved_.u)) unresolved_ = met;
    }
    // Coinciding events keep the order in which they were found. (std::stable_sort would allocate.)
    std::sort(events_.begin(), events_.end(),
              [](const auto& a, const auto& b) { return a.u < b.u || (a.u == b.u && a.number < b.number); });
    std::stable_sort(branches_.begin(), branches_.end(), [](const auto& a, const auto& b) { return a.u < b.u; });
}

void Partitions::place(double u, Matrix& w, Vector& a) const {
    const double order = expansion_.series().order();
    for_all(2.0 * order * static_cast<double>(events_.size() * data_.rank()),
            [&, u](Partition& partition) { partition.place(u, w, a); });
}

void Partitions::add_moved(double u, Matrix& moments) const {
    for (const auto& partition : partitions_) partition->add_moved(u, moments);
}

void Partitions::integrate_moved(double u, Matrix& moments, Vector& margins) const {
    for (const auto& partition : partitions_) partition->integrate_moved(u, moments, margins);
}

double Partitions::series_rest(double u) const noexcept {
    double rest = 0.0;
    for (const auto& partition : partitions_) rest = std::max(rest, partition->series_rest(u));
    return rest;
}

void Partitions::commit(double u) {
    const double moving = static_cast<double>(state_.neurons() * expansion_.series().order());
    for_all(2.0 * moving, [u](Partition& partition) { partition.screening().commit(u); });
}

double Partitions::worst_inconsistency() const noexcept {
    double worst = 0.0;
    for (const auto& partition : partitions_) worst = std::max(worst, partition->worst_inconsistency());
    return worst;
}

}  // namespace reluflow
