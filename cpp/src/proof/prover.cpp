#include "proof/prover.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "proof/exclusion.hpp"
#include "proof/rounding.hpp"

namespace reluflow::proof {
namespace {

/// Orders of the Taylor polynomials. Where events bound the steps a low one is enough; each order costs two products
/// with X. In doubles 16 covers three to four time constants, where a higher one gains less than it costs.
template <class Real>
constexpr int kLowestOrder = std::is_same_v<Real, double> ? 6 : 8;
template <class Real>
constexpr int kHighestOrder = std::is_same_v<Real, double> ? 16 : 32;
/// Late steps are about as long as the time: their powers up to twice the order are to stay below 1e280.
constexpr double kLargestExponent = 140.0;
/// The last terms of a step's polynomials, relative: below rounding.
template <class Real>
constexpr double kLastTerm = 0.5 * kUnitOf<Real>;
/// Relative error that neglected kinks may add in a step: in doubles 4e-15, so that 1e4 steps add 4e-11.
template <class Real>
constexpr double kKinkBudget = std::is_same_v<Real, double> ? 4e-15 : 36 * kUnitOf<Real>;
/// A step that fails is tried again this much shorter, down to a rounding of the time.
constexpr double kShorter = 0.4;
constexpr int kTrials = 60;
/// How often, and how much, windows are taken to be wider than guessed before a step is shortened.
constexpr int kWidened = 6;
constexpr double kWider = 4.0;
/// How often, and to what part of its length, the way of a step behind a slow event is shortened.
constexpr int kSooner = 5;
constexpr double kCloser = 0.25;
/// A claim is overdue when its time has passed by this part of it, which no useful guess is wrong by.
constexpr double kOverdue = 0.01;

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

/// An event within `delay` of t, which is rounded by less than `rounding`. The ends are rounded to doubles: in doubles
/// `rounding` has room for that.
ProvedEvent enclosed(double t, double delay, double rounding) {
    return {.t_lo = t - delay - rounding,
            .t_hi = t + delay + rounding,
            .t = t,
            .t_low = 0.0,
            .t_radius = (delay + rounding) * kUp};
}
ProvedEvent enclosed(const DoubleDouble& t, double delay, double rounding) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double radius = (delay + rounding) * kUp;
    return {.t_lo = std::nextafter(t.high + (t.low - radius), -kInfinity),
            .t_hi = std::nextafter(t.high + (t.low + radius), kInfinity),
            .t = t.high,
            .t_low = t.low,
            .t_radius = radius};
}

/// Zero for ever, or inactive on every sample but for boundaries that attract it: its gradient is zero and stays so.
template <class Real>
bool never_moves(const ProvedNeuron<Real>& neuron, const Samples& samples) {
    const bool zero =
        neuron.a == 0.0 && std::all_of(neuron.w.begin(), neuron.w.end(), [](const Real& c) { return c == 0.0; });
    if (zero || samples.leak != 0.0) return zero;
    for (Index i = 0; i < samples.n; ++i)
        if (neuron.signs[at(i)] > 0 || (neuron.signs[at(i)] == 0 && !(neuron.a * samples.y[at(i)] < 0.0))) return false;
    return true;
}

}  // namespace

template <class Real>
Prover<Real>::Prover(Samples samples, std::vector<ProvedNeuron<Real>> neurons, double start_time,
                     const std::vector<Claim>& claims, ProverSettings settings)
    : samples_(std::move(samples)),
      neurons_(std::move(neurons)),
      t_(start_time),
      book_(claims, static_cast<Index>(neurons_.size())),
      settings_(std::move(settings)),
      terms_(settings_.dropped),
      series_(samples_, static_cast<Index>(neurons_.size())),
      tube_(samples_, series_, bounds_, terms_),
      order_(settings_.order > 0 ? settings_.order : kHighestOrder<Real>) {
    if (settings_.last_term == 0.0) settings_.last_term = kLastTerm<Real>;
    if (settings_.kink_budget == 0.0) settings_.kink_budget = kKinkBudget<Real>;
    for (ProvedNeuron<Real>& neuron : neurons_) {
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
template <class Real>
void Prover<Real>::put_on_first_boundaries(ProvedNeuron<Real>& neuron) const {
    std::vector<Index> rows;
    for (Index i = 0; i < samples_.n; ++i)
        if (neuron.signs[at(i)] == 0 && samples_.boundaries.first[at(i)] == i) rows.push_back(i);
    neuron.held = HeldSet(samples_, rows);
}

template <class Real>
ProofRecord Prover<Real>::run(const std::function<Request(const ProofProgress&)>& ask) {
    for (const ProvedNeuron<Real>& neuron : neurons_)
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
            if (neurons_[j].next >= book_.of_neuron[j].size()) continue;
            const Claim& claim = book_.of_neuron[j][neurons_[j].next];
            const Reason reason = claim.kind == Kind::other ? Reason::unsupported : Reason::event_missing;
            if (claim.t == first_overdue()) return finish({reason, claim.neuron, claim.sample, claim.t});
        }
    return finish({});
}

/// The earliest claimed time of a neuron's next event: what lies before it agrees with the claims.
template <class Real>
double Prover<Real>::first_overdue() const {
    double first = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < neurons_.size(); ++j)
        if (neurons_[j].next < book_.of_neuron[j].size())
            first = std::min(first, book_.of_neuron[j][neurons_[j].next].t);
    return first;
}

template <class Real>
ProofRecord Prover<Real>::finish(Failure failure) {
    record_.failure = failure;
    record_.proved_until = std::min(t_, std::max(record_.proved_until, std::min(t_, first_overdue())));
    record_.bound = total_;
    const auto middle = [](const ProvedEvent& e) {
        return std::is_same_v<Real, double> ? std::pair{e.t_lo + e.t_hi, 0.0} : std::pair{e.t, e.t_low};
    };
    std::stable_sort(record_.events.begin(), record_.events.end(),
                     [&](const ProvedEvent& e, const ProvedEvent& f) { return middle(e) < middle(f); });
    return std::move(record_);
}

/// A length that t + length meets exactly: the sum and its difference to t are doubles. 0 if there is none.
template <class Real>
double Prover<Real>::exact_length(double length) const {
    double end = std::min(settings_.until, t_ + length);
    if (t_ > 0.0) end = std::min(end, 2.0 * t_);  // then end - t is exact [Sterbenz]
    return end - t_;
}

template <class Real>
double Prover<Real>::longest_step() const {
    const double scale = series_.dual_sums[0] > 0.0 ? 1.0 / series_.dual_sums[0] : settings_.until;
    const double longest = last_ > 0.0 ? 3.0 * last_ : 64.0 * scale;
    return std::min({longest, settings_.longest, settings_.until - t_});
}

template <class Real>
Failure Prover<Real>::step() {
    if (!series_.expand(neurons_, order_)) return {Reason::precision, -1, -1, t_};
    const double natural = natural_length(samples_, series_, longest_step(), settings_.last_term);
    const Outlook<Real> outlook(samples_, series_, neurons_, book_, t_);
    std::vector<Ahead> ahead = outlook.events(natural, settings_.kink_budget);
    // Ends are doubles: where steps end soon after an event this is how soon they can.
    const double grain = std::is_same_v<Real, double> ? 0.0 : 2.0 * kUnit * (t_ + natural);
    double length = natural;
    double end = end_between(ahead, length, settings_.kink_budget, grain);
    int sooner = 0;
    Failure failure;
    for (int trial = 0; trial < kTrials; ++trial) {
        const double exact = exact_length(end);
        if (!(exact > 0.0)) break;
        failure = attempt(exact);
        if (!failure) {
            choose_order(exact / natural);
            last_ = natural;
            return {};
        }
        const bool slow = failure.reason == Reason::release_slope || failure.reason == Reason::not_transversal;
        if (slow && sooner++ < kSooner) {
            // The rate at an event is to exceed its error, which grows with what others miss behind the event: a step
            // that ends sooner after it misses less. One that ends before it may be too close to it for the next.
            end = failure.time + kCloser * (exact - failure.time);
            continue;
        }
        if (failure.reason == Reason::order_in_neuron && trial < kWidened)
            // A window is wider than was guessed: the step is to end further away from it.
            for (Ahead& event : ahead) event.window *= kWider;
        else
            length = std::min(length, exact) * kShorter;
        end = end_between(ahead, length, settings_.kink_budget, grain);
    }
    return refusal(failure ? failure : Failure{Reason::precision, -1, -1, t_});
}

/// The next order: steps that events shorten need no high one. Where each event ends a step they get all lengths, and
/// the order is to be high enough for most of them.
template <class Real>
void Prover<Real>::choose_order(double used) {
    if (settings_.order > 0) return;
    int change = used < 0.5 ? -1 : 1;
    if (!std::is_same_v<Real, double>) change = used < 0.1 ? -1 : used < 0.9 ? 0 : 2;
    int highest = kHighestOrder<Real>;
    if (!std::is_same_v<Real, double>)
        highest = std::min(highest, static_cast<int>(kLargestExponent / std::log10(std::max(t_, 10.0))));
    order_ = std::clamp(order_ + change, kLowestOrder<Real>, std::max(highest, kLowestOrder<Real>));
}

/// Whether a neuron that slides comes to two boundaries at once that are one in what it slides along.
template <class Real>
bool Prover<Real>::meets_dependent(std::size_t neuron, Index claimed, Index other) const {
    std::vector<Index> rows = neurons_[neuron].held.rows();
    if (rows.empty() || samples_.boundaries.same(claimed, other)) return false;
    if (std::ssize(rows) + 1 >= samples_.d) return false;  // it passes the origin, where all meet
    rows.insert(rows.end(), {claimed, other});
    return !HeldSet(samples_, rows).independent();
}

/// What to say of a step that cannot be proved at any length.
template <class Real>
Failure Prover<Real>::refusal(Failure failure) const {
    failure.time = t_;
    if (failure.neuron < 0) return failure;
    const auto j = at(failure.neuron);
    const std::size_t next = neurons_[j].next;
    if (next < book_.of_neuron[j].size() && book_.of_neuron[j][next].kind == Kind::other &&
        failure.reason == Reason::event_not_excluded) {
        failure.reason = Reason::unsupported;
        failure.sample = book_.of_neuron[j][next].sample;
    }
    if (failure.reason == Reason::event_not_excluded && next < book_.of_neuron[j].size() &&
        meets_dependent(j, book_.of_neuron[j][next].sample, failure.sample))
        failure.reason = Reason::dependent_boundaries;
    return failure;
}

template <class Real>
Failure Prover<Real>::attempt(double length) {
    const auto m = static_cast<Index>(neurons_.size());
    if (!bound_duals(samples_, series_, m, length, terms_, bounds_)) return {Reason::tube, -1, -1, t_};
    const TrialMaker<Real> maker(samples_, series_, bounds_, terms_);
    if (Failure failure = maker.make(neurons_, book_.of_neuron, t_, trial_)) return failure;
    if (Failure failure = tube_.close(neurons_, total_, trial_)) return failure;
    const PieceMaker<Real> pieces(samples_, series_, bounds_, terms_);
    if (Failure failure = exclude_other_events(samples_, neurons_, trial_, tube_, pieces, order_)) return failure;
    enclose();
    commit();
    return {};
}

/// Keeps the states that were asked for in this step.
template <class Real>
void Prover<Real>::enclose() {
    while (next_at_ < settings_.at.size() && settings_.at[next_at_] <= t_ + trial_.length)
        enclose_at(settings_.at[next_at_++]);
}

template <class Real>
void Prover<Real>::enclose_at(double t) {
    Enclosure enclosure;
    enclosure.t = t;
    const bool at_start = t <= t_;
    const PieceMaker<Real> maker(samples_, series_, bounds_, terms_);
    const Real since = difference<Real>(t, t_);
    std::vector<Real> w;
    for (std::size_t j = 0; j < neurons_.size(); ++j) {
        w = neurons_[j].w;
        Real a = neurons_[j].a;
        double radius = (neurons_[j].radius + neurons_[j].held.off(w.data())) * kUp;
        if (!at_start) {
            std::size_t k = trial_.first[j];
            while (k + 1 < trial_.first[j + 1] && trial_.pieces[k + 1].start <= since) ++k;
            const Piece<Real>& piece = trial_.pieces[k];
            maker.state(piece, since - piece.start, w, a);
            const double speed = (piece.g_size + piece.g_error) * piece.size;
            radius = (tube_.assumed(static_cast<Index>(j)) + piece.storage + 4.0 * kUnitOf<Real> * t * speed) * kUp;
        }
        for (const Real& entry : w) {
            enclosure.W.push_back(rounded(entry));
            enclosure.W_low.push_back(rest_of(entry));
        }
        enclosure.a.push_back(rounded(a));
        enclosure.a_low.push_back(rest_of(a));
        enclosure.radius.push_back(radius);
        std::vector<std::int8_t> signs = neurons_[j].signs;
        for (const Crossing<Real>& event : at_start ? std::vector<Crossing<Real>>{} : trial_.crossings)
            if (static_cast<std::size_t>(event.neuron) == j && event.time <= since) apply(samples_, event, {}, signs);
        enclosure.signs.insert(enclosure.signs.end(), signs.begin(), signs.end());
    }
    record_.states.push_back(std::move(enclosure));
}

template <class Real>
void Prover<Real>::record(const Crossing<Real>& event) {
    const Real t = t_ + event.time;
    const double rounding = 4.0 * kUnitOf<Real> * (rounded(t) + trial_.length);
    const ProvedEvent time = enclosed(t, event.delay * kUp, rounding);
    const auto add = [&](Index boundary, Kind up, Kind down, double direction) {
        for (const Member& member : samples_.boundaries.of(boundary)) {
            ProvedEvent& added = record_.events.emplace_back(time);
            added.margin = event.margin;
            added.neuron = static_cast<std::int32_t>(event.neuron);
            added.sample = static_cast<std::int32_t>(member.sample);
            added.kind = member.side(direction) > 0.0 ? up : down;
        }
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
template <class Real>
double Prover<Real>::put_on_boundaries(ProvedNeuron<Real>& neuron) const {
    const std::vector<Real> old = neuron.w;
    std::vector<Real> multipliers(at(neuron.held.size()));
    neuron.held.project(old.data(), neuron.w.data(), multipliers.data());
    double moved = 0.0;
    for (std::size_t c = 0; c < old.size(); ++c) moved += magnitude(neuron.w[c] - old[c]);
    return (neuron.held.off(old.data()) + moved + neuron.held.off(neuron.w.data())) * kUp + kTiny;
}

/// The step is proved: its end is the next start.
template <class Real>
void Prover<Real>::commit() {
    const PieceMaker<Real> maker(samples_, series_, bounds_, terms_);
    for (const Crossing<Real>& event : trial_.crossings) {
        ProvedNeuron<Real>& neuron = neurons_[at(event.neuron)];
        apply(samples_, event, {}, neuron.signs);
        neuron.resting = neuron.resting || event.rests;
        neuron.next += event.claims;
        neuron.find_slopes(samples_.leak);
        record(event);
    }
    double squares = 0.0;
    for (std::size_t j = 0; j < neurons_.size(); ++j) {
        const Piece<Real>& last = trial_.pieces[trial_.first[j + 1] - 1];
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
    std::size_t& passed = book_.passed;
    while (passed < book_.ordered.size() && book_.rank[passed] < neurons_[at(book_.ordered[passed].neuron)].next)
        ++passed;
}

template class Prover<double>;
template class Prover<DoubleDouble>;

}  // namespace reluflow::proof
