#include "layered/event_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/tolerances.hpp"
#include "layered/approach.hpp"
#include "layered/stem_factors.hpp"
#include "numeric/polynomial.hpp"

namespace reluflow::layered {
namespace {

/// Events closer than this part of the step are one set: the rounding of a root.
constexpr double kOneSet = 1e-13;

/// What comes to its boundary by this part of the step after an event is asked whether it is met with it.
constexpr double kSoonAfter = 1e-6;

// True if z = w t of a place that is zero now is so by w.
bool is_zero(const Jet& jet, const Boundary& own) {
    if (own.is_parameter()) return jet.boundary_coefficient(own, 0) == 0.0;
    const Input& root = own.inputs.front();
    return root.node < 1 || jet.z(root.node).at(0, own.members.front().sample, root.unit) != 0.0;
}

int sign(double x) noexcept {
    return (x > 0.0) - (x < 0.0);
}

}  // namespace

double EventSearch::find(const Jet& jet, double end, const std::vector<int>& joint, std::vector<Contact>& contacts,
                         double missed, double usual, double until) {
    end_ = end;
    until_ = std::max(end, until);
    missed_ = missed;
    usual_ = usual;
    joint_ = joint;
    found_.clear();
    contacts.clear();
    is_doubtful_ = is_in_doubt_ = false;
    for (int v = 1; v < jet.activity().graph().count(); ++v)
        if (!jet.activity().graph().node(v).linear) search_places(jet, v);
    if (jet.activity().any_single()) search_single(jet);
    if (!jet.sliding().empty()) search_sliding(jet);
    search_groups(jet);
    if (found_.empty()) return kNoRoot;
    const double first = std::ranges::min(found_, {}, &Candidate::u).u;
    const double last = first + kOneSet * end;
    std::erase_if(found_, [&](const auto& c) { return c.u > last && !(c.is_of_z && is_met_at(jet, c.place, first)); });
    is_doubtful_ = std::ranges::any_of(found_, [](const Candidate& c) { return !c.is_known; });
    if (is_doubtful_) return first;
    collect(jet, contacts);
    return first;
}

double EventSearch::guess(const Jet& jet) {
    double first = kNoRoot;
    for (int v = 1; v < jet.activity().graph().count(); ++v) {
        if (jet.activity().graph().node(v).linear) continue;
        const auto z = jet.z(v).order(0).array();
        const auto rate = jet.z(v).order(1).array();
        first = std::min(first, (z * rate < 0.0).select(-z / rate, kNoRoot).minCoeff());
    }
    return first;
}

// A start on the wrong side by rounding counts as zero.
double EventSearch::descent(double* c, int order, double end) noexcept {
    c[0] = std::max(c[0], 0.0);
    return first_descent(c, order, end);
}

void EventSearch::add(double u, Candidate candidate) {
    if (u > end_) return;
    candidate.u = u;
    found_.push_back(candidate);
    end_ = std::min(end_, u + kSoonAfter * end_);
}

// Most places are far from zero: |z_0| > Σ |z_k| u^k drops them. Many places go through the orders together, and which
// are left is written down without a branch.
void EventSearch::list_near(const Jet& jet, int v) {
    constexpr Index kAtOnce = 512;
    const SampleSeries& z = jet.z(v);
    const std::int8_t* sides = jet.activity().sides(v).data();
    const Index places = jet.activity().sides(v).size();
    std::array<double, kAtOnce> reach{};
    near_.resize(static_cast<std::size_t>(places));
    std::size_t count = 0;
    for (Index begin = 0; begin < places; begin += kAtOnce) {
        const Index size = std::min(kAtOnce, places - begin);
        reach.fill(0.0);
        for (int k = jet.order(); k >= 1; --k) {
            const double* c = z.data(k) + begin;
            for (Index p = 0; p < size; ++p) reach[p] = (reach[p] + std::abs(c[p])) * end_;
        }
        const double* start = z.data(0) + begin;
        for (Index p = 0; p < size; ++p) {
            near_[count] = begin + p;
            count += sides[begin + p] * start[p] > reach[p] ? 0 : 1;
        }
    }
    near_.resize(count);
}

void EventSearch::search_places(const Jet& jet, int v) {
    const SampleSeries& z = jet.z(v);
    const int order = jet.order();
    const SignMatrix& modes = jet.activity().modes(v);
    const SignMatrix& singles = jet.activity().singles(v);
    const SignMatrix& sides = jet.activity().sides(v);
    list_near(jet, v);
    Approach approach(jet);
    Row c;
    for (const Index place : near_) {
        const Index i = place / z.size();
        const Index u = place % z.size();
        if (modes(i, u) != static_cast<std::int8_t>(Mode::moving) || singles(i, u) == 1 || singles(i, u) == 2) continue;
        for (int k = 0; k <= order; ++k) c[k] = sides(i, u) * z.at(k, i, u);
        Candidate candidate;
        candidate.place = {v, i, u};
        candidate.is_shared = singles(i, u) != 0;
        candidate.from = sides(i, u);
        if (candidate.is_shared) {
            const Activity& activity = jet.activity();
            candidate.from *= activity.input_sign({v, i, u}, activity.boundary_of({v, i, u}).inputs.front());
        }
        const Descent found = approach.of(candidate.place, c, end_);
        candidate.is_known = candidate.is_of_z = found.is_known;
        add(found.u, candidate);
    }
}

// Places with one live input share the boundary of its entry: each entry is searched once.
void EventSearch::search_single(const Jet& jet) {
    const Activity& activity = jet.activity();
    seen_.clear();
    Approach approach(jet);
    std::vector<std::optional<StemFactors>> factors(static_cast<std::size_t>(activity.samples()));
    Row c;
    for (int v = 1; v < activity.graph().count(); ++v)
        for (Index i = 0; i < activity.samples(); ++i)
            for (Index u = 0; u < activity.graph().node(v).size; ++u) {
                const Place p{v, i, u};
                if (activity.shared_by(p) == 0 || activity.shared_by(p) == 3) continue;
                if (activity.mode(p) != Mode::moving) continue;
                const Boundary own = activity.boundary_of(p);
                if (!own.is_shared()) continue;  // a fixed entry: it follows its input
                const std::tuple key{own.parameter, own.constant, own.stem};
                if (std::ranges::find(seen_, key) != seen_.end()) continue;
                seen_.push_back(key);
                if (own.is_parameter())
                    for (int k = 0; k <= jet.order(); ++k) c[k] = jet.boundary_coefficient(own, k);
                else
                    c = (factors[i] ? *factors[i] : factors[i].emplace(jet, i)).of(v, u, own.inputs.front());
                Candidate candidate;
                candidate.place = p;
                candidate.parameter = own.parameter;
                candidate.constant = own.constant;
                candidate.is_shared = true;
                candidate.from = activity.side(p) * activity.input_sign(p, own.inputs[0]);
                // What is left of a weight that slid with its unit is rounding of θ: it is on its boundary.
                if (own.is_parameter() && candidate.from * c[0] < 0.0) {
                    const bool is_on = std::abs(c[0]) <= std::max(jet.theta_error(), rounding_of_theta(jet));
                    if (is_on) c[0] = 0.0;
                    if (!is_on) candidate.from = sign(c[0]);
                }
                for (int k = 0; k <= jet.order(); ++k) c[k] *= candidate.from;
                for (const Zero& zero : activity.zeros())  // w that has just got its side has as many zeros as z
                    for (int k = 0; zero.place == p && zero.is_chosen && is_zero(jet, own) && k < zero.orders; ++k)
                        c[k] = 0.0;
                if (own.is_parameter()) {
                    const Descent found = approach.of(own, c, end_);
                    candidate.is_known = found.is_known;
                    add(found.u, candidate);
                } else {
                    add(descent(c.data(), jet.order(), end_), candidate);
                }
            }
}

void EventSearch::add_contact(const Activity& activity, const Place& p, std::vector<Contact>& contacts) {
    Contact contact;
    contact.boundary = activity.whole_boundary_of(p);
    contact.from = activity.side(p);
    if (contact.boundary.is_shared()) contact.from *= activity.input_sign(p, activity.boundary_of(p).inputs.front());
    contact.wants = -contact.from;
    const auto same = [&](const Contact& other) { return other.boundary.is_same(contact.boundary); };
    if (std::ranges::none_of(contacts, same)) contacts.push_back(std::move(contact));
}

void EventSearch::collect(const Jet& jet, std::vector<Contact>& contacts) const {
    for (const Candidate& c : found_) {
        if (c.group >= 0) {
            add_ray(jet, c, contacts);
            continue;
        }
        Contact contact;
        contact.from = c.from;
        contact.turns = c.turns;
        contact.begins = c.begins;
        contact.beyond = c.beyond;
        contact.known = c.known * jet.span();
        contact.wants = c.sliding >= 0 ? c.wants : -c.from;
        if (c.sliding >= 0)
            contact.boundary = jet.sliding().boundaries()[c.sliding];
        else if (c.is_shared)
            contact.boundary = jet.activity().whole_boundary_of(c.place);
        else
            contact.boundary.members = {c.place};
        const auto same = [&](const Contact& other) { return other.boundary.is_same(contact.boundary); };
        const auto known = std::ranges::find_if(contacts, same);
        if (known == contacts.end()) contacts.push_back(std::move(contact));
    }
}

}  // namespace reluflow::layered
