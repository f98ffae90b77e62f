#include "proof/prover.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "proof/exclusion.hpp"
#include "proof/rounding.hpp"

namespace reluflow::proof {
namespace {

/// Orders of the Taylor polynomials. Where events bound the steps a low one is enough; each order costs two products
/// with X. 16 covers three to four time constants, where a higher one gains less than it costs.
constexpr int kLowestOrder = 6;
constexpr int kHighestOrder = 16;
/// A step that fails is tried again this much shorter, down to a rounding of the time.
constexpr double kShorter = 0.4;
constexpr int kTrials = 60;
/// Kinks after a multiplier has met its bound count this much more, for what they add to the errors of the duals widens
/// the enclosure of that time: the step ends soon after it.
constexpr double kReleased = 1e4;
/// How often, and how much, windows are taken to be wider than guessed before a step is shortened.
constexpr int kWidened = 6;
constexpr double kWider = 4.0;
/// A rate after an event that is guessed to be below this part of the one before is not believed: windows would be
/// wide.
constexpr double kSlowest = 1e-2;
/// After so many claims it is asked whether a step may get to the next ones at all.
constexpr std::size_t kLookedAt = 32;
/// A claim is overdue when its time has passed by this part of it, which no useful guess is wrong by.
constexpr double kOverdue = 0.01;

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

/// Zero for ever, or inactive on every sample but for boundaries that attract it: its gradient is zero and stays so.
bool never_moves(const ProvedNeuron& neuron, const Samples& samples) {
    const bool zero =
        neuron.a == 0.0 && std::all_of(neuron.w.begin(), neuron.w.end(), [](double c) { return c == 0.0; });
    if (zero || samples.leak != 0.0) return zero;
    for (Index i = 0; i < samples.n; ++i)
        if (neuron.signs[at(i)] > 0 || (neuron.signs[at(i)] == 0 && !(neuron.a * samples.y[at(i)] < 0.0))) return false;
    return true;
}

}  // namespace

Prover::Prover(Samples samples, std::vector<ProvedNeuron> neurons, double start_time, const std::vector<Claim>& claims,
               ProverSettings settings)
    : samples_(std::move(samples)),
      neurons_(std::move(neurons)),
      t_(start_time),
      claims_(neurons_.size()),
      ordered_(claims),
      settings_(std::move(settings)),
      terms_(settings_.dropped),
      series_(samples_, static_cast<Index>(neurons_.size())),
      tube_(samples_, series_, bounds_, terms_),
      order_(settings_.order > 0 ? settings_.order : kHighestOrder) {
    for (const Claim& claim : claims) {
        rank_.push_back(claims_[at(claim.neuron)].size());
        claims_[at(claim.neuron)].push_back(claim);
    }
    for (ProvedNeuron& neuron : neurons_) {
        put_on_first_boundaries(neuron);
        neuron.find_slopes(samples_.leak);
        neuron.resting = never_moves(neuron, samples_);
    }
    double squares = 0.0;
    for (std::size_t j = 0; j < settings_.radius.size(); ++j) {
        neurons_[j].radius = settings_.radius[j];
        squares += settings_.radius[j] * settings_.radius[j];
    }
    total_ = std::sqrt(squares) * kUp + kTinyNorm;
    record_.proved_until = start_time;
}

/// A start on boundaries: where its sign is zero, the neuron slides.
void Prover::put_on_first_boundaries(ProvedNeuron& neuron) const {
    std::vector<Index> rows;
    for (Index i = 0; i < samples_.n; ++i)
        if (neuron.signs[at(i)] == 0 && samples_.boundaries.first[at(i)] == i) rows.push_back(i);
    neuron.held = HeldSet(samples_, rows);
}

ProofRecord Prover::run(const std::function<Request(const ProofProgress&)>& ask) {
    for (const ProvedNeuron& neuron : neurons_)
        if (!neuron.held.independent())
            return finish({Reason::dependent_boundaries, &neuron - neurons_.data(), neuron.held.rows()[0], t_});
    while (next_at_ < settings_.at.size() && settings_.at[next_at_] <= t_) enclose_at(settings_.at[next_at_++]);
    while (t_ < settings_.until) {
        if (const Failure failure = step()) return finish(failure);
        const ProofProgress progress{t_, record_.steps, static_cast<Index>(record_.events.size())};
        if (ask(progress) != Request::go_on) return finish({Reason::stopped, -1, -1, t_});
        if (first_overdue() * (1.0 + kOverdue) < t_) break;
        if (settings_.only_states && next_at_ == settings_.at.size()) break;
    }
    if (first_overdue() <= t_)
        for (std::size_t j = 0; j < neurons_.size(); ++j) {
            if (neurons_[j].next >= claims_[j].size()) continue;
            const Claim& claim = claims_[j][neurons_[j].next];
            const Reason reason = claim.kind == Kind::other ? Reason::unsupported : Reason::event_missing;
            if (claim.t == first_overdue()) return finish({reason, claim.neuron, claim.sample, claim.t});
        }
    return finish({});
}

/// The earliest claimed time of a neuron's next event: what lies before it agrees with the claims.
double Prover::first_overdue() const {
    double first = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < neurons_.size(); ++j)
        if (neurons_[j].next < claims_[j].size()) first = std::min(first, claims_[j][neurons_[j].next].t);
    return first;
}

ProofRecord Prover::finish(Failure failure) {
    record_.failure = failure;
    record_.proved_until = std::min(t_, std::max(record_.proved_until, std::min(t_, first_overdue())));
    record_.bound = total_;
    std::stable_sort(record_.events.begin(), record_.events.end(),
                     [](const ProvedEvent& e, const ProvedEvent& f) { return e.t_lo + e.t_hi < f.t_lo + f.t_hi; });
    return std::move(record_);
}

/// A length that t + length meets exactly: the sum and its difference to t are doubles. 0 if there is none.
double Prover::exact_length(double length) const {
    double end = std::min(settings_.until, t_ + length);
    if (t_ > 0.0) end = std::min(end, 2.0 * t_);  // then end - t is exact [Sterbenz]
    return end - t_;
}

double Prover::longest_step() const {
    const double scale = series_.dual_sums[0] > 0.0 ? 1.0 / series_.dual_sums[0] : settings_.until;
    const double longest = last_ > 0.0 ? 3.0 * last_ : 64.0 * scale;
    return std::min({longest, settings_.longest, settings_.until - t_});
}

/// Claims that may fall into the step, with what they would cost there.
std::vector<Ahead> Prover::events_ahead(double longest) const {
    std::vector<Ahead> ahead;
    for (std::size_t k = passed_; k < ordered_.size() && ordered_[k].t <= t_ + longest; ++k) {
        const Claim& claim = ordered_[k];
        const ProvedNeuron& neuron = neurons_[at(claim.neuron)];
        if (rank_[k] < neuron.next || (is_leave(claim.kind) && !leaves_alone(k))) continue;
        Ahead next = is_leave(claim.kind) ? release_ahead(claim) : boundary_ahead(claim);
        next.time = std::max(0.0, claim.t - t_);
        ahead.push_back(next);
        // No step gets to what lies beyond the budget; thousands may.
        if (ahead.size() % kLookedAt == 0 && kink_cost(ahead, next.time) > settings_.kink_budget) break;
    }
    return ahead;
}

/// Whether the neuron slides on the boundary now and leaves it without reaching another one at that instant.
bool Prover::leaves_alone(std::size_t k) const {
    const Claim& claim = ordered_[k];
    const std::vector<Claim>& own = claims_[at(claim.neuron)];
    const Boundaries& boundaries = samples_.boundaries;
    const bool thrown_out = std::any_of(own.begin(), own.end(), [&](const Claim& other) {
        return other.t == claim.t && !boundaries.same(other.sample, claim.sample);
    });
    return !thrown_out && neurons_[at(claim.neuron)].held.find(boundaries.first[at(claim.sample)]) >= 0;
}

Ahead Prover::boundary_ahead(const Claim& claim) const {
    const ProvedNeuron& neuron = neurons_[at(claim.neuron)];
    const double size = samples_.size[at(claim.sample)];
    const double dual = std::abs(series_.dual[0][at(claim.sample)]);
    const double* g = series_.g[0].data() + claim.neuron * samples_.d;
    const double signed_pull = dot(g, samples_.row(claim.sample), samples_.d);
    const double pull = std::abs(signed_pull);
    const double a = std::abs(neuron.a);
    // The window follows the slower rate, before the event or after it.
    const bool crosses = claim.kind == Kind::cross_up || claim.kind == Kind::cross_down;
    const double direction = (claim.kind == Kind::cross_up ? 1.0 : -1.0) * samples_.boundaries.side(claim.sample);
    double turn = 0.0;
    for (const Member& member : samples_.boundaries.of(claim.sample))
        turn += member.side(direction) * series_.dual[0][at(member.sample)] *
                dot(samples_.row(member.sample), samples_.row(claim.sample), samples_.d);
    const double after = crosses ? std::abs(signed_pull + (1.0 - samples_.leak) * turn) : pull;
    const double slower = std::min(pull, std::max(after, kSlowest * pull));
    const double slope = samples_.loss == LossKind::logistic ? 0.25 : series_.p[0][at(claim.sample)];
    const double kink = samples_.norm * 1.5 * samples_.norm * a * a * dual * size + size * a * a * pull;
    return {0.0, 8.0 * size * (neuron.radius + kUnit * a) / (a * slower + kTiny), kink * slope * samples_.share, 0.0};
}

/// Where a multiplier meets its bound, the duals' error over its rate is the window.
Ahead Prover::release_ahead(const Claim& claim) const {
    const auto j = at(claim.neuron);
    const Index position = neurons_[j].held.find(samples_.boundaries.first[at(claim.sample)]);
    const double* multipliers = series_.held[j].multipliers.data();
    const Index size = neurons_[j].held.size();
    const double bound = claim.kind == Kind::leave_up ? 1.0 : samples_.leak;
    const auto inside = [&](Index k) {
        return bound * series_.dual[at(k)][at(claim.sample)] - multipliers[k * size + position];
    };
    double moved = 0.0;
    for (const ProvedNeuron& neuron : neurons_) moved += neuron.radius * (std::abs(neuron.a) + kTiny);
    const double slope = samples_.loss == LossKind::logistic ? 0.25 : series_.p[0][at(claim.sample)];
    // Of the sum over the others, and of the sample's own dual.
    const double gain = samples_.norm * neurons_[j].held.inverse() + 1.0;
    const double error = 4.0 * slope * samples_.share * samples_.norm * gain * moved;
    const double rate = std::abs(inside(1));
    const double a = samples_.norm * neurons_[j].a;
    const double dual = std::abs(series_.dual[0][at(claim.sample)]);
    return {0.0, 8.0 * (error + kUnit * dual) / (rate + kTiny), 0.0,
            kReleased * slope * samples_.share * a * a * series_.g_norm[1][j]};
}

Failure Prover::step() {
    if (!series_.expand(neurons_, order_)) return {Reason::precision, -1, -1, t_};
    const double natural = natural_length(samples_, series_, longest_step(), settings_.last_term);
    std::vector<Ahead> ahead = events_ahead(natural);
    double length = natural;
    Failure failure;
    for (int trial = 0; trial < kTrials; ++trial) {
        const double exact = exact_length(end_between(ahead, length, settings_.kink_budget));
        if (!(exact > 0.0)) break;
        failure = attempt(exact);
        if (!failure) {
            // Steps that events shorten need no high order.
            const int change = exact < 0.5 * natural ? -1 : 1;
            if (settings_.order == 0) order_ = std::clamp(order_ + change, kLowestOrder, kHighestOrder);
            last_ = natural;
            return {};
        }
        if (failure.reason == Reason::order_in_neuron && trial < kWidened) {
            // A window is wider than was guessed: the step is to end further away from it.
            for (Ahead& event : ahead) event.window *= kWider;
            continue;
        }
        length = std::min(length, exact) * kShorter;
    }
    return refusal(failure ? failure : Failure{Reason::precision, -1, -1, t_});
}

/// What to say of a step that cannot be proved at any length.
Failure Prover::refusal(Failure failure) const {
    failure.time = t_;
    if (failure.neuron < 0) return failure;
    const auto j = at(failure.neuron);
    const std::size_t next = neurons_[j].next;
    if (next < claims_[j].size() && claims_[j][next].kind == Kind::other &&
        failure.reason == Reason::event_not_excluded) {
        failure.reason = Reason::unsupported;
        failure.sample = claims_[j][next].sample;
    }
    return failure;
}

Failure Prover::attempt(double length) {
    const auto m = static_cast<Index>(neurons_.size());
    if (!bound_duals(samples_, series_, m, length, terms_, bounds_)) return {Reason::tube, -1, -1, t_};
    const TrialMaker maker(samples_, series_, bounds_, terms_);
    if (Failure failure = maker.make(neurons_, claims_, t_, trial_)) return failure;
    if (Failure failure = tube_.close(neurons_, total_, trial_)) return failure;
    const PieceMaker pieces(samples_, series_, bounds_, terms_);
    if (Failure failure = exclude_other_events(samples_, neurons_, trial_, tube_, pieces, order_)) return failure;
    enclose();
    commit();
    return {};
}

/// Keeps the states that were asked for in this step.
void Prover::enclose() {
    while (next_at_ < settings_.at.size() && settings_.at[next_at_] <= t_ + trial_.length)
        enclose_at(settings_.at[next_at_++]);
}

void Prover::enclose_at(double t) {
    Enclosure enclosure;
    enclosure.t = t;
    const bool at_start = t <= t_;
    const PieceMaker maker(samples_, series_, bounds_, terms_);
    std::vector<double> w;
    for (std::size_t j = 0; j < neurons_.size(); ++j) {
        w = neurons_[j].w;
        double a = neurons_[j].a;
        double radius = (neurons_[j].radius + neurons_[j].held.off(w.data())) * kUp;
        if (!at_start) {
            std::size_t k = trial_.first[j];
            while (k + 1 < trial_.first[j + 1] && trial_.pieces[k + 1].start <= t - t_) ++k;
            const Piece& piece = trial_.pieces[k];
            maker.state(piece, (t - t_) - piece.start, w, a);
            const double speed = (piece.g_size + piece.g_error) * piece.size;
            radius = (tube_.assumed(static_cast<Index>(j)) + piece.storage + 4.0 * kUnit * t * speed) * kUp;
        }
        enclosure.W.insert(enclosure.W.end(), w.begin(), w.end());
        enclosure.a.push_back(a);
        enclosure.radius.push_back(radius);
        std::vector<std::int8_t> signs = neurons_[j].signs;
        for (const Crossing& event : at_start ? std::vector<Crossing>{} : trial_.crossings)
            if (static_cast<std::size_t>(event.neuron) == j && event.time <= t - t_) apply(samples_, event, {}, signs);
        enclosure.signs.insert(enclosure.signs.end(), signs.begin(), signs.end());
    }
    record_.states.push_back(std::move(enclosure));
}

void Prover::record(const Crossing& event) {
    const double t = t_ + event.time;
    const double rounding = 4.0 * kUnit * (t + trial_.length);
    const auto add = [&](Index boundary, Kind up, Kind down, double direction) {
        for (const Member& member : samples_.boundaries.of(boundary))
            record_.events.push_back({t - event.delay * kUp - rounding, t + event.delay * kUp + rounding, event.margin,
                                      static_cast<std::int32_t>(event.neuron), static_cast<std::int32_t>(member.sample),
                                      member.side(direction) > 0.0 ? up : down});
    };
    const bool crosses = event.kind == Kind::cross_up || event.kind == Kind::cross_down;
    if (crosses) add(event.sample, Kind::cross_up, Kind::cross_down, event.direction);
    if (is_leave(event.kind)) add(event.sample, Kind::leave_up, Kind::leave_down, event.direction);
    if (!crosses && !is_leave(event.kind)) add(event.sample, event.kind, event.kind, event.direction);
    for (const Departure& departure : event.left)
        add(departure.sample, Kind::leave_up, Kind::leave_down, departure.direction);
}

/// Takes out what rounding has put between a neuron and the boundaries that it slides on. Returns a bound of how far
/// the projections of the old state and of the new one are apart.
double Prover::put_on_boundaries(ProvedNeuron& neuron) const {
    const std::vector<double> old = neuron.w;
    std::vector<double> multipliers(at(neuron.held.size()));
    neuron.held.project(old.data(), neuron.w.data(), multipliers.data());
    double moved = 0.0;
    for (std::size_t c = 0; c < old.size(); ++c) moved += std::abs(neuron.w[c] - old[c]);
    return (neuron.held.off(old.data()) + moved + neuron.held.off(neuron.w.data())) * kUp + kTiny;
}

/// The step is proved: its end is the next start.
void Prover::commit() {
    const PieceMaker maker(samples_, series_, bounds_, terms_);
    for (const Crossing& event : trial_.crossings) {
        ProvedNeuron& neuron = neurons_[at(event.neuron)];
        apply(samples_, event, {}, neuron.signs);
        neuron.resting = neuron.resting || event.rests;
        neuron.next += event.claims;
        neuron.find_slopes(samples_.leak);
        record(event);
    }
    double squares = 0.0;
    for (std::size_t j = 0; j < neurons_.size(); ++j) {
        const Piece& last = trial_.pieces[trial_.first[j + 1] - 1];
        if (!last.resting) maker.state(last, last.length, neurons_[j].w, neurons_[j].a);
        if (last.resting && trial_.first[j] + 1 < trial_.first[j + 1]) {
            neurons_[j].w.assign(last.w.begin(), last.w.begin() + samples_.d);
            neurons_[j].a = last.a[0];
        }
        neurons_[j].held = last.held;
        neurons_[j].starting.clear();
        const double moved = last.held.empty() ? 0.0 : put_on_boundaries(neurons_[j]);
        neurons_[j].radius = (tube_.radius()[j] + moved) * kUp;
        squares += moved * moved;
    }
    total_ = (tube_.total() + std::sqrt(squares)) * kUp + kTinyNorm;
    t_ += trial_.length;
    ++record_.steps;
    while (passed_ < ordered_.size() && rank_[passed_] < neurons_[at(ordered_[passed_].neuron)].next) ++passed_;
}

}  // namespace reluflow::proof
