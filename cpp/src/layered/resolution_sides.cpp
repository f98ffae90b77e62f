/// The sides that what meets can have: the part of Resolution that lists them.
#include <algorithm>
#include <utility>

#include "layered/dependence.hpp"
#include "layered/resolution.hpp"
#include "layered/twins.hpp"

namespace reluflow::layered {
namespace {

/// All sides are listed up to so many: seven contacts, of which each crosses, stays or goes back.
constexpr std::size_t kMostSides = 2187;

bool have_equal_ends(const Contact& one, const Contact& other) {
    return one.from == other.from && one.wants == other.wants && one.turns == other.turns && one.begins == other.begins;
}

bool read_alike(const Input& one, const Input& other) {
    return one.node == other.node && one.tap == other.tap && one.unit == other.unit && one.value == other.value;
}

/// The one unit to which the members of a boundary belong, or -1.
Index unit_of(const Boundary& boundary) {
    const Index unit = boundary.members.front().unit;
    const auto is_of_it = [&](const Place& p) { return p.unit == unit; };
    return std::ranges::all_of(boundary.members, is_of_it) ? unit : -1;
}

/// Whether two boundaries are those of two units on the same samples.
bool are_of_equal_samples(const Boundary& one, const Boundary& other) {
    const auto on_same = [](const Place& p, const Place& q) { return p.node == q.node && p.sample == q.sample; };
    return unit_of(one) >= 0 && unit_of(other) >= 0 && std::ranges::equal(one.members, other.members, on_same) &&
           std::ranges::equal(one.inputs, other.inputs, read_alike);
}

/// What an entry of the product lists: the sides of a group and of those that go with it.
using Sides = std::vector<std::vector<int>>;

/// Appends to each of `all` each of `own`, at the contacts of every group of a class; none if these are too many.
Sides extended(const Sides& all, const Sides& own, const std::vector<std::vector<std::size_t>>& alike) {
    if (own.empty() || all.size() * own.size() > kMostSides) return {};
    Sides longer;
    for (const std::vector<int>& part : own)
        for (std::vector<int> sides : all) {
            for (const std::vector<std::size_t>& group : alike)
                for (std::size_t k = 0; k < group.size(); ++k) sides[group[k]] = part[k];
            longer.push_back(std::move(sides));
        }
    return longer;
}

}  // namespace

// The sides that contacts can have: all signs, but for boundaries of one linear function those of its values. Where
// these are too many, units that are each other's multiples go to the same sides: they may part only where each of them
// may go on in several ways, and then all may in each. Empty if there are too many even so.
std::vector<std::vector<int>> Resolution::all_sides() const {
    const std::vector<std::vector<std::size_t>> groups = contact_groups();
    std::vector<std::vector<std::vector<std::size_t>>> classes;
    for (const auto& group : groups) classes.push_back({group});
    Sides all = sides_of(classes);
    if (!all.empty()) return all;
    classes.clear();
    for (const auto& group : groups) {
        const auto known =
            std::ranges::find_if(classes, [&](const auto& alike) { return !matched(alike.front(), group).empty(); });
        if (known == classes.end())
            classes.push_back({group});
        else
            known->push_back(matched(known->front(), group));
    }
    return classes.size() < groups.size() ? sides_of(classes) : Sides{};
}

std::vector<std::vector<int>> Resolution::sides_of(
    const std::vector<std::vector<std::vector<std::size_t>>>& classes) const {
    Sides all{std::vector<int>(contacts_.size(), 0)};
    for (const auto& alike : classes) {
        const std::vector<std::size_t>& group = alike.front();
        all = extended(all, group.size() > 1 ? group_sides(group) : Sides{{-1}, {1}, {0}}, alike);
        if (all.empty()) return {};
    }
    return all;
}

// Contacts of one linear function, or one alone.
std::vector<std::vector<std::size_t>> Resolution::contact_groups() const {
    std::vector<std::vector<std::size_t>> groups;
    std::vector<char> done(contacts_.size(), 0);
    for (std::size_t c = 0; c < contacts_.size(); ++c) {
        if (done[c] != 0) continue;
        std::vector<std::size_t> group{c};
        const Place& p = contacts_[c].boundary.members.front();
        const std::uint64_t form = before_->has_fixed_form(p) ? before_->form_of(p) : 0;
        for (std::size_t d = c + 1; form != 0 && d < contacts_.size(); ++d)
            if (before_->form_of(contacts_[d].boundary.members.front()) == form) group.push_back(d);
        for (const std::size_t d : group) done[d] = 1;
        groups.push_back(std::move(group));
    }
    return groups;
}

// The contacts of another group in the order of those of `group` that they correspond to; empty if the groups are not
// those of two units of which one is a multiple of the other.
std::vector<std::size_t> Resolution::matched(const std::vector<std::size_t>& group,
                                             const std::vector<std::size_t>& other) const {
    if (group.size() != other.size()) return {};
    std::vector<std::size_t> order;
    const Place& first = contacts_[group.front()].boundary.members.front();
    const Index unit = unit_of(contacts_[other.front()].boundary);
    for (const std::size_t c : group) {
        const auto same = [&](std::size_t d) {
            const Contact& contact = contacts_[d];
            return unit_of(contact.boundary) == unit && have_equal_ends(contacts_[c], contact) &&
                   are_of_equal_samples(contacts_[c].boundary, contact.boundary);
        };
        const auto found = std::ranges::find_if(other, same);
        if (found == other.end() || unit_of(contacts_[c].boundary) != first.unit) return {};
        order.push_back(*found);
    }
    return are_multiples(*graph_, first.node, first.unit, unit, *theta_) ? order : std::vector<std::size_t>{};
}

// The signs of one linear function at several contacts while it stays zero where it slides and is no contact.
std::vector<std::vector<int>> Resolution::group_sides(const std::vector<std::size_t>& group) const {
    const Boundary& first = contacts_[group.front()].boundary;
    const std::uint64_t form = before_->form_of(first.members.front());
    SpannedRows kept;
    for (const Boundary& boundary : before_->sliding()) {
        const auto same = [&](const Contact& contact) { return contact.boundary.is_same(boundary); };
        if (before_->form_of(boundary.members.front()) == form && std::ranges::none_of(contacts_, same))
            kept.add(normal_of(*before_, boundary));
    }
    Eigen::MatrixXd normals(normal_of(*before_, first).size(), static_cast<Index>(group.size()));
    for (std::size_t k = 0; k < group.size(); ++k) {
        Vector normal = normal_of(*before_, contacts_[group[k]].boundary);
        for (const Vector& e : kept.basis()) normal -= normal.dot(e) * e;
        normals.col(static_cast<Index>(k)) = normal;
    }
    SpannedRows span;
    for (Index k = 0; k < normals.cols(); ++k) span.add(normals.col(k));
    Eigen::MatrixXd coordinates(span.rank(), normals.cols());
    for (Index e = 0; e < span.rank(); ++e) coordinates.row(e) = span.basis()[e].transpose() * normals;
    return sign_vectors(coordinates);
}

}  // namespace reluflow::layered
