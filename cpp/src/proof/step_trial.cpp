#include "proof/step_trial.hpp"

#include <algorithm>
#include <cmath>

#include "proof/rounding.hpp"
#include "proof/scalar_series.hpp"
#include "proof/sigmoid.hpp"

namespace reluflow::proof {
namespace {

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

}  // namespace

Failure TrialMaker::make(const std::vector<ProvedNeuron>& neurons, const std::vector<std::vector<Claim>>& claims,
                         double start_time, StepTrial& trial) const {
    trial.length = bounds_.length;
    trial.pieces.clear();
    trial.crossings.clear();
    trial.first.assign(1, 0);
    for (std::size_t j = 0; j < neurons.size(); ++j) {
        trial.pieces.push_back(maker_.first(static_cast<Index>(j), neurons[j].resting));
        if (Failure failure = follow(neurons[j], claims[j], start_time, trial)) return failure;
        trial.first.push_back(trial.pieces.size());
    }
    return {};
}

/// Whether the neuron's signs allow the event.
bool TrialMaker::fits(const Claim& claim, const std::vector<std::int8_t>& signs) const {
    const std::int8_t sign = signs[at(claim.sample)];
    if (claim.kind == Kind::cross_up) return sign == -1;
    if (claim.kind == Kind::cross_down) return sign == 1;
    const bool alone = std::count(signs.begin(), signs.end(), std::int8_t{-1}) + 1 == samples_.n;
    return claim.kind == Kind::die && samples_.leak == 0.0 && sign == 1 && alone;
}

Failure TrialMaker::follow(const ProvedNeuron& neuron, const std::vector<Claim>& claims, double start_time,
                           StepTrial& trial) const {
    const Index d = samples_.d;
    const auto j = trial.pieces.back().neuron;
    std::vector<std::int8_t> signs;
    std::vector<double> gradient;  // about the start of the step
    std::vector<double> w;
    double a = 0.0;
    for (std::size_t next = neuron.next; next < claims.size(); ++next) {
        const Claim& claim = claims[next];
        if (trial.pieces.back().resting || claim.kind == Kind::other) break;
        if (signs.empty()) {
            // Most neurons meet nothing: their signs are copied only when they do.
            double time = 0.0;
            if (!meets(trial.pieces.back(), claim, neuron.signs[at(claim.sample)], start_time, time)) break;
            signs = neuron.signs;
            gradient = trial.pieces.back().g;
        }
        Piece& before = trial.pieces.back();
        double local = 0.0;
        if (!meets(before, claim, signs[at(claim.sample)], start_time, local)) break;
        const auto events = static_cast<Index>(next - neuron.next);
        if (events >= series_.order) return {Reason::precision, j, claim.sample, start_time + before.start};
        if (!fits(claim, signs))
            return {Reason::event_not_excluded, j, claim.sample, start_time + before.start + local};
        maker_.state(before, local, w, a);
        Crossing event = crossing(before, claim, local, w);
        event.before = trial.pieces.size() - 1;
        before.length = local;
        const bool stops = claim.kind == Kind::die;
        const double change = (event.direction > 0.0 ? 1.0 : -1.0) * (1.0 - samples_.leak);
        for (Index k = 0; k < series_.order; ++k)
            for (Index c = 0; c < d; ++c)
                gradient[at(k * d + c)] +=
                    change * series_.dual[at(k)][at(claim.sample)] * samples_.row(claim.sample)[c];
        signs[at(claim.sample)] = static_cast<std::int8_t>(stops ? 0 : event.direction);
        trial.pieces.push_back(stops ? maker_.at_rest(j, event.time, w, a)
                                     : maker_.from(j, event.time, w, a, gradient));
        miss(trial.pieces[event.before], trial.pieces.back(), event);
        trial.crossings.push_back(event);
    }
    return {};
}

/// Whether the pair of the claim is on the other side at the end of the step; then `time` is when it gets there.
bool TrialMaker::meets(const Piece& piece, const Claim& claim, double sign, double start_time, double& time) const {
    if (sign == 0.0) return false;
    const ScalarSeries z(piece, samples_.row(claim.sample), series_.order, samples_.d, sign);
    if (!(z.value(piece.reach) < 0.0)) return false;
    time = z.root(claim.t - start_time - piece.start, piece.reach);
    return true;
}

Crossing TrialMaker::crossing(const Piece& before, const Claim& claim, double local,
                              const std::vector<double>& w) const {
    const Index d = samples_.d;
    const Index K = series_.order;
    const double* x = samples_.row(claim.sample);
    const double size = samples_.size[at(claim.sample)];
    Crossing event;
    event.neuron = before.neuron;
    event.sample = claim.sample;
    event.kind = claim.kind;
    event.time = before.start + local;
    event.direction = claim.kind == Kind::cross_up ? 1.0 : -1.0;
    const double rounding = gamma(static_cast<double>(d + 2)) * size * before.w_size;
    event.zero = (std::abs(dot(w.data(), x, d)) + rounding + size * before.storage) * kUp;
    double pull = 0.0;
    double dual = 0.0;
    for (Index k = K; k-- > 0;) {
        pull = pull * local + dot(before.g_of(k, d), x, d);
        dual = dual * event.time + series_.dual[at(k)][at(claim.sample)];
    }
    event.pull_before = pull;
    event.pull_after = pull + event.direction * (1.0 - samples_.leak) * dual * dot(x, x, d);
    if (claim.kind == Kind::die) event.pull_after = 0.0;
    const double sums = before.g_size + bounds_.weight[at(claim.sample)] * samples_.share * size;
    event.pull_error =
        size * (before.g_error + terms_(Term::rounding, gamma(static_cast<double>(2 * d + 4 * K + 20)) * sums)) * kUp;
    return event;
}

/// The others see the neuron as if it went on: what they miss is the difference of both pieces.
void TrialMaker::miss(const Piece& before, const Piece& after, Crossing& event) const {
    const double size = samples_.size[at(event.sample)];
    const double kink = (1.0 - samples_.leak) * bounds_.weight[at(event.sample)] * samples_.share * kUp;
    const double a = std::max(before.a_size, after.a_size);
    // |x · g̃| along the piece, so |z̃| ≤ zero + a pull (s - time).
    const double pull = std::abs(event.pull_before) + event.pull_error + size * before.g_rate * bounds_.length;
    const double far = event.zero + a * pull * before.reach;
    const double growth = exponential_up((before.g_size + before.g_error) * before.reach);
    const double apart = growth * (kink * (a * size + far) + before.defect + after.defect) * kUp;
    const double width = std::max(before.size, after.size);
    const double leak = (1.0 - samples_.leak) * a;
    const double share = samples_.norm * width;
    event.margin_slope = terms_(Term::kink, (share * apart + leak * a * pull) * kUp);
    event.margin_jump = terms_(Term::kink, (share * growth * before.storage + leak * event.zero) * kUp);
    event.gradient_slope = terms_(Term::kink, (samples_.norm * share * apart + size * leak * a * pull) * kUp);
    event.gradient_jump =
        terms_(Term::kink, (samples_.norm * share * growth * before.storage + size * leak * event.zero) * kUp);
}

}  // namespace reluflow::proof
