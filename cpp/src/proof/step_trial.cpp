#include "proof/step_trial.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "proof/rounding.hpp"
#include "proof/scalar_series.hpp"
#include "proof/sigmoid.hpp"

namespace reluflow::proof {
namespace {

/// A neuron leaves a boundary from this many roundings of its height beside it, so that its side is certain.
constexpr double kBeside = 8.0;

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

/// A crossing, or a leaving, to that side; others as they are.
Kind turned(Kind kind, double direction) {
    if (is_leave(kind)) return direction > 0.0 ? Kind::leave_up : Kind::leave_down;
    const bool crosses = kind == Kind::cross_up || kind == Kind::cross_down;
    return !crosses ? kind : direction > 0.0 ? Kind::cross_up : Kind::cross_down;
}

/// The side it goes to; of a slide, or of coming to rest, the walk knows it.
double direction_of(Kind kind) {
    return kind == Kind::cross_up || kind == Kind::leave_up ? 1.0 : -1.0;
}

}  // namespace

/// Where a neuron is on its way through a step.
template <class Real>
struct TrialMaker<Real>::Walk {
    std::vector<std::int8_t> signs;
    std::vector<Real> raw;  // the gradient before the projection, about the start of the step
    HeldSet held;
    std::vector<Real> w;
    Real a = 0.0;
    double start_time = 0.0;
};

template <class Real>
bool Crossing<Real>::attracting(const Samples& samples, const Real& a) const {
    const auto& members = samples.boundaries.of(sample);
    return std::all_of(members.begin(), members.end(),
                       [&](const Member& member) { return a * samples.y[at(member.sample)] < 0.0; });
}

template <class Real>
std::vector<Index> apply(const Samples& samples, const Crossing<Real>& event, const std::vector<Index>& held,
                         std::vector<std::int8_t>& signs) {
    std::vector<Index> rows = held;
    const auto put = [&](Index sample, double direction) {
        for (const Member& member : samples.boundaries.of(sample))
            signs[at(member.sample)] = static_cast<std::int8_t>(member.side(direction));
    };
    const auto leave = [&](Index sample, double direction) {
        put(sample, direction);
        rows.erase(std::remove(rows.begin(), rows.end(), sample), rows.end());
    };
    for (const Departure& departure : event.left) leave(departure.sample, departure.direction);
    if (is_leave(event.kind)) {
        leave(event.sample, event.direction);
    } else if (event.rests) {
        put(event.sample, 0.0);
        rows.clear();
    } else if (event.kind == Kind::slide) {
        put(event.sample, 0.0);
        rows.push_back(event.sample);
    } else {
        put(event.sample, event.direction);
    }
    return rows;
}

template <class Real>
Failure TrialMaker<Real>::make(const std::vector<ProvedNeuron<Real>>& neurons,
                               const std::vector<std::vector<Claim>>& claims, double start_time,
                               StepTrial<Real>& trial) const {
    trial.length = bounds_.length;
    trial.pieces.clear();
    trial.crossings.clear();
    trial.first.assign(1, 0);
    for (std::size_t j = 0; j < neurons.size(); ++j) {
        trial.pieces.push_back(maker_.first(static_cast<Index>(j), neurons[j]));
        if (Failure failure = follow(neurons[j], claims[j], start_time, trial)) return failure;
        trial.first.push_back(trial.pieces.size());
    }
    return {};
}

/// The event of the next claims: those of one time belong to one event, of which the one that reaches a boundary is the
/// cause. Several boundaries that are reached at one time are several events, one after the other. False where claims
/// contradict each other, or leave out a sample of a boundary.
template <class Real>
bool TrialMaker<Real>::group(const std::vector<Claim>& claims, std::size_t next, Crossing<Real>& event) const {
    const Boundaries& boundaries = samples_.boundaries;
    const auto now = [&](std::size_t k) { return k < claims.size() && claims[k].t == claims[next].t; };
    std::size_t cause = next;
    while (now(cause) && is_leave(claims[cause].kind)) ++cause;
    const bool reaches = now(cause);
    if (!reaches) cause = next;
    // By the side of the first sample.
    const auto direction = [&](const Claim& claim) { return direction_of(claim.kind) * boundaries.side(claim.sample); };
    const bool sided = claims[cause].kind != Kind::slide && claims[cause].kind != Kind::die;
    event.neuron = claims[cause].neuron;
    event.sample = boundaries.first[at(claims[cause].sample)];
    event.direction = direction(claims[cause]);
    event.kind = sided ? turned(claims[cause].kind, event.direction) : claims[cause].kind;
    std::size_t end = next;
    std::size_t needed = boundaries.of(event.sample).size();
    std::set<std::int32_t> seen;
    for (; now(end); ++end) {
        const Claim& claim = claims[end];
        const Index sample = boundaries.first[at(claim.sample)];
        const bool leaves = reaches && is_leave(claim.kind);
        if (!leaves && sample != event.sample) break;
        if (!seen.insert(claim.sample).second) return false;
        if (!leaves) {
            const Kind kind = sided ? turned(claim.kind, direction(claim)) : claim.kind;
            if (kind != event.kind || is_leave(claim.kind) != is_leave(event.kind)) return false;
            continue;
        }
        const auto known = std::find_if(event.left.begin(), event.left.end(),
                                        [&](const Departure& departure) { return departure.sample == sample; });
        if (known == event.left.end()) {
            event.left.push_back({sample, direction(claim)});
            needed += boundaries.of(sample).size();
        } else if (known->direction != direction(claim)) {
            return false;
        }
    }
    event.claims = end - next;
    return event.claims == needed;
}

/// Whether the neuron's signs allow the event.
template <class Real>
bool TrialMaker<Real>::fits(const Crossing<Real>& event, const std::vector<std::int8_t>& signs,
                            const Piece<Real>& before) const {
    for (const Departure& departure : event.left)
        if (before.held.find(departure.sample) < 0) return false;
    const std::int8_t sign = signs[at(event.sample)];
    if (is_leave(event.kind)) return before.held.find(event.sample) >= 0;
    if (event.kind == Kind::cross_up) return sign == -1;
    if (event.kind == Kind::cross_down) return sign == 1;
    // Sliding is proved for boundaries that attract, whatever else the neuron does; of one with several samples the
    // multiplier, strictly inside its bounds, says so.
    const auto& members = samples_.boundaries.of(event.sample);
    const bool attracts = event.attracting(samples_, before.a[0]);
    if (event.kind == Kind::slide) return sign != 0 && (attracts || members.size() > 1) && !rests(event, signs, before);
    return event.kind == Kind::die && sign != 0 && event.rests;
}

/// Whether the neuron comes to rest by that: on boundaries that all attract, with every other sample inactive.
template <class Real>
bool TrialMaker<Real>::rests(const Crossing<Real>& event, const std::vector<std::int8_t>& signs,
                             const Piece<Real>& before) const {
    if (samples_.leak != 0.0 || !event.left.empty() || !event.attracting(samples_, before.a[0])) return false;
    auto others = samples_.n - static_cast<Index>(samples_.boundaries.of(event.sample).size());
    for (const Index row : before.held.rows()) {
        Crossing<Real> held;
        held.sample = row;
        if (!held.attracting(samples_, before.a[0])) return false;
        others -= static_cast<Index>(samples_.boundaries.of(row).size());
    }
    Index inactive = 0;
    for (Index i = 0; i < samples_.n; ++i)
        if (signs[at(i)] < 0 && !samples_.boundaries.same(i, event.sample)) ++inactive;
    return inactive == others;
}

template <class Real>
Failure TrialMaker<Real>::follow(const ProvedNeuron<Real>& neuron, const std::vector<Claim>& claims, double start_time,
                                 StepTrial<Real>& trial) const {
    Walk walk;
    walk.start_time = start_time;
    for (std::size_t next = neuron.next; next < claims.size();) {
        if (trial.pieces.back().resting || claims[next].kind == Kind::other) break;
        Crossing<Real> event;
        const bool complete = group(claims, next, event);
        const std::vector<std::int8_t>& signs = walk.signs.empty() ? neuron.signs : walk.signs;
        Real local = 0.0;
        const double guess = claims[next].t - start_time - rounded(trial.pieces.back().start);
        if (!meets(trial.pieces.back(), event, guess, signs[at(event.sample)], local)) break;
        if (walk.signs.empty()) {
            // Most neurons meet nothing: their signs are copied only when they do.
            walk.signs = neuron.signs;
            walk.held = neuron.held;
            walk.raw = neuron.held.empty() ? trial.pieces.back().g : trial.pieces.back().raw;
        }
        const auto events = static_cast<Index>(next - neuron.next);
        const double t = start_time + rounded(trial.pieces.back().start);
        if (events >= series_.order) return {Reason::precision, event.neuron, event.sample, t};
        event.rests = event.kind == Kind::die && rests(event, walk.signs, trial.pieces.back());
        if (!complete || !fits(event, walk.signs, trial.pieces.back()))
            return {Reason::event_not_excluded, event.neuron, event.sample, t + rounded(local)};
        event.time = trial.pieces.back().start + local;
        if (event.kind == Kind::slide || event.kind == Kind::die) event.direction = -walk.signs[at(event.sample)];
        if (Failure failure = pass(walk, event, local, trial)) return failure;
        next += event.claims;
    }
    return {};
}

/// Takes a neuron over its event, `local` after the start of its last piece: a new piece begins.
template <class Real>
Failure TrialMaker<Real>::pass(Walk& walk, Crossing<Real>& event, const Real& local, StepTrial<Real>& trial) const {
    Piece<Real>& before = trial.pieces.back();
    maker_.state(before, local, walk.w, walk.a);
    const double rounding = gamma<Real>(static_cast<double>(samples_.d + 2)) * before.w_size;
    const double size = samples_.size[at(event.sample)];
    event.zero =
        (magnitude(dot(walk.w.data(), samples_.row(event.sample), samples_.d)) + size * (rounding + before.storage)) *
        kUp;
    event.before = trial.pieces.size() - 1;
    before.length = local;
    turn(event, walk.signs, walk.raw);
    const HeldSet old = walk.held;
    walk.held = HeldSet(samples_, apply(samples_, event, old.rows(), walk.signs));
    if (!walk.held.independent())
        return {Reason::dependent_boundaries, event.neuron, event.sample, rounded(event.time)};
    place(walk, old, before.w_size, event);
    trial.pieces.push_back(event.rests ? maker_.at_rest(event.neuron, event.time, walk.w, walk.a)
                                       : maker_.from(event.neuron, event.time, walk.w, walk.a, walk.raw, walk.held));
    measure(trial.pieces[event.before], trial.pieces.back(), event);
    miss(trial.pieces[event.before], trial.pieces.back(), event);
    trial.crossings.push_back(event);
    return {};
}

/// Whether the event comes before the end of the step; then `time` is when. The pair is on the other side at the end,
/// or the multiplier beyond its bound.
template <class Real>
bool TrialMaker<Real>::meets(const Piece<Real>& piece, const Crossing<Real>& event, double guess, double sign,
                             Real& time) const {
    if (is_leave(event.kind)) {
        const Index position = piece.held.find(event.sample);
        if (position < 0) return false;
        double error = 0.0;
        const ScalarSeries<Real> inside = inside_bound(samples_, maker_, piece, position, event.direction, error);
        if (!(inside.value(piece.reach) < 0.0)) return false;
        time = inside.root(guess, piece.reach);
        // A little before, so that the multiplier is inside until then.
        const double rate = -rounded(inside.rate(time));
        if (rate > 0.0) time -= std::min(2.0 * error / rate, 0.5 * rounded(time));
        return true;
    }
    if (sign == 0.0) return false;
    const ScalarSeries<Real> z(piece, samples_.row(event.sample), series_.order, samples_.d, sign);
    if (!(z.value(piece.reach) < 0.0)) return false;
    time = z.root(guess, piece.reach);
    return true;
}

/// What the event does to the gradient before the projection.
template <class Real>
void TrialMaker<Real>::turn(const Crossing<Real>& event, const std::vector<std::int8_t>& signs,
                            std::vector<Real>& raw) const {
    const Index d = samples_.d;
    const auto slope = [&](double side) { return side > 0.0 ? 1.0 : side < 0.0 ? samples_.leak : 0.0; };
    const auto turn_to = [&](Index sample, double direction) {
        for (const Member& member : samples_.boundaries.of(sample)) {
            const Real change = difference<Real>(slope(member.side(direction)), slope(signs[at(member.sample)]));
            for (Index k = 0; k < series_.order; ++k)
                for (Index c = 0; c < d; ++c)
                    raw[at(k * d + c)] +=
                        change * series_.dual[at(k)][at(member.sample)] * samples_.row(member.sample)[c];
        }
    };
    for (const Departure& departure : event.left) turn_to(departure.sample, departure.direction);
    turn_to(event.sample, event.kind == Kind::slide || event.kind == Kind::die ? 0.0 : event.direction);
}

/// Puts the neuron on what it slides on from now on, and a little beside what it leaves.
template <class Real>
void TrialMaker<Real>::place(Walk& walk, const HeldSet& old, double w_size, Crossing<Real>& event) const {
    if (old.empty() && walk.held.empty()) return;
    const Index d = samples_.d;
    const std::vector<Real> from = walk.w;
    std::vector<Real> unused(at(std::max<Index>(walk.held.size(), 1)));
    if (!walk.held.empty()) walk.held.project(from.data(), walk.w.data(), unused.data());
    std::vector<Departure> left = event.left;
    if (is_leave(event.kind)) left.push_back({event.sample, event.direction});
    if (!left.empty()) {
        std::vector<Index> rows = walk.held.rows();
        std::vector<double> heights(rows.size(), 0.0);
        for (const Departure& departure : left) {
            rows.push_back(departure.sample);
            const double beside = kBeside * kUnitOf<Real> * std::sqrt(static_cast<double>(d)) * w_size;
            heights.push_back(departure.direction * beside * samples_.size[at(departure.sample)]);
        }
        const std::vector<double> push = HeldSet(samples_, rows).with_heights(heights);
        for (Index c = 0; c < d; ++c) walk.w[at(c)] += push[at(c)];
    }
    double moved = 0.0;
    for (Index c = 0; c < d; ++c) moved += magnitude(walk.w[at(c)] - from[at(c)]);
    // From the projection on the old set to the new state's projection on the new one.
    event.entry = (old.off(from.data()) + moved + walk.held.off(walk.w.data())) * kUp + kTiny;
}

/// The pulls on both sides.
template <class Real>
void TrialMaker<Real>::measure(const Piece<Real>& before, const Piece<Real>& after, Crossing<Real>& event) const {
    const Index d = samples_.d;
    const Index K = series_.order;
    const double* x = samples_.row(event.sample);
    const double size = samples_.size[at(event.sample)];
    const Real local = event.time - before.start;
    Real pull = 0.0;
    for (Index k = K; k-- > 0;) pull = pull * local + dot(before.g_of(k, d), x, d);
    event.pull_before = rounded(pull);
    event.pull_after = rounded(dot(after.g_of(0, d), x, d));
    const double rounding = terms_(Term::rounding, gamma<Real>(static_cast<double>(2 * d + 4 * K + 20)));
    event.error_before = size * (before.g_error + rounding * before.g_size) * kUp;
    event.error_after = size * (after.g_error + rounding * after.g_size) * kUp;
}

/// sup |g̃ of the piece after the event - g̃ of the piece before it| to the end of the step.
template <class Real>
double TrialMaker<Real>::gradient_change(const Piece<Real>& before, const Piece<Real>& after,
                                         const Crossing<Real>& event) const {
    if (before.held.empty() && after.held.empty()) {
        double sum = 0.0;
        for (const Member& member : samples_.boundaries.of(event.sample))
            sum += bounds_.weight[at(member.sample)] * samples_.size[at(member.sample)];
        return (1.0 - samples_.leak) * sum * samples_.share * kUp;
    }
    const Index d = samples_.d;
    const Real local = event.time - before.start;
    double squares = 0.0;
    for (Index c = 0; c < d; ++c) {
        Real g = 0.0;
        for (Index k = series_.order; k-- > 0;) g = g * local + before.g[at(k * d + c)];
        const double change = rounded(after.g[at(c)] - g);
        squares += change * change;
    }
    const double rounding = (event.error_before + event.error_after) / samples_.size[at(event.sample)];
    return (std::sqrt(squares) + kTinyNorm + rounding + (before.g_rate + after.g_rate) * after.reach) * kUp;
}

/// The others see the neuron as if it went on: what they miss is the difference of both pieces.
template <class Real>
void TrialMaker<Real>::miss(const Piece<Real>& before, const Piece<Real>& after, Crossing<Real>& event) const {
    const double size = samples_.size[at(event.sample)];
    const bool crosses = event.kind != Kind::slide && !is_leave(event.kind);
    const double a = std::max(before.a_size, after.a_size);
    // |x · g̃| along the piece, so |z̃| ≤ zero + a pull (s - time); zero where the neuron slides.
    const bool slid = before.held.find(event.sample) >= 0;
    const double moving = std::abs(event.pull_before) + size * before.g_rate * bounds_.length;
    const double pull = (slid ? 0.0 : moving) + event.error_before;
    const double far = event.zero + a * pull * before.reach;
    const double width = std::max(before.size, after.size);
    const double change = gradient_change(before, after, event);
    const bool plain = before.held.empty() && after.held.empty();  // then the change is along x, and x · w is small
    const double kick = change * (plain ? a + far / size : width);
    const double growth = exponential_up((before.g_size + before.g_error) * before.reach);
    const double defects = before.defect + after.defect;
    const double apart = growth * (kick + defects) * kUp;
    double largest = 0.0;  // of the samples of the boundary
    for (const Member& member : samples_.boundaries.of(event.sample))
        largest = std::max(largest, samples_.size[at(member.sample)]);
    const double leak = (crosses ? 1.0 - samples_.leak : 1.0) * a * samples_.boundaries.spread(event.sample);
    const double share = samples_.norm * width;
    const double storage = growth * (before.storage + event.entry);
    event.margin_slope = terms_(Term::kink, (share * apart + leak * a * pull) * kUp);
    event.margin_jump = terms_(Term::kink, (share * storage + leak * event.zero) * kUp);
    event.gradient_slope = terms_(Term::kink, (samples_.norm * share * apart + largest * leak * a * pull) * kUp);
    event.gradient_jump = terms_(Term::kink, (samples_.norm * share * storage + largest * leak * event.zero) * kUp);
    // (a w)' = a² g + (g·w) w, with |a² + w wᵀ| ≤ |u|².
    const double g = std::max(before.g_size + before.g_error, after.g_size + after.g_error);
    const double moved = (apart * after.reach + storage) * kUp;
    event.margin_rate =
        (samples_.norm * (change * width * width + g * (2.0 * width + moved) * moved + 2.0 * width * defects) +
         leak * (a * pull + g * far)) *
        kUp;
}

template struct Crossing<double>;
template std::vector<Index> apply(const Samples&, const Crossing<double>&, const std::vector<Index>&,
                                  std::vector<std::int8_t>&);
template class TrialMaker<double>;
template struct Crossing<DoubleDouble>;
template std::vector<Index> apply(const Samples&, const Crossing<DoubleDouble>&, const std::vector<Index>&,
                                  std::vector<std::int8_t>&);
template class TrialMaker<DoubleDouble>;

}  // namespace reluflow::proof
