/// What is zero with the contacts: the part of Resolution that finds it before sides are given.
#include <algorithm>
#include <cmath>
#include <utility>

#include "layered/dependence.hpp"
#include "layered/forced_zeros.hpp"
#include "layered/local_model.hpp"
#include "layered/resolution.hpp"

namespace reluflow::layered {
namespace {

/// The sine below which a normal is in the span of others at an event, whose place is known to the tolerance.
constexpr double kDependent = 1e-6;

}  // namespace

// What slides can leave others nothing but zero when the contacts are zero: they meet their boundaries too, whatever
// rounding made of their times. Rows that are nearly parallel ask the same of what is not zero: such a contact comes to
// its boundary as they become parallel, and leaves the others free.
void Resolution::add_forced(const Activity& before) {
    std::vector<Place> zero;
    const auto is_off = [&](const Place& p) { return std::abs(z_of(p)) > kForcedZero * terms_.most(p.node, p.unit); };
    for (std::size_t c = 0; c < contacts_.size(); ++c) {
        const std::vector<Place> members = contacts_[c].boundary.members;
        for (const Place& member : members) {
            const std::vector<Place> without = forced_zeros(before, *theta_, member.sample, zero);
            zero.push_back(member);
            std::vector<Place> forced = forced_zeros(before, *theta_, member.sample, zero);
            const auto is_new = [&](const Place& p) { return std::ranges::find(without, p) == without.end(); };
            if (std::ranges::any_of(forced, [&](const Place& p) { return is_off(p) && is_new(p); })) {
                zero.pop_back();
                continue;
            }
            std::erase_if(forced, is_off);
            for (const Place& p : forced) EventSearch::add_contact(before, p, contacts_);
        }
    }
}

// What is next to zero and moves only with the contacts and with what slides is zero with them: to hold these leaves it
// no direction of its own. That is so where several weights of a unit vanish together.
void Resolution::add_dependent(const Activity& before) {
    std::vector<Place> met;
    for (const Contact& contact : contacts_)
        met.insert(met.end(), contact.boundary.members.begin(), contact.boundary.members.end());
    std::vector<Place> near;
    for (int v = 1; v < graph_->count(); ++v) {
        if (graph_->node(v).linear) continue;
        for (Index i = 0; i < X_->rows(); ++i)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                const Place p{v, i, u};
                if (std::abs(z_of(p)) > kForcedZero * terms_.most(v, u)) continue;
                if (before.mode(p) != Mode::moving) continue;
                const auto is_it = [&](const Zero& zero) { return zero.place == p; };
                if (std::ranges::find(met, p) == met.end() && std::ranges::none_of(before.zeros(), is_it))
                    near.push_back(p);
            }
    }
    if (near.empty() && contacts_.size() < 2) return;
    const LocalModel model(before, *X_, *theta_, met);
    depends_ = any_depends(before, model);
    SpannedRows span(kDependent);
    for (int a = 0; a < model.count(); ++a) span.add(model.normals().row(a).transpose());
    for (const Place& p : near) {
        if (model.number_of(p) >= 0 || !span.contains(model.normal_of(p))) continue;
        Contact contact;
        contact.boundary.members = {p};
        contact.from = before.side(p);
        contact.wants = -contact.from;
        contacts_.push_back(std::move(contact));
        depends_ = true;
    }
}

// Whether a contact is zero by what slides and by other contacts. Their sides cannot be tried one by one then: of what
// slides and holds it at zero, and what it seems to move by, rounding alone would decide.
bool Resolution::any_depends(const Activity& before, const LocalModel& model) const {
    SpannedRows span(kDependent);
    for (const Boundary& boundary : before.sliding()) span.add(model.row_of(boundary.members.front()));
    return std::ranges::any_of(contacts_, [&](const Contact& contact) {
        const Place& p = contact.boundary.members.front();
        const bool has_normal = !model.is_negligible(model.number_of(p), kDependent);  // or it goes where others go
        return contact.from != 0 && has_normal && !span.add(model.row_of(p));
    });
}

// Adds what slides and is zero by several contacts, or they by it: it may leave with them in a way that does not show
// while it stays. With one contact alone it comes to share a boundary. What reads nothing but contacts has no normal,
// and goes where they go.
void Resolution::add_spanning(const LocalModel& model, std::vector<Place>& leaving) const {
    const std::vector<Boundary>& sliding = before_->sliding();
    for (std::size_t b = 0; b < sliding.size(); ++b) {
        const Vector normal = model.row_of(sliding[b].members.front());
        SpannedRows others(kDependent);
        for (std::size_t c = 0; c < sliding.size(); ++c)
            if (c != b) others.add(model.row_of(sliding[c].members.front()));
        SpannedRows all = others;
        bool is_by_one = others.contains(normal);
        for (const Contact& contact : contacts_) {
            const Place& p = contact.boundary.members.front();
            if (sliding[b].place_of(p) >= 0) continue;
            SpannedRows one = others;
            one.add(model.row_of(p));
            is_by_one = is_by_one || one.contains(normal);
            all.add(model.row_of(p));
        }
        const bool reads_zeros = model.is_negligible(model.number_of(sliding[b].members.front()), kDependent);
        if (!reads_zeros && (is_by_one || !all.contains(normal))) continue;
        leaving.insert(leaving.end(), sliding[b].members.begin(), sliding[b].members.end());
    }
}

// What reads nothing but contacts, and entries that are zero to the last bit, vanishes with the contacts: a unit that
// has never been active has still the bias of its start.
void Resolution::add_sums_of_zeros(const Activity& before) {
    std::vector<Place> zero;
    for (const Contact& contact : contacts_)
        if (contact.from != 0)
            zero.insert(zero.end(), contact.boundary.members.begin(), contact.boundary.members.end());
    std::vector<Index> samples;
    for (const Place& p : zero) samples.push_back(p.sample);
    std::ranges::sort(samples);
    const auto repeated = std::ranges::unique(samples);
    samples.erase(repeated.begin(), repeated.end());
    for (const Index i : samples)
        for (int v = 1; v < graph_->count(); ++v)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                const Place p{v, i, u};
                if (before.mode(p) != Mode::moving || std::ranges::find(zero, p) != zero.end()) continue;
                if (!is_sum_of_zeros(before, p, zero)) continue;
                zero.push_back(p);
                if (!graph_->node(v).linear && !before.reads_only(p, zero))
                    EventSearch::add_contact(before, p, contacts_);
            }
}

bool Resolution::is_sum_of_zeros(const Activity& before, const Place& p, const std::vector<Place>& zero) const {
    const Node& node = graph_->node(p.node);
    if (!node.bias.empty() && node.bias[p.unit] >= 0 && (*theta_)[node.bias[p.unit]] != 0.0) return false;
    bool any = false;
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols; ++c) {
            if (!before.reads(edge, p, c) || edge.entry(p.unit, c, *theta_) == 0.0) continue;
            if (std::ranges::find(zero, Place{edge.source, p.sample, c}) == zero.end()) return false;
            any = true;
        }
    }
    return any;
}

}  // namespace reluflow::layered
