#include "proof/tube.hpp"

#include <algorithm>
#include <cmath>

#include "proof/rounding.hpp"
#include "proof/sigmoid.hpp"

namespace reluflow::proof {
namespace {

/// The tube is this much wider than what came out of the last one; a few rounds close it when the step is short enough.
constexpr double kWider = 1.05;
constexpr int kRounds = 8;
/// A window is this much wider than the distance at the event needs, so that the sign at its ends is certain.
constexpr double kWindow = 4.0;
/// Margins that change by more on a step say nothing: e^0.25 is the factor of a weight.
constexpr double kLargestChange = 0.25;

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

}  // namespace

template <class Real>
Failure Tube<Real>::close(const std::vector<ProvedNeuron<Real>>& neurons, double all, StepTrial<Real>& trial) {
    assumed_.clear();
    size_.clear();
    off_.clear();
    double squares = 0.0;
    for (std::size_t j = 0; j < neurons.size(); ++j) {
        double size = 0.0;
        double off = 0.0;
        for (std::size_t k = trial.first[j]; k < trial.first[j + 1]; ++k) {
            size = std::max(size, trial.pieces[k].size);
            off = std::max(off, trial.pieces[k].off);
        }
        off_.push_back(2.0 * off);
        assumed_.push_back((neurons[j].radius + off_.back()) * kWider + kTiny);
        size_.push_back(size);
        squares += size * size;
    }
    all_sizes_ = std::sqrt(squares) * kUp + kTinyNorm;
    assumed_total_ = all * kWider + kTiny;
    // The bounds are about projected neurons; those of the tube about the polynomials, and about both.
    const auto reach = [this](std::size_t j) { return (radius_[j] + off_[j]) * kUp; };
    for (int round = 0; round < kRounds; ++round) {
        if (Failure failure = propagate(neurons, all, trial)) return failure;
        bool closed = total_ < assumed_total_;
        for (std::size_t j = 0; j < neurons.size(); ++j) closed = closed && reach(j) < assumed_[j];
        if (closed) return {};
        for (std::size_t j = 0; j < neurons.size(); ++j) assumed_[j] = std::max(assumed_[j], reach(j) * kWider);
        assumed_total_ = std::max(assumed_total_, total_ * kWider);
    }
    const auto worst = std::max_element(radius_.begin(), radius_.end()) - radius_.begin();
    return {Reason::tube, worst, -1, 0.0};
}

/// One round: what the bounds at the end are if those assumed hold throughout.
template <class Real>
Failure Tube<Real>::propagate(const std::vector<ProvedNeuron<Real>>& neurons, double all, StepTrial<Real>& trial) {
    if (Failure failure = spread_duals(trial)) return failure;
    radius_.assign(neurons.size(), 0.0);
    auto event = trial.crossings.begin();
    for (std::size_t j = 0; j < neurons.size(); ++j) {
        double error = neurons[j].radius;
        for (std::size_t k = trial.first[j]; k < trial.first[j + 1]; ++k) {
            const Piece<Real>& piece = trial.pieces[k];
            error = along(piece, error, trial);
            if (k + 1 == trial.first[j + 1]) continue;
            error = std::min(error, assumed_total_);
            if (Failure failure =
                    is_leave(event->kind) ? release(piece, *event) : cross(piece, trial.pieces[k + 1], *event, error))
                return failure;
            error = (error + jump(piece, *event) + event->entry) * kUp;
            ++event;
        }
        radius_[j] = error;
    }
    const double bound = together(neurons, all, trial);
    double squares = 0.0;
    for (double& radius : radius_) {
        radius = std::min(radius, bound);
        squares += radius * radius;
    }
    total_ = std::min(bound, std::sqrt(squares) * kUp + kTinyNorm);
    return std::isfinite(total_) ? Failure{} : Failure{Reason::tube, -1, -1, 0.0};
}

/// How much gradients change when the state moves within the tube.
template <class Real>
Failure Tube<Real>::spread_duals(const StepTrial<Real>& trial) {
    double moved = 0.0;
    for (std::size_t j = 0; j < size_.size(); ++j) {
        // A neuron that rests has pre-activations ≤ 0 for ever and adds nothing to any margin.
        if (trial.pieces[trial.first[j]].resting) continue;
        moved += size_[j] * assumed_[j] + 0.5 * assumed_[j] * assumed_[j];
    }
    double margin_kinks = 0.0;
    double gradient_kinks = 0.0;
    double started = 0.0;
    for (const Crossing<Real>& event : trial.crossings) {
        const double rest = rounded(Real(trial.length) - event.time);
        margin_kinks += event.margin_slope * rest + event.margin_jump;
        gradient_kinks += event.gradient_slope * rest;
        started += event.gradient_jump;
    }
    const double through = terms_(Term::coupling, samples_.norm * moved);
    margin_change_ = (samples_.largest * moved + margin_kinks) * kUp;
    if (!(margin_change_ <= kLargestChange)) return {Reason::tube, -1, -1, 0.0};
    const double weight = bounds_.largest_weight * exponential_up(margin_change_);
    const double slope = samples_.loss == LossKind::logistic ? std::min(weight, 0.25) : weight;
    dual_slope_ = slope * samples_.share * kUp;
    own_error_ = (samples_.norm * bounds_.error + dual_slope_ * started) * kUp;
    gradient_error_ = (own_error_ + dual_slope_ * samples_.norm * through) * kUp;
    largest_error_ = (gradient_error_ + dual_slope_ * gradient_kinks) * kUp;
    dual_error_ = (bounds_.error + dual_slope_ * margin_change_) * kUp;
    const bool leaves = std::any_of(trial.crossings.begin(), trial.crossings.end(),
                                    [](const Crossing<Real>& event) { return is_leave(event.kind); });
    dual_rate_ = leaves ? dual_rate_error(trial) : 0.0;
    return {};
}

/// |λ' - λ̃'|₂. With s the derivative of the weight by the margin, λ' - λ̃' = (s - s̃) q' + s̃ (q' - q̃') - R, |s - s̃| at
/// most twice the error of the weight; q' is made of (a w)' = a² g + (g·w) w.
template <class Real>
double Tube<Real>::dual_rate_error(const StepTrial<Real>& trial) const {
    double moved = 0.0;
    for (std::size_t j = 0; j < size_.size(); ++j) {
        if (trial.pieces[trial.first[j]].resting) continue;
        double g = 0.0;
        double defect = 0.0;
        for (std::size_t k = trial.first[j]; k < trial.first[j + 1]; ++k) {
            g = std::max(g, trial.pieces[k].g_size + trial.pieces[k].g_error);
            defect = std::max(defect, trial.pieces[k].defect);
        }
        const double size = size_[j];
        moved += (g + largest_error_) * (2.0 * size + assumed_[j]) * assumed_[j] + largest_error_ * size * size +
                 2.0 * size * defect;
    }
    double rates = samples_.norm * moved;
    // Once for the polynomials, once for a true neuron that is on the other side of its event.
    for (const Crossing<Real>& event : trial.crossings) rates += 2.0 * event.margin_rate;
    rates *= kUp;
    double kinks = 0.0;
    for (const Crossing<Real>& event : trial.crossings)
        kinks += event.margin_slope * rounded(Real(trial.length) - event.time) + event.margin_jump;
    double through = 0.0;
    for (std::size_t j = 0; j < size_.size(); ++j) through += size_[j] * assumed_[j] + 0.5 * assumed_[j] * assumed_[j];
    const double all_duals = bounds_.error + dual_slope_ * (samples_.norm * through + kinks) * kUp;
    return (2.0 * all_duals * (bounds_.margin_rate + rates) + dual_slope_ * rates + bounds_.residual) * kUp;
}

template <class Real>
double Tube<Real>::inside_error(const Piece<Real>& piece, Index position) const {
    const double spread = samples_.boundaries.spread(piece.held.rows()[at(position)]);
    return terms_(Term::multiplier, piece.held.inverse() * largest_error_ + spread * dual_error_) * kUp;
}

/// The rate at which the multiplier meets its bound, and its window.
template <class Real>
Failure Tube<Real>::release(const Piece<Real>& before, Crossing<Real>& event) const {
    const Failure failure{Reason::release_slope, event.neuron, event.sample, rounded(event.time)};
    const Index position = before.held.find(event.sample);
    double rounding = 0.0;
    const ScalarSeries<Real> inside = inside_bound(samples_, maker_, before, position, event.direction, rounding);
    const double distance = inside_error(before, position) + rounding + magnitude(inside.value(before.length));
    const double rate = -rounded(inside.rate(before.length));
    if (!(rate > 0.0)) return failure;
    event.window = kWindow * distance / rate * kUp + kTiny;
    // Rounding of the rate's coefficients: those of a derivative are as many times larger as its order.
    const double reach = before.reach;
    const double error =
        ((before.held.inverse() * samples_.norm + samples_.boundaries.spread(event.sample)) * dual_rate_ +
         inside.curvature(reach) * event.window + 64.0 * rounding / reach) *
        kUp;
    const double speed = (rate - error) * (1.0 - 8 * kUnit);
    if (!(speed > 0.5 * rate)) return failure;
    event.delay = distance / speed * kUp + kTiny;
    event.margin = rate / error;
    return {};
}

/// ∫ of the gradient's error from kinks of this step over [begin, end].
template <class Real>
double Tube<Real>::missed(const StepTrial<Real>& trial, const Real& begin, const Real& end) const {
    double sum = 0.0;
    for (const Crossing<Real>& event : trial.crossings) {
        const Real from = std::max(begin, event.time);
        if (end > from)
            sum += event.gradient_slope * rounded(end - from) * rounded((end - event.time) + (from - event.time)) * 0.5;
    }
    return dual_slope_ * sum * kUp;
}

/// e' ≤ (|g̃| + η) e + η |ũ| + D along one piece, and the rounding of the state at its end.
template <class Real>
double Tube<Real>::along(const Piece<Real>& piece, double error, const StepTrial<Real>& trial) const {
    if (piece.resting) return error;
    const double h = rounded(piece.length);
    const double growth = exponential_up(h * (piece.g_size + piece.g_error + largest_error_) * kUp);
    const double gradients = (gradient_error_ * h + missed(trial, piece.start, piece.start + piece.length)) * kUp;
    return (growth * (error + gradients * piece.size + piece.defect * h) + piece.storage) * kUp;
}

/// The rates at an event of a neuron whose error is `error` there, its delay and its window.
template <class Real>
Failure Tube<Real>::cross(const Piece<Real>& before, const Piece<Real>& after, Crossing<Real>& event,
                          double error) const {
    const double size = samples_.size[at(event.sample)];
    const double assumed = assumed_[at(event.neuron)];
    // What slides from now on, or rests, has its multipliers checked; only the way there has a rate.
    const bool stops = event.kind == Kind::die || event.kind == Kind::slide;
    const Failure failure{Reason::not_transversal, event.neuron, event.sample, rounded(event.time)};
    const double a = before.a[0] >= 0.0 ? 1.0 : -1.0;
    const double least_a = (least_magnitude(before.a[0]) - before.a_motion - assumed) * (1.0 - 8 * kUnit);
    if (!(least_a > 2.0 * assumed)) return {Reason::sign_of_output, event.neuron, event.sample, rounded(event.time)};
    const double pull_before = event.direction * a * event.pull_before;
    const double pull_after = event.direction * a * event.pull_after;
    const double least_pull = stops ? pull_before : std::min(pull_before, pull_after);
    if (!(least_pull > 0.0)) return failure;
    // The window from the rate at its middle; the rates in it are then checked.
    const double distance =
        size * assumed + event.zero + gamma<Real>(static_cast<double>(10 * samples_.d + 500)) * size * before.w_size;
    const double window = kWindow * distance / (least_a * least_pull) * kUp + kTiny;
    const auto error_on = [&](const Piece<Real>& piece, double rounding) {
        return (rounding + size * (piece.g_rate * window + largest_error_ + piece.defect / least_a)) * kUp;
    };
    const double error_before = error_on(before, event.error_before);
    const double error_after = error_on(after, event.error_after);
    const double speed_before = least_a * (pull_before - error_before) * (1.0 - 8 * kUnit);
    const double speed_after = least_a * (pull_after - error_after) * (1.0 - 8 * kUnit);
    const double speed = stops ? speed_before : std::min(speed_before, speed_after);
    // Half of the rate at the middle: the distance at the window's ends is then twice what is needed.
    if (!(speed > 0.5 * least_a * least_pull)) return failure;
    event.window = window;
    event.delay = terms_(Term::switching, size * error + event.zero) / speed_before * kUp + kTiny;
    event.slack = 2.0 * event.zero / speed_before * kUp;
    event.margin = std::min(pull_before / error_before, stops ? pull_before / error_before : pull_after / error_after);
    return {};
}

/// What the error grows by while the true neuron and the computed one are on different sides of the boundary.
template <class Real>
double Tube<Real>::jump(const Piece<Real>& before, const Crossing<Real>& event) const {
    const double duration = event.attracting(samples_, before.a[0]) ? event.slack : event.delay;
    const double size = samples_.size[at(event.sample)];
    const double assumed = assumed_[at(event.neuron)];
    double weights = 0.0;
    for (const Member& member : samples_.boundaries.of(event.sample))
        weights += bounds_.weight[at(member.sample)] * std::abs(member.ratio);
    const double dual = weights * exponential_up(margin_change_) * samples_.share * (1.0 - samples_.leak);
    const double kick = dual * (before.a_size + 2.0 * assumed) * size + dual * (size * assumed + event.zero);
    return terms_(Term::jump, kick * duration) * kUp;
}

/// The bound of all neurons together: E' ≤ max |g| E + |D|, for the coupling of neurons contracts.
template <class Real>
double Tube<Real>::together(const std::vector<ProvedNeuron<Real>>& neurons, double all,
                            const StepTrial<Real>& trial) const {
    const double h = trial.length;
    double rate = 0.0;
    double defects = 0.0;
    double storages = 0.0;
    for (std::size_t j = 0; j < neurons.size(); ++j) {
        double defect = 0.0;
        double storage = 0.0;
        for (std::size_t k = trial.first[j]; k < trial.first[j + 1]; ++k) {
            const Piece<Real>& piece = trial.pieces[k];
            rate = std::max(rate, piece.g_size + piece.g_error);
            defect = std::max(defect, piece.defect);
            storage += piece.storage;
        }
        defects += defect * defect;
        storages += storage * storage;
    }
    double jumps = 0.0;
    for (const Crossing<Real>& event : trial.crossings) {
        const Piece<Real>& before = trial.pieces[event.before];
        const double spread = samples_.boundaries.spread(event.sample);
        const double size = samples_.size[at(event.sample)] * spread * spread;
        // On the two sides margin i is one of two linear forms, apart by at most |a| |x| e while the sides differ.
        const double forms =
            (before.a_size + assumed_[at(event.neuron)]) * (size * assumed_[at(event.neuron)] + event.zero);
        jumps += jump(before, event) + event.entry +
                 2.0 * event.window * dual_slope_ * forms * size * (all_sizes_ + assumed_total_);
    }
    const double growth = exponential_up(h * (rate + largest_error_) * kUp);
    const double sources =
        (std::sqrt(defects) + kTinyNorm + own_error_ * all_sizes_) * h + missed(trial, 0.0, h) * all_sizes_;
    return (growth * (all + (sources + jumps) * kUp) + std::sqrt(storages)) * kUp + kTinyNorm;
}

template class Tube<double>;
template class Tube<DoubleDouble>;

}  // namespace reluflow::proof
