/// Sides of what is zero by what it reads and by its weights: the part of Resolution that takes them from the series.
#include <algorithm>
#include <cmath>
#include <vector>

#include "layered/resolution.hpp"
#include "layered/sliding_bounds.hpp"

namespace reluflow::layered {
namespace {

/// A coefficient below this part of its terms is their rounding.
constexpr double kRounding = 64 * 2.2e-16;

/// A multiplier below this part of the largest is rounding of the solve.
constexpr double kSolved = 1e-12;

/// What rounding makes of the orders of a place or of the entry that is its boundary, also by velocities whose terms
/// cancel.
class Hidden {
  public:
    explicit Hidden(const Jet& jet) : jet_(jet) {}

    double of(const Boundary& boundary, int k) {
        if (boundary.is_parameter()) return kRounding * moved(k)[boundary.parameter];
        const Place& p = boundary.members.front();
        const Node& node = jet_.activity().graph().node(p.node);
        double sum = jet_.terms(p, k);
        if (!node.bias.empty() && node.bias[p.unit] >= 0) sum += moved(k)[node.bias[p.unit]];
        for (const int e : node.incoming) {
            const Edge& edge = jet_.activity().graph().edges()[e];
            for (int j = edge.source == 0 ? k : 1; j <= k && edge.has_parameters; ++j)
                for (Index c = 0; c < edge.cols; ++c)
                    if (const Index g = edge.at(p.unit, c); g >= 0)
                        sum += moved(j)[g] * std::abs(jet_.tapped(edge).at(k - j, p.sample, c));
        }
        return kRounding * sum;
    }

  private:
    /// The terms of order k of θ.
    const Vector& moved(int k) {
        while (static_cast<int>(moved_.size()) < k) {
            const auto j = static_cast<int>(moved_.size());
            moved_.push_back(velocity_terms(j) / (j + 1));
        }
        return moved_[k - 1];
    }
    /// For each entry of order k of the velocity the sum of the sizes of its terms.
    Vector velocity_terms(int k) const {
        const Graph& graph = jet_.activity().graph();
        Vector terms = jet_.theta(k).cwiseAbs();  // decay
        for (int v = 1; v < graph.count(); ++v) {
            const Node& node = graph.node(v);
            for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
                if (node.bias[u] >= 0)
                    terms[node.bias[u]] += jet_.span() * jet_.delta(v).order(k).col(u).cwiseAbs().sum();
            for (const int e : node.incoming) add_terms(graph.edges()[e], k, terms);
        }
        return terms;
    }
    void add_terms(const Edge& edge, int k, Vector& terms) const {
        if (!edge.has_parameters) return;
        Matrix sums = Matrix::Zero(edge.rows, edge.cols);
        for (int j = edge.source == 0 ? k : 0; j <= k; ++j)
            sums += jet_.delta(edge.target).order(j).cwiseAbs().transpose() * jet_.tapped(edge).order(k - j).cwiseAbs();
        for (Index r = 0; r < edge.rows; ++r)
            for (Index c = 0; c < edge.cols; ++c)
                if (edge.at(r, c) >= 0) terms[edge.at(r, c)] += jet_.span() * sums(r, c);
    }

    const Jet& jet_;
    std::vector<Vector> moved_;  // of order 1, 2, ...
};

bool reaches(Jet& jet, int order) {
    while (jet.order() < order)
        if (jet.order() == jet.top() || !jet.advance()) return false;
    return true;
}

/// The first order of z of a place, or of the entry that is its boundary, that is more than rounding, from `from` on,
/// and its sign; 0 if there is none in all that the series can have.
Told told_by(Jet& jet, Hidden& hidden, const Boundary& boundary, int from) {
    const Place& p = boundary.members.front();
    for (int k = from; reaches(jet, k); ++k) {
        const double w =
            boundary.is_parameter() ? jet.theta(k)[boundary.parameter] : jet.z(p.node).at(k, p.sample, p.unit);
        if (!std::isfinite(w)) break;
        if (std::abs(w) > hidden.of(boundary, k)) return {p, w > 0.0 ? 1 : -1, k};
    }
    return {p, 0, from};
}

Boundary at(const Place& p) {
    Boundary own;
    own.members = {p};
    return own;
}

}  // namespace

bool Resolution::note(const Told& found) {
    const auto known = std::ranges::find(told_, found.place, &Told::place);
    if (known == told_.end())
        told_.push_back(found);
    else
        *known = found;
    return true;
}

// The order by which a contact that has a side moves.
int Resolution::order_of(const Contact& contact) const {
    if (contact.from != 0 || told_.empty()) return leading_order();
    const auto known = std::ranges::find(told_, contact.boundary.members.front(), &Told::place);
    return known == told_.end() ? leading_order() : known->orders;
}

// Where the entries by which a place reads zeros are zero themselves, or cancel, it moves by a later order than what it
// reads. True if such a place has not the side, or not the number of zeros, that its series says: what has none stays
// on its inactive side.
bool Resolution::correct_told(Jet& jet, int from) {
    bool wrong = false;
    Hidden hidden(jet);
    const std::vector<Zero> zeros = trial_.zeros();
    for (const Zero& zero : zeros) {
        if (zero.is_chosen || zero.is_told || trial_.mode(zero.place) != Mode::moving) continue;
        Told found = told_by(jet, hidden, at(zero.place), from);
        if (found.side == 0) found.side = -1;
        if (found.side == trial_.side(zero.place) && found.orders == zero.orders) continue;
        wrong = note(found);
    }
    return wrong;
}

// Whether a place reads nothing but zeros through entries that are zero: to first order it stays, whatever it reads
// does.
bool Resolution::has_no_rate(const LocalModel& model, int a) {
    bool reads = false;
    for (int b = 0; b < a; ++b) reads = reads || model.through_h(a, b) != 0.0 || model.through_z(a, b) != 0.0;
    return !reads && model.normals().row(a).isZero(0.0);
}

// What is pulled only by entries that are zero to the last bit leaves by a later order than others. True if one was not
// known to do so.
bool Resolution::correct_contacts(Jet& jet) {
    bool wrong = false;
    Hidden hidden(jet);
    for (std::size_t c = 0; c < contacts_.size(); ++c) {
        const Boundary& boundary = contacts_[c].boundary;
        const Place& p = boundary.members.front();
        if (sides_[c] == 0 || contacts_[c].from != 0 || turns_ || trial_.mode(p) != Mode::moving) continue;
        const int order = order_of(contacts_[c]);
        if (order > leading_order() || jet.boundary_coefficient(boundary, order) != 0.0) continue;
        const Told found = told_by(jet, hidden, boundary, order);
        bool all_zero = found.side != 0;  // what is rounding tells nothing
        for (int k = order; k < found.orders; ++k) all_zero = all_zero && jet.boundary_coefficient(boundary, k) == 0.0;
        if (all_zero) wrong = note(found);
    }
    return wrong;
}

// Where entries that are zero, if not for long, leave a multiplier and its bounds nothing at first, what leaves does so
// tangentially, and later orders tell what values would. Gives the series from the first such order on; the number of
// orders that were passed, or -1 if there are none.
int Resolution::first_orders(Jet& jet, int b, Row& multiplier, Row& up, Row& down) const {
    int known = leading_order() - 1;
    sliding_bounds(jet, b, known, up, down);
    int first = 0;
    const auto is_nothing = [&](int k) {
        double largest = 0.0;
        for (int other = 0; other < jet.sliding().count(); ++other)
            largest = std::max(largest, std::abs(jet.sliding().multiplier(other)[k]));
        return up[k] == 0.0 && down[k] == 0.0 && std::abs(jet.sliding().multiplier(b)[k]) <= kSolved * largest;
    };
    while (looks_ahead_ && is_nothing(first)) {
        if (++first <= known) continue;
        if (!reaches(jet, first + 1)) return -1;
        sliding_bounds(jet, b, known = first, up, down);
    }
    multiplier = jet.sliding().multiplier(b);
    for (Row* series : {&multiplier, &up, &down}) std::shift_left(series->begin(), series->end(), first);
    return first;
}

// Where a multiplier is at one of its bounds in the first order that tells anything, and not at the other: the side on
// which it passes it by a later order, or 0. A part of `tol` is rounding.
int Resolution::leaves_later(Jet& jet, int b, int from, double tol) {
    Row up;
    Row down;
    bool at_up = true;
    bool at_down = true;
    for (int k = from; reaches(jet, k + 1); ++k) {
        sliding_bounds(jet, b, k, up, down);
        const double mu = jet.sliding().multiplier(b)[k];
        const double above = mu - up[k];
        const double below = down[k] - mu;
        const bool is_up = std::abs(above) > tol * (std::abs(mu) + std::abs(up[k]));
        const bool is_down = std::abs(below) > tol * (std::abs(mu) + std::abs(down[k]));
        if (k == from) {
            at_up = !is_up;
            at_down = !is_down;
            if (at_up == at_down) return 0;
        } else if (at_up && is_up) {
            return above < 0.0 ? 1 : 0;
        } else if (at_down && is_down) {
            return below < 0.0 ? -1 : 0;
        }
    }
    return 0;
}

// To first order nothing would leave that nothing has held: sides are tried by later orders. What they do not decide is
// decided as if something had.
Outcome Resolution::decide_beginning(Jet& jet) {
    const std::vector<Contact> met = contacts_;
    const std::vector<int> sides = sides_;
    const bool only_leaves = only_leaves_;
    for (Contact& contact : contacts_) contact.turns = contact.turns && !contact.begins;
    find_turning(jet);
    const Outcome outcome = resolve_by_sides(jet);
    if (outcome != Outcome::undecided) return outcome;
    contacts_ = met;
    for (Contact& contact : contacts_) contact.begins = false;
    sides_ = sides;
    only_leaves_ = only_leaves;
    options_.clear();
    reason_.clear();
    return decide_once(jet);
}

}  // namespace reluflow::layered
