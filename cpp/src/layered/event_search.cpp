#include "layered/event_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/tolerances.hpp"
#include "layered/sliding_bounds.hpp"
#include "numeric/polynomial.hpp"

namespace reluflow::layered {
namespace {

/// Events closer than this part of the step are one set: the rounding of a root.
constexpr double kOneSet = 1e-13;

/// First descent of c from its own side; a start on the wrong side by rounding counts as zero.
double descent(double* c, int order, double end) noexcept {
    c[0] = std::max(c[0], 0.0);
    return first_descent(c, order, end);
}

int sign(double x) noexcept {
    return (x > 0.0) - (x < 0.0);
}

}  // namespace

double EventSearch::find(const Jet& jet, double end, std::vector<Contact>& contacts) {
    end_ = end;
    found_.clear();
    contacts.clear();
    for (int v = 1; v < jet.activity().graph().count(); ++v)
        if (!jet.activity().graph().node(v).linear) search_places(jet, v);
    if (jet.activity().any_single()) search_single(jet);
    if (!jet.sliding().empty()) search_sliding(jet);
    if (found_.empty()) return kNoRoot;
    const double first = std::ranges::min(found_, {}, &Candidate::u).u;
    std::erase_if(found_, [&](const Candidate& c) { return c.u > first + kOneSet * end; });
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

void EventSearch::add(double u, Candidate candidate) {
    if (u > end_) return;
    candidate.u = u;
    found_.push_back(candidate);
    end_ = std::min(end_, u * (1.0 + kOneSet) + kOneSet * end_);
}

// Most places are far from zero: |z_0| > Σ |z_k| u^k drops them.
void EventSearch::search_places(const Jet& jet, int v) {
    const SampleSeries& z = jet.z(v);
    const int order = jet.order();
    reach_ = z.order(order).cwiseAbs() * end_;
    for (int k = order - 1; k >= 1; --k) reach_ = (reach_ + z.order(k).cwiseAbs()) * end_;
    const auto start = z.order(0);
    const SignMatrix& modes = jet.activity().modes(v);
    const SignMatrix& singles = jet.activity().singles(v);
    const SignMatrix& sides = jet.activity().sides(v);
    Row c;
    for (Index i = 0; i < start.rows(); ++i)
        for (Index u = 0; u < start.cols(); ++u) {
            if (modes(i, u) != static_cast<std::int8_t>(Mode::moving) || singles(i, u) != 0) continue;
            if (sides(i, u) * start(i, u) > reach_(i, u)) continue;
            for (int k = 0; k <= order; ++k) c[k] = sides(i, u) * z.at(k, i, u);
            Candidate candidate;
            candidate.place = {v, i, u};
            candidate.from = sides(i, u);
            add(descent(c.data(), order, end_), candidate);
        }
}

// Places with one live input share the boundary of its entry: each entry is searched once.
void EventSearch::search_single(const Jet& jet) {
    const Activity& activity = jet.activity();
    seen_.clear();
    Row c;
    for (int v = 1; v < activity.graph().count(); ++v)
        for (Index i = 0; i < activity.samples(); ++i)
            for (Index u = 0; u < activity.graph().node(v).size; ++u) {
                const Place p{v, i, u};
                if (!activity.has_one_input(p) || activity.mode(p) != Mode::moving) continue;
                const Boundary own = activity.boundary_of(p);
                if (!own.is_parameter()) continue;  // a fixed entry: it follows its input
                const std::pair key{own.parameter, own.constant};
                if (std::ranges::find(seen_, key) != seen_.end()) continue;
                seen_.push_back(key);
                for (int k = 0; k <= jet.order(); ++k) c[k] = jet.boundary_coefficient(own, k);
                Candidate candidate;
                candidate.place = p;
                candidate.parameter = own.parameter;
                candidate.constant = own.constant;
                candidate.from = c[0] != 0.0 ? sign(c[0]) : activity.side(p) * activity.input_sign(p, own.inputs[0]);
                for (int k = 0; k <= jet.order(); ++k) c[k] *= candidate.from;
                add(descent(c.data(), jet.order(), end_), candidate);
            }
}

// w leaves upwards where μ = M⁺ and downwards where μ = M⁻.
void EventSearch::search_sliding(const Jet& jet) {
    const SlidingSeries& sliding = jet.sliding();
    const int order = jet.order() - 1;
    Row up;
    Row down;
    for (int b = 0; b < sliding.count(); ++b) {
        sliding_bounds(jet, b, order, up, down);
        const int turn = down[0] >= up[0] ? 1 : -1;  // -1: it stands on a repelling boundary
        for (int k = 0; k <= order; ++k) {
            up[k] = turn * (sliding.multiplier(b)[k] - up[k]);
            down[k] = turn * (down[k] - sliding.multiplier(b)[k]);
        }
        Candidate candidate;
        candidate.sliding = b;
        candidate.wants = 1;
        add(descent(up.data(), order, end_), candidate);
        candidate.wants = -1;
        add(descent(down.data(), order, end_), candidate);
    }
}

void EventSearch::collect(const Jet& jet, std::vector<Contact>& contacts) const {
    for (const Candidate& c : found_) {
        Contact contact;
        contact.from = c.from;
        contact.wants = c.sliding >= 0 ? c.wants : -c.from;
        if (c.sliding >= 0)
            contact.boundary = jet.sliding().boundaries()[c.sliding];
        else if (c.parameter >= 0)
            contact.boundary = jet.activity().whole_boundary_of(c.place);
        else
            contact.boundary.members = {c.place};
        const auto same = [&](const Contact& other) { return other.boundary.is_same(contact.boundary); };
        const auto known = std::ranges::find_if(contacts, same);
        if (known == contacts.end())
            contacts.push_back(std::move(contact));
        else
            known->turns = true;
    }
}

}  // namespace reluflow::layered
