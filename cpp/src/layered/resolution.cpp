#include "layered/resolution.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "layered/joint.hpp"

namespace reluflow::layered {
namespace {

/// Rounds of pivoting: more than a few mean that it goes in circles.
constexpr int kMaxRounds = 12;
/// All 3^k sides are tried up to this many contacts: 729 attempts.
constexpr int kMaxContacts = 6;
/// Pivoting goes on with as many.
constexpr int kMaxParted = 24;

/// Whether it leaves only as what turns does.
bool leaves_with_others(const Contact& contact) {
    return contact.from == 0 && !contact.turns;
}

}  // namespace

Resolution::Resolution(const Graph& graph, const Matrix& X)
    : graph_(&graph), X_(&X), terms_(graph, X), trial_(graph, X) {
    for (const Node& node : graph.nodes()) {
        zero_.emplace_back(node.size, 0);
        rate_.emplace_back(node.size, 0.0);
    }
}

void Resolution::begin(const Vector& theta, const Activity& before, std::vector<Contact> contacts, double span,
                       bool is_start, const Jet* here) {
    contacts_ = std::move(contacts);
    theta_ = &theta;
    before_ = &before;
    here_ = here != nullptr && here->is_at(theta) ? here : nullptr;
    z_.clear();
    span_ = span;
    is_start_ = is_start;
    depends_ = false;
    within_rounding_ = turns_ = false;
    arrived_.clear();
    stood_.reset();
    for (const Contact& contact : contacts_)
        if (contact.from != 0)
            arrived_.insert(arrived_.end(), contact.boundary.members.begin(), contact.boundary.members.end());
    if (!is_start) {
        drop_followers(before);
        add_forced(before);
        add_spanned_by_contacts(before);
        add_dependent(before);
        add_sums_of_zeros(before);
    }
    know_instant();
    options_.clear();
    lists_all_ = true;
    reason_.clear();
    sides_.clear();
    only_leaves_ = !is_start;
    for (const Contact& contact : contacts_) {
        sides_.push_back(contact.wants);
        only_leaves_ = only_leaves_ && contact.from == 0;
    }
}

Outcome Resolution::resolve(Jet& jet, const Vector& theta, const Activity& before, std::vector<Contact> contacts,
                            double span, const Jet* here) {
    begin(theta, before, std::move(contacts), span, false, here);
    return decide(jet);
}

Outcome Resolution::resolve_start(Jet& jet, const Vector& theta, const Activity& before, std::vector<Contact> contacts,
                                  double span) {
    begin(theta, before, std::move(contacts), span, true, nullptr);
    return decide(jet);
}

// Pivoting, then all sides of the contacts.
Outcome Resolution::resolve_by_sides(Jet& jet) {
    turns_ = std::ranges::any_of(contacts_, &Contact::turns);
    const std::size_t n_found = turns_ ? 0 : contacts_.size();  // pivoting may add to them
    const bool begins = any_begins();
    const bool found = !turns_ && !is_start_ && pivot(jet);
    // What leaves at its bound leaves: to first order it could stay, so that a search over sides would see two ways.
    // Where nothing has held it both are asked, if they are not too many.
    if (found && (contacts_.size() == 1 || only_leaves_) && (!begins || all_sides().empty())) {
        keep(on_ridge_, true);
        return Outcome::unique;
    }
    if (!is_start_) add_mates();
    list_ways(jet, is_start_ || begins ? 0 : n_found);
    if (options_.empty()) {
        if (reason_.empty()) reason_ = "no continuation was found";
        return Outcome::undecided;
    }
    if (options_.size() > 1) return Outcome::branching;
    return take(jet, *theta_, *options_.front().activity, span_) ? Outcome::unique : Outcome::undecided;
}

void Resolution::list_ways(Jet& jet, std::size_t n_found) {
    if (!all_sides().empty()) {
        lets_go_ = false;
        enumerate(jet, n_found);
        if (turns_ && lets_go_) {  // after all that turns, which may be many, has been found
            options_.clear();
            may_grow_ = true;
            enumerate(jet, 0);
            may_grow_ = false;
        }
    } else if (!turns_ && reason_.empty()) {
        reason_ = "more than " + std::to_string(kMaxContacts) + " boundaries meet";
    }
    if (turns_ && options_.empty()) follow_turning(jet);
}

bool Resolution::take(Jet& jet, const Vector& theta, const Activity& activity, double span) {
    jet.start(theta, activity, span);
    return jet.advance();
}

void Resolution::hand_over(const Option& option, Activity& to, Activity& copy) {
    if (option.activity) trial_.take_over(*option.activity);
    to.take_over(trial_);
    copy.take_over(trial_);
    Activity::settle({&trial_, &to, &copy});
}

// Where nothing slides, order 0 differs from what is known of it only on the samples where anything has changed.
void Resolution::start(Jet& jet) {
    if (here_ != nullptr && trial_.sliding().empty())
        jet.start_from(*here_, trial_, span_, trial_.changed());
    else
        jet.start(*theta_, trial_, span_);
}

bool Resolution::pivot(Jet& jet) {
    may_pivot_ = true;
    for (int round = 0; round < kMaxRounds; ++round) {
        const Check found = attempt(jet);
        if (found == Check::valid) return true;
        if (found == Check::failed || contacts_.size() > kMaxParted) return false;
        if (found == Check::broken) sides_ = next_;
    }
    return false;
}

// Of the first n_found contacts, what is at the bound of its multiplier leaves.
void Resolution::enumerate(Jet& jet, std::size_t n_found) {
    may_pivot_ = false;
    make_filter(jet);
    for (const std::vector<int>& sides : all_sides()) {
        bool stays_at_bound = false;
        for (std::size_t c = 0; c < n_found; ++c) stays_at_bound |= contacts_[c].from == 0 && sides[c] == 0;
        if (stays_at_bound) continue;
        sides_ = sides;
        const Check found = attempt(jet);
        if (found == Check::grown) {
            options_.clear();
            enumerate(jet, n_found);
            return;
        }
        if (found == Check::valid && !is_known()) keep(on_ridge_ || stays_turned());
    }
    filter_.reset();
    drop_ridges();
}

// Rates tell what cannot go on where sides are decided by them, to the last bit.
void Resolution::make_filter(Jet& jet) {
    filter_.reset();
    if (is_start_ || turns_ || within_rounding_ || leading_order() > 1) return;
    jet.start(*theta_, *before_, span_, false);
    const LocalModel model = model_at(jet, *theta_);
    filter_.emplace(LocalForm(model, std::vector<int>(static_cast<std::size_t>(model.count()), -1)));
    filtered_ = model.places();
}

bool Resolution::may_go() const {
    if (!filter_ || trial_.used_rates()) return true;
    std::vector<int> signs;
    std::vector<char> chosen;
    for (const Place& p : filtered_) {
        signs.push_back(trial_.mode(p) == Mode::moving ? trial_.side(p) : 0);
        const auto has_it = [&](const Contact& contact) { return contact.boundary.place_of(p) >= 0; };
        chosen.push_back(std::ranges::any_of(contacts_, has_it) ? 1 : 0);
    }
    return filter_->may_go(signs, chosen);
}

// All sides of what turns or crosses, where these are few, and what each of them lets go: that has no choice.
void Resolution::follow_turning(Jet& jet) {
    std::erase_if(contacts_, leaves_with_others);
    const std::vector<Contact> turning = contacts_;
    for (const std::vector<int>& sides : all_sides()) {
        contacts_ = turning;
        sides_ = sides;
        only_leaves_ = std::ranges::all_of(turning, &Contact::turns);
        may_pivot_ = true;
        Check found = Check::broken;
        for (int round = 0; round < kMaxRounds && found != Check::valid; ++round) {
            found = attempt(jet);
            if (found == Check::failed || contacts_.size() > kMaxParted) break;
            if (found == Check::broken && !std::equal(sides.begin(), sides.end(), next_.begin())) break;
            if (found == Check::broken) sides_ = next_;
        }
        if (found == Check::valid && !is_known()) keep(on_ridge_ || stays_turned());
    }
    drop_ridges();
    contacts_ = turning;
}

// Whether a contact stays where its boundary turns: it stands on a repelling one from now on.
bool Resolution::stays_turned() const {
    for (std::size_t c = 0; c < sides_.size(); ++c)
        if (contacts_[c].turns && sides_[c] == 0 && lasts_[c] == 0) return true;
    return false;
}

// Ways that stand on what repels count where there are no others.
void Resolution::drop_ridges() {
    const auto stands = [](const Option& option) { return option.stands_on_ridge; };
    if (!std::ranges::all_of(options_, stands)) std::erase_if(options_, stands);
}

int Resolution::leading_order() const {
    return only_leaves_ ? 2 : 1;
}

Resolution::Check Resolution::attempt(Jet& jet) {
    constexpr int kMaxCorrections = 4;  // of rates
    constexpr int kMaxTold = 12;        // of sides that only series tell: one a layer, if they do not contradict
    if (interrupt_ != nullptr && interrupt_->is_wanted()) throw Abandoned{};
    rates_.assign(contacts_.size(), 1.0);
    told_.clear();
    for (int corrected = 0, told = 0;;) {
        set_sides();
        if (add_parted() || add_released() || add_spanned(trial_, {})) return Check::grown;
        if (stands_apart()) return Check::broken;
        if (trial_.any_row_vanishes()) {
            reason_ = "the weights of a unit vanish together";
            return Check::failed;
        }
        if (!may_go()) return Check::broken;
        start(jet);
        for (int k = 0; k < leading_order(); ++k)
            if (!jet.advance()) {
                reason_ = "the normals of what slides depend on each other";
                return Check::failed;
            }
        const bool rates_were_wrong = trial_.used_rates() && correct_rates(jet);
        if (rates_were_wrong && ++corrected < kMaxCorrections) continue;
        const bool was_untold = correct_told(jet, leading_order());
        if (!correct_contacts(jet) && !was_untold) break;
        if (++told < kMaxTold) continue;
        reason_ = "what is zero with its weights goes to neither side";
        return Check::failed;
    }
    if (any_rests(jet)) {
        reason_ = "the normals of what meets depend on each other";
        return Check::failed;
    }
    const Check found = check(jet);
    return found == Check::valid && add_resting(jet) ? Check::grown : found;
}

void Resolution::set_sides() {
    trial_.take_over(*before_);
    trial_.listen_to(&told_, untold_side());
    trial_.clear_zeros();
    trial_.forget_rates();
    followed_.clear();
    std::vector<Index> samples;
    for (std::size_t c = 0; c < contacts_.size(); ++c) {
        const Boundary& boundary = contacts_[c].boundary;
        for (const Place& p : boundary.members) trial_.leave_boundary(p);
        if (sides_[c] == 0) trial_.slide(boundary);
        for (std::size_t m = 0; m < boundary.members.size(); ++m) {
            const Place& p = boundary.members[m];
            samples.push_back(p.sample);
            if (sides_[c] == 0) continue;
            const int flip = boundary.is_shared() ? trial_.input_sign(p, boundary.inputs[m]) : 1;
            trial_.set(p, sides_[c] * flip, Mode::moving);
            trial_.add_zero({p, order_of(contacts_[c]), true});
        }
    }
    std::ranges::sort(samples);
    const auto repeated = std::ranges::unique(samples);
    samples.erase(repeated.begin(), repeated.end());
    auto kept = before_->kept();
    for (int round = 0; round < kMaxRounds && !samples.empty(); ++round) {
        if (trial_.kept() != kept) {  // on every sample an entry at zero says what a unit reads
            samples.resize(static_cast<std::size_t>(X_->rows()));
            std::iota(samples.begin(), samples.end(), Index{0});
            kept = trial_.kept();
        }
        for (const Index i : samples) follow(static_cast<std::size_t>(i));
        trial_.regroup(*theta_, leading_order(), followed_);
        samples = trial_.touched();
        if (samples.empty() && trial_.kept() != kept) samples.push_back(0);
        std::ranges::sort(samples);
        const auto again = std::ranges::unique(samples);
        samples.erase(again.begin(), again.end());
    }
}

void Resolution::mark(const Boundary& boundary, Index sample, double rate, int orientation) {
    for (std::size_t m = 0; m < boundary.members.size(); ++m) {
        const Place& p = boundary.members[m];
        if (p.sample != sample) continue;
        const int flip = boundary.is_shared() ? trial_.input_sign(p, boundary.inputs[m]) : 1;
        zero_[p.node][p.unit] = 1;
        rate_[p.node][p.unit] = rate * orientation * flip;
    }
}

void Resolution::follow(std::size_t sample) {
    const auto i = static_cast<Index>(sample);
    for (int v = 0; v < graph_->count(); ++v) {
        std::ranges::fill(zero_[v], 0);
        std::ranges::fill(rate_[v], 0.0);
        for (Index u = 0; v > 0 && u < graph_->node(v).size; ++u) {
            const Mode mode = trial_.mode({v, i, u});
            zero_[v][u] = mode == Mode::empty;
        }
    }
    for (const Zero& zero : trial_.zeros())
        if (const Place& p = zero.place; p.sample == i) {
            zero_[p.node][p.unit] = 1;
            rate_[p.node][p.unit] = trial_.side(p);
        }
    for (const Boundary& boundary : trial_.sliding()) mark(boundary, i, 0.0, 0);
    for (std::size_t c = 0; c < contacts_.size(); ++c) mark(contacts_[c].boundary, i, rates_[c], sides_[c]);
    trial_.rewire(i, *theta_, leading_order(), zero_, rate_, followed_);
}

// Takes the speeds of the contacts from the series; true if a side that rested on them was wrong.
bool Resolution::correct_rates(const Jet& jet) {
    for (std::size_t c = 0; c < contacts_.size(); ++c)
        rates_[c] = std::abs(jet.boundary_coefficient(contacts_[c].boundary, leading_order()));
    for (const Zero& zero : trial_.zeros()) {
        const double first = jet.z(zero.place.node).at(zero.orders, zero.place.sample, zero.place.unit);
        if (first * trial_.side(zero.place) < 0.0) return true;
    }
    return false;
}

bool Resolution::is_known() const {
    for (const Option& option : options_) {
        bool same = true;
        for (int v = 1; v < graph_->count() && same; ++v)
            same = option.activity->sides(v) == trial_.sides(v) && option.activity->modes(v) == trial_.modes(v);
        if (same) return true;
    }
    return false;
}

void Resolution::keep(bool ridge, bool is_last) {
    Option option{is_last ? nullptr : std::make_shared<const Activity>(trial_),
                  sides_,
                  {},
                  ridge,
                  beside_ridge_,
                  met_rests_,
                  is_for_stay_};
    describe(option.changes);
    options_.push_back(std::move(option));
}

void Resolution::describe(std::vector<Change>& changes) const {
    for (std::size_t c = 0; c < contacts_.size(); ++c) {
        const Contact& contact = contacts_[c];
        if (sides_[c] == contact.from && !is_start_) continue;
        for (const Place& p : contact.boundary.members) {
            const Mode mode = trial_.mode(p);
            const bool up = trial_.side(p) > 0;
            // What went with its input, or slid with its boundary, is listed where that was followed.
            if (mode == Mode::empty || (mode == Mode::sliding && sides_[c] != 0)) continue;
            Kind kind = Kind::slide;
            if (is_start_)
                kind = sides_[c] == 0 ? Kind::start_slide : up ? Kind::start_up : Kind::start_down;
            else if (sides_[c] != 0 && contact.from == 0)
                kind = up ? Kind::leave_up : Kind::leave_down;
            else if (sides_[c] != 0)
                kind = up ? Kind::cross_up : Kind::cross_down;
            changes.push_back({p, kind});
        }
    }
    changes.insert(changes.end(), followed_.begin(), followed_.end());
}

}  // namespace reluflow::layered
