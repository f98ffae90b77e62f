#include "two_layer/sector_screening.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/products.hpp"

namespace reluflow {

namespace {

/// Deferred neurons are moved at the latest when they may have shrunk by e^-3: a shrinking neuron is a difference of
/// growing terms, and this costs it three digits. Neurons that can only grow lose none; for them the bound keeps the
/// map far from overflow.
constexpr double kShrinking = 3.0;
constexpr double kGrowing = 200.0;
/// Safety factor for rounding in comparisons of distances.
constexpr double kMargin = 0.999;
/// If measured distances last for fewer steps than this, the next measurement is delayed; the delay doubles each time.
constexpr int kWorthwhile = 4;
constexpr int kLongestPause = 64;
/// Neurons whose distances are measured by one product.
constexpr Index kBlock = 64;

}  // namespace

SectorScreening::SectorScreening(const Dataset& data, const State& state)
    : data_(data), state_(state), columns_(kBlock, data.rank()), z_(kBlock, data.n_boundaries()) {}

bool SectorScreening::is_clear(const Expansion& expansion, const GroupBounds& bounds) {
    if (!bounds.are_known() || !expansion.sectors()) return false;
    weights_change_sign_ = expansion.waveform().is_linear();
    if (version_ != state_.version()) meet_mode(expansion.groups());
    bool approaches = false;
    if (!can_carry_ || !add_step(expansion, bounds, approaches)) return false;
    if (!approaches) return true;
    if (!distances_known_) {
        if (!state_.is_current()) return false;
        if (pause_ > 0) {
            --pause_;
            return false;
        }
        measure_distances(expansion.groups());
    }
    if (stays_away()) return true;
    next_pause_ = carried_ >= kWorthwhile ? 0 : std::clamp(2 * next_pause_, kWorthwhile, kLongestPause);
    pause_ = next_pause_;
    return false;
}

/// Reads the mode and decides whether every group may be deferred: no neuron slides or may change the sign of its
/// output weight.
void SectorScreening::meet_mode(const Groups& groups) {
    version_ = state_.version();
    groups_ = groups.count();
    can_carry_ = true;
    if (std::ssize(of_group_) < groups_) of_group_.resize(groups_);
    for (Index group = 0; group < groups_; ++group) {
        Entry& entry = of_group_[group];
        entry.is_moving = false;
        for (const double sign : {-1.0, 1.0}) {
            entry.halves[sign > 0.0].sign = sign;
            entry.halves[sign > 0.0].present = false;
        }
        can_carry_ = can_carry_ && state_.mode.held(groups.leader(group)).empty();
        for (const int j : groups.members(group)) {
            const double output = state_.parameters.a[j];
            if (output == 0.0 && state_.parameters.w.col(j).isZero(0.0)) continue;
            can_carry_ = can_carry_ && output != 0.0 && state_.parameters.invariant(j) >= 0.0;
            entry.is_moving = true;
            entry.halves[output > 0.0].present = true;
        }
        entry.largest_rapidity = kGrowing;
        for (const Half& half : entry.halves)
            if (half.present && !is_growing(groups.leader(group), half.sign)) entry.largest_rapidity = kShrinking;
    }
    settled();
}

/// True when every sample on which the neuron is active has the label `sign`, so that |a| and |w| only grow.
bool SectorScreening::is_growing(int neuron, double sign) const {
    if (state_.parameters.leak() > 0.0 || weights_change_sign_) return false;
    for (Index i = 0; i < data_.n(); ++i)
        if (sample_sign(data_, i, state_.mode.side(neuron, data_.boundary_of(i))) > 0 && data_.signs()[i] != sign)
            return false;
    return true;
}

/// Adds the motion of the step to the bounds. False if it is too large to be deferred.
bool SectorScreening::add_step(const Expansion& expansion, const GroupBounds& bounds, bool& approaches) {
    const double step = expansion.waveform().step();
    for (Index group = 0; group < groups_; ++group) {
        Entry& entry = of_group_[group];
        entry.next_rapidity = entry.rapidity + step * bounds.fastest(group);
        if (!entry.is_moving) continue;
        if (!(entry.next_rapidity <= entry.largest_rapidity)) return false;
        const double longest = step * std::exp(entry.next_rapidity);
        const auto sides = state_.mode.pattern().row(expansion.groups().leader(group));
        for (Half& half : entry.halves) {
            if (!half.present) continue;
            for (Index boundary = 0; boundary < data_.n_boundaries(); ++boundary) {
                const double towards = half.sign * sides[boundary] > 0.0 ? -bounds.lowest(group, boundary)
                                                                         : bounds.highest(group, boundary);
                half.next[boundary] = half.moved[boundary] + longest * std::max(0.0, towards);
                approaches = approaches || half.next[boundary] > 0.0;
            }
        }
    }
    return true;
}

void SectorScreening::measure_distances(const Groups& groups) {
    distances_known_ = true;
    carried_ = 0;
    for (Index group = 0; group < groups_; ++group) {
        Entry& entry = of_group_[group];
        for (Half& half : entry.halves)
            half.nearest.assign(data_.n_boundaries(), std::numeric_limits<double>::infinity());
        const auto members = groups.members(group);
        for (std::size_t begin = 0; begin < members.size(); begin += kBlock) {
            const auto block = members.subspan(begin, std::min<std::size_t>(kBlock, members.size() - begin));
            const Index count = std::ssize(block);
            for (Index x = 0; x < data_.rank(); ++x)
                for (Index i = 0; i < count; ++i) columns_(i, x) = state_.parameters.w(x, block[i]);
            multiply_transposed(columns_.topRows(count), data_.normals(), z_.topRows(count));
            for (Index i = 0; i < count; ++i) {
                const double output = state_.parameters.a[block[i]];
                const double size = std::hypot(columns_.row(i).norm(), output);
                if (size == 0.0) continue;
                auto& nearest = entry.halves[output > 0.0].nearest;
                for (Index boundary = 0; boundary < data_.n_boundaries(); ++boundary)
                    nearest[boundary] = std::min(nearest[boundary], std::abs(z_(i, boundary)) / size);
            }
        }
    }
}

bool SectorScreening::stays_away() const {
    for (Index group = 0; group < groups_; ++group)
        for (const Half& half : of_group_[group].halves)
            for (Index boundary = 0; half.present && boundary < data_.n_boundaries(); ++boundary)
                if (half.next[boundary] > 0.0 && half.next[boundary] >= kMargin * half.nearest[boundary]) return false;
    return true;
}

void SectorScreening::carried() {
    ++carried_;
    for (Index group = 0; group < groups_; ++group) {
        Entry& entry = of_group_[group];
        entry.rapidity = entry.next_rapidity;
        for (Half& half : entry.halves) std::swap(half.moved, half.next);
    }
}

void SectorScreening::settled() {
    distances_known_ = false;
    for (Index group = 0; group < groups_; ++group) {
        Entry& entry = of_group_[group];
        entry.rapidity = 0.0;
        for (Half& half : entry.halves) {
            half.moved.assign(data_.n_boundaries(), 0.0);
            half.next.assign(data_.n_boundaries(), 0.0);
        }
    }
}

}  // namespace reluflow
