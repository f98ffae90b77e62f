#include "proof/outlook.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "proof/rounding.hpp"
#include "proof/scalar_series.hpp"

namespace reluflow::proof {
namespace {

/// Kinks after a multiplier has met its bound count this much more, for what they add to the errors of the duals widens
/// the enclosure of that time: the step ends soon after it.
constexpr double kReleased = 1e4;
/// A rate after an event that is guessed to be below this part of the one before is not believed: windows would be
/// wide.
constexpr double kSlowest = 1e-2;
/// Polynomials tell times a little after what they are good for.
constexpr double kBeyond = 1.5;
/// Ends behind an event that are tried, each half as far from the time of its claim as the one before.
constexpr int kEndsTried = 40;
/// After so many claims it is asked whether a step may get to the next ones at all.
constexpr std::size_t kLookedAt = 32;

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

}  // namespace

ClaimBook::ClaimBook(const std::vector<Claim>& claims, Index n_neurons) : of_neuron(at(n_neurons)), ordered(claims) {
    for (const Claim& claim : claims) {
        rank.push_back(of_neuron[at(claim.neuron)].size());
        of_neuron[at(claim.neuron)].push_back(claim);
    }
}

template <class Real>
std::vector<Ahead> Outlook<Real>::events(double longest, double budget) const {
    constexpr bool kOwnTimes = !std::is_same_v<Real, double>;
    if (kOwnTimes) longest *= kBeyond;
    std::vector<Ahead> ahead;
    for (std::size_t k = book_.passed; k < book_.ordered.size() && book_.ordered[k].t <= t_ + longest; ++k) {
        const Claim& claim = book_.ordered[k];
        const std::size_t next = neurons_[at(claim.neuron)].next;
        if (book_.rank[k] < next || (is_leave(claim.kind) && !leaves_alone(k))) continue;
        double time = std::max(0.0, claim.t - t_);
        if (kOwnTimes && (claim.t != book_.of_neuron[at(claim.neuron)][next].t || !find_time(claim, longest, time)))
            continue;
        ahead.push_back(is_leave(claim.kind) ? release_ahead(claim) : boundary_ahead(claim));
        ahead.back().time = time;
        // No step gets to what lies beyond the budget; thousands may.
        if (ahead.size() % kLookedAt == 0 && kink_cost(ahead, time) > budget) break;
    }
    if (kOwnTimes)
        std::stable_sort(ahead.begin(), ahead.end(), [](const Ahead& e, const Ahead& f) { return e.time < f.time; });
    return ahead;
}

/// When the polynomials say that the event of the claim comes; false if not up to `longest`. What has come may go back
/// before `longest`, so that ends are tried ever closer to the time of the claim.
template <class Real>
bool Outlook<Real>::find_time(const Claim& claim, double longest, double& time) const {
    const std::vector<double> z = distance(claim);
    if (z.empty()) return false;
    const ScalarSeries<double> series(z);
    double end = longest;
    for (int k = 0; k < kEndsTried && !(series.value(end) < 0.0); ++k) end = time + 0.5 * (end - time);
    if (!(series.value(end) < 0.0)) return false;
    time = series.root(time, end);
    return true;
}

/// The series of how far the pre-activation is from zero, or the multiplier from its bound; positive now.
template <class Real>
std::vector<double> Outlook<Real>::distance(const Claim& claim) const {
    const ProvedNeuron<Real>& neuron = neurons_[at(claim.neuron)];
    const Index d = samples_.d;
    std::vector<double> z;
    if (!is_leave(claim.kind)) {
        const double sign = neuron.signs[at(claim.sample)];
        for (Index k = 0; k <= series_.order && sign != 0.0; ++k)
            z.push_back(sign * rounded(dot(series_.w[at(k)].data() + claim.neuron * d, samples_.row(claim.sample), d)));
        return z;
    }
    const Index position = neuron.held.find(samples_.boundaries.first[at(claim.sample)]);
    const double direction = (claim.kind == Kind::leave_up ? 1.0 : -1.0) * samples_.boundaries.side(claim.sample);
    for (Index k = 0; k < series_.order; ++k) {
        Real sum = -series_.held[at(claim.neuron)].multipliers[at(k * neuron.held.size() + position)];
        for (const Member& member : samples_.boundaries.of(claim.sample))
            sum += (member.side(direction) > 0.0 ? 1.0 : samples_.leak) * member.ratio *
                   series_.dual[at(k)][at(member.sample)];
        z.push_back(rounded(sum));
    }
    if (z[0] < 0.0)
        for (double& coefficient : z) coefficient = -coefficient;
    return z;
}

/// Whether the neuron slides on the boundary now and leaves it without reaching another one at that instant.
template <class Real>
bool Outlook<Real>::leaves_alone(std::size_t k) const {
    const Claim& claim = book_.ordered[k];
    const std::vector<Claim>& own = book_.of_neuron[at(claim.neuron)];
    const Boundaries& boundaries = samples_.boundaries;
    const bool thrown_out = std::any_of(own.begin(), own.end(), [&](const Claim& other) {
        return other.t == claim.t && !boundaries.same(other.sample, claim.sample);
    });
    return !thrown_out && neurons_[at(claim.neuron)].held.find(boundaries.first[at(claim.sample)]) >= 0;
}

/// How fast a dual changes with its margin at most: an event changes the margins of all samples.
template <class Real>
double Outlook<Real>::steepest() const {
    double slope = 0.0;
    for (const Real& weight : series_.p[0]) slope = std::max(slope, rounded(weight));
    return samples_.loss == LossKind::logistic ? std::min(slope, 0.25) : slope;
}

template <class Real>
Ahead Outlook<Real>::boundary_ahead(const Claim& claim) const {
    const ProvedNeuron<Real>& neuron = neurons_[at(claim.neuron)];
    const double size = samples_.size[at(claim.sample)];
    const double dual = magnitude(series_.dual[0][at(claim.sample)]);
    const Real* g = series_.g[0].data() + claim.neuron * samples_.d;
    const double signed_pull = rounded(dot(g, samples_.row(claim.sample), samples_.d));
    const double pull = std::abs(signed_pull);
    const double a = magnitude(neuron.a);
    // The window follows the slower rate, before the event or after it.
    const bool crosses = claim.kind == Kind::cross_up || claim.kind == Kind::cross_down;
    const double direction = (claim.kind == Kind::cross_up ? 1.0 : -1.0) * samples_.boundaries.side(claim.sample);
    double turn = 0.0;
    for (const Member& member : samples_.boundaries.of(claim.sample))
        turn += member.side(direction) * rounded(series_.dual[0][at(member.sample)]) *
                dot(samples_.row(member.sample), samples_.row(claim.sample), samples_.d);
    const double after = crosses ? std::abs(signed_pull + (1.0 - samples_.leak) * turn) : pull;
    const double slower = std::min(pull, std::max(after, kSlowest * pull));
    // At a boundary that repels errors grow by the ratio of the rates, and the tube of the whole step with them.
    const double growth = std::is_same_v<Real, double> ? 1.0 : std::max(1.0, after / (pull + kTiny));
    const double slope = steepest();
    const double kink = samples_.norm * 1.5 * samples_.norm * a * a * dual * size + size * a * a * pull;
    return {0.0, 8.0 * size * (neuron.radius * growth + kUnitOf<Real> * a) / (a * slower + kTiny),
            kink * slope * samples_.share, 0.0};
}

/// Where a multiplier meets its bound, the duals' error over its rate is the window.
template <class Real>
Ahead Outlook<Real>::release_ahead(const Claim& claim) const {
    const auto j = at(claim.neuron);
    const Index position = neurons_[j].held.find(samples_.boundaries.first[at(claim.sample)]);
    const Real* multipliers = series_.held[j].multipliers.data();
    const Index size = neurons_[j].held.size();
    const double bound = claim.kind == Kind::leave_up ? 1.0 : samples_.leak;
    const auto inside = [&](Index k) {
        return rounded(bound * series_.dual[at(k)][at(claim.sample)] - multipliers[k * size + position]);
    };
    double moved = 0.0;
    for (const ProvedNeuron<Real>& neuron : neurons_) moved += neuron.radius * (magnitude(neuron.a) + kTiny);
    const double slope = steepest();
    // Of the sum over the others, and of the sample's own dual.
    const double gain = samples_.norm * neurons_[j].held.inverse() + 1.0;
    const double error = 4.0 * slope * samples_.share * samples_.norm * gain * moved;
    const double rate = std::abs(inside(1));
    const double a = samples_.norm * rounded(neurons_[j].a);
    const double dual = magnitude(series_.dual[0][at(claim.sample)]);
    return {0.0, 8.0 * (error + kUnitOf<Real> * dual) / (rate + kTiny), 0.0,
            kReleased * slope * samples_.share * a * a * series_.g_norm[1][j]};
}

template class Outlook<double>;
template class Outlook<DoubleDouble>;

}  // namespace reluflow::proof
