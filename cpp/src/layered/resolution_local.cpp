/// What happens where boundaries meet, by the local minima of the loss to first order: the part of Resolution that
/// decides where sides tried one after the other do not.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "layered/joint.hpp"
#include "layered/resolution.hpp"

namespace reluflow::layered {
namespace {

Kind kind_of(Mode before, Mode after, int side, bool is_start) {
    if (after == Mode::empty) return Kind::void_unit;
    if (is_start) return after == Mode::sliding ? Kind::start_slide : side > 0 ? Kind::start_up : Kind::start_down;
    if (after == Mode::sliding) return Kind::slide;
    if (before == Mode::empty) return side > 0 ? Kind::wake_up : Kind::wake_down;
    if (before == Mode::sliding) return side > 0 ? Kind::leave_up : Kind::leave_down;
    return side > 0 ? Kind::cross_up : Kind::cross_down;
}

}  // namespace

// Where samples are fitted, multipliers, bounds and rates are rounding, and there need be no continuation to the last
// bit. What slides then may miss its bounds by that: it moves as what leaves does, to rounding. Of several ways none is
// taken. Duals of other losses do not cancel, but what they pull does. Near rest both bounds of a multiplier may be
// below what the series leave out: what cannot turn then leaves at one of them.
Outcome Resolution::decide(Jet& jet) {
    const std::vector<Contact> met = contacts_;
    const std::vector<int> sides = sides_;
    const bool only_leaves = only_leaves_;
    const Outcome strict = any_begins() ? decide_beginning(jet) : decide_once(jet);
    if (strict != Outcome::undecided) return strict;
    std::vector<Contact> involved = std::exchange(contacts_, met);
    std::string why = std::exchange(reason_, {});
    sides_ = sides;
    only_leaves_ = only_leaves;
    options_.clear();
    within_rounding_ = true;
    const Outcome outcome = decide_once(jet);
    within_rounding_ = false;
    if (outcome == Outcome::unique) return outcome;
    if (std::ranges::any_of(met, &Contact::turns)) {
        contacts_ = met;
        for (Contact& contact : contacts_) contact.turns = false;
        sides_ = sides;
        only_leaves_ = only_leaves;
        options_.clear();
        reason_.clear();
        const Outcome leaving = decide_once(jet);
        if (leaving != Outcome::undecided) return leaving;
    }
    contacts_ = std::move(involved);
    reason_ = std::move(why);
    options_.clear();
    return Outcome::undecided;
}

Outcome Resolution::decide_once(Jet& jet) {
    find_turning(jet);
    if (std::ranges::any_of(contacts_, &Contact::turns)) return resolve_by_sides(jet);
    const std::vector<Contact> met = contacts_;
    std::vector<Option> staying;
    if (!depends_ && joint_boundaries(*before_, *X_, *theta_).empty()) {
        const Outcome outcome = resolve_by_sides(jet);
        const bool is_sure = outcome == Outcome::unique || is_start_;  // sides alone also show ways that do not last
        if (outcome == Outcome::unique && !is_start_ && !any_joint()) return beside_ridges(jet);
        if (outcome != Outcome::undecided && is_sure && !any_joint()) return outcome;
        const auto stays = [](const Option& option) { return option.met_rests || option.is_for_stay; };
        if (!is_start_) std::ranges::copy_if(options_, std::back_inserter(staying), stays);
        for (Option& way : staying)  // of one way alone the activity is what was tried last, which minima overwrite
            if (!way.activity) way.activity = std::make_shared<const Activity>(trial_);
        contacts_ = met;
    }
    const Outcome outcome = resolve_locally(jet, *theta_);
    return outcome == Outcome::undecided ? outcome : with_ways(std::move(staying), met);
}

// Adds ways in which something stays that minima do not show, as it could leave: nothing moves it on its inactive side,
// or it has stood where its boundary repels. `places`: where the ways may differ.
Outcome Resolution::with_ways(std::vector<Option> ways, const std::vector<Contact>& places) {
    if (options_.size() == 1 && !options_.front().activity)
        options_.front().activity = std::make_shared<const Activity>(trial_);
    std::erase_if(ways, [&](const Option& way) { return lists(way); });
    if (ways.empty()) return options_.size() == 1 && lists_all_ ? Outcome::unique : Outcome::branching;
    options_.insert(options_.begin(), ways.begin(), ways.end());  // of ways alike to a policy the first is taken
    std::vector<Place> all;
    for (const std::vector<Contact>* some : {&std::as_const(contacts_), &places})
        for (const Contact& contact : *some)
            for (const Place& p : contact.boundary.members)
                if (std::ranges::find(all, p) == all.end()) all.push_back(p);
    name_differences(all);
    return Outcome::branching;
}

// What slid on boundaries that attracted, and repel now that others have changed their sides; and what rested, and is
// moved now to both sides. `rests`: nothing moves it on its inactive side.
std::vector<Contact> Resolution::come_to_repel(Jet& jet, bool& rests) {
    std::vector<Contact> repelling;
    std::vector<Ridge> ridges;
    for (int b = 0; b < jet.sliding().count(); ++b)
        if (const Ridge ridge = ridge_of(jet, b); ridge != Ridge::none) {
            repelling.push_back({jet.sliding().boundaries()[b], 0, 0, false});
            ridges.push_back(ridge);
        }
    jet.start(*theta_, *before_, span_, false);
    const bool is_known = jet.advance();
    const auto& slides = jet.sliding().boundaries();
    std::size_t kept = 0;
    for (std::size_t k = 0; k < repelling.size(); ++k) {
        const auto& members = repelling[k].boundary.members;  // what they share a boundary by may be another now
        const auto same = [&](const Boundary& boundary) {
            return std::ranges::any_of(members, [&](const Place& p) { return boundary.place_of(p) >= 0; });
        };
        const auto known = std::ranges::find_if(slides, same);
        if (!is_known || known == slides.end()) continue;
        const Ridge before = ridge_of(jet, static_cast<int>(known - slides.begin()));
        if (before == Ridge::stands || before == ridges[k]) continue;
        rests = rests && ridges[k] == Ridge::rests;
        if (kept != k) repelling[kept] = std::move(repelling[k]);
        ++kept;
    }
    repelling.resize(kept);
    return repelling;
}

// The one way that sides have shown lets something stay that can leave. Where nothing moves it on its inactive side it
// rests there, as it does in half of all that is near; from what repels on both sides it leaves.
Outcome Resolution::beside_ridges(Jet& jet) {
    if (!options_.front().beside_ridge) return Outcome::unique;
    Option staying = options_.front();
    if (!staying.activity) staying.activity = std::make_shared<const Activity>(trial_);
    const std::vector<Contact> met = contacts_;
    bool rests = true;
    const std::vector<Contact> repelling = come_to_repel(jet, rests);
    if (!repelling.empty() && resolve_locally(jet, *theta_) != Outcome::undecided) {
        std::vector<Contact> places = met;
        places.insert(places.end(), repelling.begin(), repelling.end());
        return with_ways(rests ? std::vector{std::move(staying)} : std::vector<Option>{}, places);
    }
    reason_.clear();
    contacts_ = met;
    lists_all_ = true;
    options_.assign(1, staying);
    return take(jet, *theta_, *staying.activity, span_) ? Outcome::unique : Outcome::undecided;
}

// Whether an option is one of those that were found.
bool Resolution::lists(const Option& option) const {
    return std::ranges::any_of(options_, [&](const Option& one) {
        for (int v = 1; v < graph_->count(); ++v)
            if (one.activity->sides(v) != option.activity->sides(v) ||
                one.activity->modes(v) != option.activity->modes(v))
                return false;
        return true;
    });
}

Outcome Resolution::resolve_joint(Jet& jet, const Vector& theta, const Activity& before, std::vector<Contact> contacts,
                                  double span, const Vector& ahead) {
    begin(theta, before, std::move(contacts), span, false, nullptr);
    return resolve_locally(jet, ahead);
}

bool Resolution::any_joint() const {
    return std::ranges::any_of(options_, [&](const Option& option) {
        return !joint_boundaries(option.activity ? *option.activity : trial_, *X_, *theta_).empty();
    });
}

// The loss to first order around all that is zero, with the duals of a series there.
LocalModel Resolution::model_at(const Jet& jet, const Vector& at) const {
    return model_of(jet, at, all_met());
}

LocalModel Resolution::model_of(const Jet& jet, const Vector& at, const std::vector<Place>& met) const {
    LocalModel model(*before_, *X_, at, met);
    Vector drift = Vector::Zero(theta_->size());
    jet.duals().add_decay({at}, 0, drift);
    model.add_forces(jet.duals().dual(0), drift / span_);
    return model;
}

// Everything that is zero decides together, whatever made it so.
Outcome Resolution::resolve_locally(Jet& jet, const Vector& at) {
    const bool is_hidden = any_is_hidden();
    if (is_hidden && !is_one_unit()) {
        reason_ = "its boundaries meet, and far larger neurons hide what it does there";
        return Outcome::undecided;
    }
    jet.start(at, *before_, span_, false);  // what was zero at an event before has moved on
    const bool is_ahead = &at != theta_;    // then rates tell what leaves tangentially
    LocalModel model = model_at(jet, at);
    if (is_hidden) model.look_at(sizes_->parameters_of(contacts_.front().boundary.members.front().unit));
    for (const Contact& contact : contacts_) {
        if (contact.from != 0 || contact.wants == 0 || is_start_ || is_ahead) continue;
        const Place& p = contact.boundary.members.front();
        const int turn = contact.boundary.is_shared() ? before_->input_sign(p, contact.boundary.inputs.front()) : 1;
        model.push(model.number_of(p), turn * contact.wants, contact.boundary.members);
    }
    for (const Zero& zero : before_->zeros())  // it has just left its boundary tangentially
        if (const int a = model.number_of(zero.place);
            a >= 0 && zero.orders > 1 && !is_ahead && !has_come_back(zero.place))
            model.push(a, before_->side(zero.place), {zero.place});
    options_.clear();
    const std::vector<int> joint = joint_boundaries(*before_, model);
    std::vector<Rest> rest = rest_of(jet, model, joint, at);
    std::vector<int> groups = groups_of(*before_, model, joint, all_that_may_leave(model, rest));
    LocalMinima search(model, std::move(groups), interrupt_, std::move(rest));
    const std::vector<Minimum> minima = search.find();
    if (minima.empty()) {
        reason_ = search.gap();
        return Outcome::undecided;
    }
    for (const Minimum& minimum : minima) {
        if (!arrange(jet, model, minimum)) {
            if (search.lists_all()) return Outcome::undecided;
            continue;
        }
        Option option{
            minima.size() == 1 && search.lists_all() ? nullptr : std::make_shared<const Activity>(trial_), {}, {}};
        list_differences(option.changes);
        options_.push_back(std::move(option));
    }
    if (options_.empty()) return Outcome::undecided;
    lists_all_ = search.lists_all();
    if (options_.size() == 1 && lists_all_) return Outcome::unique;
    if (options_.size() > 1) name_differences(model.places());
    return Outcome::branching;
}

// What slides may rest where boundaries that held it have come to repel, together with all that is held with it. `jet`
// has been started on what was before.
std::vector<Rest> Resolution::rest_of(Jet& jet, const LocalModel& model, const std::vector<int>& joint,
                                      const Vector& at) const {
    std::vector<Rest> rest(static_cast<std::size_t>(model.count()), Rest::never);
    if (before_->sliding().empty() || !jet.advance()) return rest;
    const std::vector<int> before = joint_boundaries(*before_, *X_, *theta_);
    const auto was_held = [&](int name) {
        std::vector<int> one;
        for (const int other : before) one.push_back(other == name ? name : 0);
        // At a state behind the event it is so no longer.
        return &at != theta_ || holds_jointly(*before_, model_of(jet, at, {}), one, interrupt_);
    };
    std::vector<Rest> kinds(static_cast<std::size_t>(jet.sliding().count()), Rest::never);
    for (int b = 0; b < jet.sliding().count(); ++b) {
        if (jet.sliding().is_grouped(b)) continue;
        const bool is_joint = !before.empty() && before[b] != 0;
        const bool is_held = is_joint ? was_held(before[b]) : ridge_of(jet, b) == Ridge::none;
        kinds[b] = is_held ? Rest::may : Rest::stays;
    }
    for (int b = 0; b < jet.sliding().count(); ++b) {
        Rest one = kinds[b];
        for (std::size_t c = 0; c < kinds.size(); ++c)
            if (joint[b] != 0 && joint[c] == joint[b]) one = std::min(one, kinds[c]);
        for (const Place& p : jet.sliding().boundaries()[b].members)
            if (const int a = model.number_of(p); a >= 0) rest[a] = one;
    }
    return rest;
}

// Whether what has left has come to its boundary again, by a root of its own.
bool Resolution::has_come_back(const Place& p) const {
    return std::ranges::find(arrived_, p) != arrived_.end();
}

bool Resolution::any_is_hidden() const {
    return sizes_ != nullptr && std::ranges::any_of(contacts_, [&](const Contact& contact) {
               return sizes_->is_hidden(contact.boundary.members.front().unit);
           });
}

bool Resolution::is_one_unit() const {
    const auto unit = [](const Contact& contact) { return contact.boundary.members.front().unit; };
    return std::ranges::all_of(contacts_, [&](const Contact& one) { return unit(one) == unit(contacts_.front()); });
}

// What is hidden decides for itself, unit by unit: nothing feels it in an instant.
std::vector<Place> Resolution::all_met() const {
    const bool is_hidden = any_is_hidden();
    std::vector<Place> met;
    for (const Contact& contact : contacts_)
        met.insert(met.end(), contact.boundary.members.begin(), contact.boundary.members.end());
    for (const Zero& zero : before_->zeros()) {  // what got its side in an event of the same instant is still zero
        const Place& p = zero.place;
        if (before_->mode(p) != Mode::moving || std::ranges::find(met, p) != met.end()) continue;
        if (is_hidden && p.unit != contacts_.front().boundary.members.front().unit) continue;
        if (is_still_zero(p)) met.push_back(p);
    }
    return met;
}

// What meets, and what slides on boundaries of the same linear function as a contact, or in the span of contacts: both
// may leave in a way that does not show while the others stay. What rested before has had its choice.
std::vector<Place> Resolution::all_that_may_leave(const LocalModel& model, const std::vector<Rest>& rest) const {
    std::vector<Place> leaving = all_met();
    for (const Boundary& boundary : before_->sliding())
        if (is_mate(boundary) && rest[model.number_of(boundary.members.front())] != Rest::stays)
            leaving.insert(leaving.end(), boundary.members.begin(), boundary.members.end());
    if (depends_) add_spanning(model, leaving);
    return leaving;
}

void Resolution::list_differences(std::vector<Change>& changes) const {
    for (int v = 1; v < graph_->count(); ++v)
        for (Index i = 0; i < X_->rows() && !graph_->node(v).linear; ++i)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                const Place p{v, i, u};
                const Mode before = before_->mode(p);
                const Mode after = trial_.mode(p);
                if (before == after && (after == Mode::empty || before_->side(p) == trial_.side(p))) continue;
                changes.push_back({p, kind_of(before, after, trial_.side(p), is_start_)});
            }
}

// The places in which the options differ are what branches.
void Resolution::name_differences(const std::vector<Place>& places) {
    contacts_.clear();
    for (const Place& p : places) {
        const Activity& first = *options_.front().activity;
        const auto same = [&](const Option& option) {
            return option.activity->mode(p) == first.mode(p) && option.activity->side(p) == first.side(p);
        };
        if (std::ranges::all_of(options_, same)) continue;
        Contact contact;
        contact.boundary.members = {p};
        contacts_.push_back(std::move(contact));
    }
}

}  // namespace reluflow::layered
