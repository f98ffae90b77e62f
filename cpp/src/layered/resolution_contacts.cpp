/// Which boundaries meet at an event: the part of Resolution that finds those that come with the ones that were met.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "layered/dependence.hpp"
#include "layered/resolution.hpp"

namespace reluflow::layered {
namespace {

/// A rate below this part of its terms is their rounding.
constexpr double kResting = 1e-10;

}  // namespace

// What reads nothing but units that are zero now goes where they go.
void Resolution::drop_followers(const Activity& before) {
    std::vector<Place> zero;
    for (const Contact& contact : contacts_)
        zero.insert(zero.end(), contact.boundary.members.begin(), contact.boundary.members.end());
    std::erase_if(contacts_, [&](const Contact& contact) {
        const Place& p = contact.boundary.members.front();
        return contact.from != 0 && !contact.boundary.is_parameter() && before.reads_only(p, zero);
    });
}

// What has left its boundary tangentially in an event of the same instant, and has nothing any more that moves it,
// stays there with a multiplier of zero: it becomes a contact that slides.
bool Resolution::add_resting(Jet& jet) {
    const std::size_t known = contacts_.size();
    for (const Zero& zero : before_->zeros()) {
        const Place& p = zero.place;
        if (is_start_ || !has_just_left(p) || trial_.mode(p) != Mode::moving || !rests(jet, p)) continue;
        const auto has_it = [&](const Contact& contact) { return contact.boundary.place_of(p) >= 0; };
        if (!is_still_zero(p) || std::ranges::any_of(contacts_, has_it)) continue;
        Contact contact;
        contact.boundary = trial_.whole_boundary_of(p);
        const int turn = contact.boundary.is_shared() ? trial_.input_sign(p, trial_.boundary_of(p).inputs.front()) : 1;
        contact.from = before_->side(p) * turn;
        contacts_.push_back(std::move(contact));
        sides_.push_back(0);
        rates_.push_back(1.0);
        only_leaves_ = false;
    }
    return contacts_.size() > known;
}

// Whether nothing moves a place, to second order: what pulls it may be zero for an instant.
bool Resolution::rests(Jet& jet, const Place& p) {
    const double none = kNoRate * largest(jet.theta(1)) * jet.reach(p);
    if (std::abs(jet.z(p.node).at(1, p.sample, p.unit)) > none) return false;
    return (jet.order() > 1 || jet.advance()) && std::abs(jet.z(p.node).at(2, p.sample, p.unit)) <= none;
}

bool Resolution::has_just_left(const Place& p) const {
    if (sizes_ != nullptr && sizes_->is_hidden(p.unit))
        return false;  // all its rates are nothing beside those of others
    const auto is_it = [&](const Zero& zero) { return zero.place == p && zero.orders > 1 && zero.is_chosen; };
    return before_->mode(p) == Mode::moving && std::ranges::any_of(before_->zeros(), is_it);
}

// At θ, before an event has made zeros of what meets there.
double Resolution::z_of(const Place& p) const {
    if (here_ != nullptr) return here_->z(p.node).at(0, p.sample, p.unit);
    if (z_.empty()) pre_activations(*graph_, *X_, *theta_, z_);
    return z_[p.node](p.sample, p.unit);
}

bool Resolution::is_still_zero(const Place& p) const {
    return std::abs(z_of(p)) <= kSameInstant * terms_.most(p.node, p.unit);
}

// Boundaries of one linear function of the sample: what is zero with the contacts and with what slides.
void Resolution::add_spanned_by_contacts(const Activity& before) {
    std::vector<std::size_t> met(contacts_.size());
    std::iota(met.begin(), met.end(), std::size_t{0});
    add_spanned(before, met);
}

// Adds what moves in `activity` and is in the span of what slides there and of some contacts, if it is no contact yet.
bool Resolution::add_spanned(const Activity& activity, const std::vector<std::size_t>& contacts) {
    std::vector<Boundary> zero = activity.sliding();
    for (const std::size_t c : contacts) zero.push_back(contacts_[c].boundary);
    const std::size_t known = contacts_.size();
    std::vector<std::uint64_t> seen;
    for (std::size_t b = 0; b < zero.size(); ++b) {
        const Place& first = zero[b].members.front();
        const std::uint64_t form = activity.form_of(first);
        if (form == 0 || std::ranges::find(seen, form) != seen.end()) continue;
        seen.push_back(form);
        const double near_zero = kForcedZero * terms_.most(first.node, first.unit);
        bool is_made = false;
        SpannedRows span;  // made when it is needed: what is known of z rules out nearly all
        for (Index i = 0; i < X_->rows(); ++i) {
            const Place p{first.node, i, first.unit};
            if (activity.mode(p) != Mode::moving || activity.form_of(p) != form) continue;
            if (std::abs(z_of(p)) > near_zero) continue;
            const auto has_it = [&](const Contact& contact) { return contact.boundary.place_of(p) >= 0; };
            if (std::ranges::any_of(contacts_, has_it)) continue;
            for (std::size_t c = b; c < zero.size() && !is_made; ++c)
                if (activity.form_of(zero[c].members.front()) == form)
                    span.add(activity.row_of(zero[c].members.front()));
            is_made = true;
            if (!span.contains(activity.row_of(p))) continue;
            Contact contact;
            contact.boundary = activity.whole_boundary_of(p);
            contact.from = activity.side(p) * activity.input_sign(p, activity.boundary_of(p).inputs.front());
            contact.wants = contacts.empty() ? 0 : -contact.from;
            contacts_.push_back(std::move(contact));
            if (!contacts.empty()) continue;
            sides_.push_back(0);
            rates_.push_back(1.0);
            only_leaves_ = false;
        }
    }
    return contacts_.size() > known;
}

// Whether what slides is on a boundary of the linear function of a contact.
bool Resolution::is_mate(const Boundary& boundary) const {
    const std::uint64_t form = before_->form_of(boundary.members.front());
    return form != 0 && std::ranges::any_of(contacts_, [&](const Contact& contact) {
               const Place& p = contact.boundary.members.front();
               return before_->has_fixed_form(p) && before_->form_of(p) == form;
           });
}

// All boundaries of one linear function on which it is zero decide together: what slides may go, too.
void Resolution::add_mates() {
    const std::size_t met = contacts_.size();
    for (std::size_t c = 0; c < met; ++c) {
        const Place& p = contacts_[c].boundary.members.front();
        if (!before_->has_fixed_form(p) || before_->form_of(p) == 0) continue;
        for (const Boundary& boundary : before_->sliding()) {
            const auto same = [&](const Contact& contact) { return contact.boundary.is_same(boundary); };
            if (before_->form_of(boundary.members.front()) != before_->form_of(p)) continue;
            if (std::ranges::any_of(contacts_, same)) continue;
            contacts_.push_back({boundary, 0, 0, false});
            sides_.push_back(0);
            rates_.push_back(1.0);
        }
    }
    if (!all_sides().empty()) return;
    contacts_.resize(met);  // too many to look at: what slides stays
    sides_.resize(met);
    rates_.resize(met);
}

// True if a contact has a side though what slides keeps it at zero; it has to slide with them.
bool Resolution::stands_apart() {
    next_ = sides_;
    bool any = false;
    for (std::size_t c = 0; c < contacts_.size(); ++c) {
        const Place& p = contacts_[c].boundary.members.front();
        const std::uint64_t form = trial_.form_of(p);
        if (sides_[c] == 0 || form == 0 || trial_.mode(p) != Mode::moving) continue;
        SpannedRows span;
        for (const Boundary& boundary : trial_.sliding())
            if (trial_.form_of(boundary.members.front()) == form) span.add(trial_.row_of(boundary.members.front()));
        if (span.rank() == 0 || !span.contains(trial_.row_of(p))) continue;
        next_[c] = 0;
        any = true;
    }
    return any;
}

// What has parted from the others of its boundary may go its own way: it becomes a contact of its own.
bool Resolution::add_parted() {
    bool added = false;
    for (const auto& [boundary, side] : trial_.parted()) {
        const auto same = [&](const Contact& c) { return c.boundary.members == boundary.members; };
        if (std::ranges::any_of(contacts_, same)) continue;
        int from = 0;
        for (Contact& contact : contacts_)
            for (const Place& p : boundary.members) {
                const int m = contact.boundary.place_of(p);
                if (m < 0 || contact.boundary.members.size() == 1) continue;
                from = contact.from;
                contact.boundary.members.erase(contact.boundary.members.begin() + m);
                if (!contact.boundary.inputs.empty())
                    contact.boundary.inputs.erase(contact.boundary.inputs.begin() + m);
            }
        contacts_.push_back({boundary, from, side, false});
        sides_.push_back(side);
        rates_.push_back(1.0);
        only_leaves_ = false;
        added = true;
    }
    return added;
}

// What read zeros only, and entries that were kept at zero, has no side where such an entry is free to move: it becomes
// a contact too.
bool Resolution::add_released() {
    const auto kept = trial_.kept();
    const auto before = before_->kept();
    if (std::ranges::includes(kept, before)) return false;
    const std::size_t known = contacts_.size();
    std::vector<Place> met;
    for (const Contact& contact : contacts_)
        met.insert(met.end(), contact.boundary.members.begin(), contact.boundary.members.end());
    for (int v = 1; v < graph_->count(); ++v)
        for (Index i = 0; i < X_->rows() && !graph_->node(v).linear; ++i)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                const Place p{v, i, u};
                if (trial_.mode(p) != Mode::moving || before_->mode(p) != Mode::moving) continue;
                if (std::abs(z_of(p)) > kForcedZero * terms_.most(v, u)) continue;
                const auto is_it = [&](const Zero& zero) { return zero.place == p; };
                if (std::ranges::any_of(trial_.zeros(), is_it) || !reads_released(p)) continue;
                // It has just got its side in an event of the same instant, which still holds.
                if (std::ranges::any_of(before_->zeros(), is_it) && !before_->reads_only(p, met)) continue;
                const auto has_it = [&](const Contact& contact) { return contact.boundary.place_of(p) >= 0; };
                if (std::ranges::any_of(contacts_, has_it)) continue;
                // Which boundary it has depends on the sides of the others: z itself is one for all of them.
                Boundary own;
                own.members = {p};
                const int from = before_->side(p);
                contacts_.push_back({std::move(own), from, -from, false});
                sides_.push_back(-from);
                rates_.push_back(1.0);
                only_leaves_ = false;
            }
    return contacts_.size() > known;
}

bool Resolution::reads_released(const Place& p) const {
    for (const int e : graph_->node(p.node).incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols; ++c)
            if (trial_.reads(edge, p, c) && before_->is_kept_zero(edge, p, c)) return true;
    }
    return false;
}

// True if a contact that has a side does not move: what slides keeps it at zero too, and rounding alone has said where
// it goes.
bool Resolution::any_rests(const Jet& jet) const {
    for (std::size_t c = 0; c < contacts_.size() && leading_order() == 1; ++c) {
        const Boundary& boundary = contacts_[c].boundary;
        const Place& p = boundary.members.front();
        if (sides_[c] == 0 || boundary.is_parameter() || trial_.mode(p) != Mode::moving) continue;
        if (order_of(contacts_[c]) > leading_order()) continue;
        if (std::abs(jet.z(p.node).at(1, p.sample, p.unit)) < kResting * jet.rate(p).size) return true;
    }
    return false;
}

}  // namespace reluflow::layered
