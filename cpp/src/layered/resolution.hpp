/// What happens where boundaries meet: cross, slide, leave, wake, rest, or branch.
///
/// A continuation gives each contact a side of w or lets it slide. It is valid if the series that starts there moves
/// each contact to its side and keeps every multiplier within its bounds. Pivoting finds one: what breaks its condition
/// changes side. Where several contacts are involved all sides are tried, so that a second valid one is seen.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/interrupt.hpp"
#include "base/types.hpp"
#include "layered/activity.hpp"
#include "layered/event_search.hpp"
#include "layered/jet.hpp"
#include "layered/local_minima.hpp"
#include "layered/side_filter.hpp"
#include "layered/term_sizes.hpp"
#include "layered/unit_sizes.hpp"

namespace reluflow::layered {

/// One valid continuation.
struct Option {
    std::shared_ptr<const Activity> activity;  ///< none: as the resolution tried it last
    std::vector<int> sides;                    ///< of the contacts
    std::vector<Change> changes;
    bool stands_on_ridge = false;  ///< something stays where it could leave
    bool beside_ridge = false;     ///< something that was not met does
    bool met_rests = false;        ///< something that was met rests: nothing moves it on its inactive side any more
    bool is_for_stay = false;      ///< something stays, from the start or where it turns, that the policy may let go
};

enum class Outcome { unique, branching, undecided };

class Resolution {
  public:
    Resolution(const Graph& graph, const Matrix& X);

    /// Finds the continuations of `before` at `theta`. With one, `jet` holds its series (order 1 or more) afterwards.
    /// `here`: what is known of order 0 at `theta` with the activity `before`, or null.
    Outcome resolve(Jet& jet, const Vector& theta, const Activity& before, std::vector<Contact> contacts, double span,
                    const Jet* here = nullptr);
    /// The same where a run begins: all sides are tried.
    Outcome resolve_start(Jet& jet, const Vector& theta, const Activity& before, std::vector<Contact> contacts,
                          double span);
    /// Finds them where what is held jointly (the contacts) is no longer: `ahead` is a state behind the event in which
    /// all of it was kept.
    Outcome resolve_joint(Jet& jet, const Vector& theta, const Activity& before, std::vector<Contact> contacts,
                          double span, const Vector& ahead);
    /// Gives the activity of an option to `to` and to `copy`.
    void hand_over(const Option& option, Activity& to, Activity& copy);

    /// Starts `jet` on an option again.
    bool take(Jet& jet, const Vector& theta, const Activity& activity, double span);

    /// Boundaries of units that are hidden by others are not decided together: `sizes` has to outlive this.
    void compare_with(const UnitSizes& sizes) noexcept { sizes_ = &sizes; }
    /// Has to be told of every point that the run comes to, and what decay alone has left of each parameter since the
    /// last one (empty without decay): what vanishes is compared with what it was.
    void see(const Vector& theta, const Vector& kept = {}) { terms_.see(theta, kept); }
    /// Whatever is decided throws Abandoned from then on if `interrupt` wants it, which has to outlive this.
    void listen_to(Interrupt& interrupt) noexcept { interrupt_ = &interrupt; }

    const std::vector<Contact>& contacts() const noexcept { return contacts_; }
    std::vector<Option>& options() noexcept { return options_; }
    /// False if there may be more of them than are looked at.
    bool lists_all() const noexcept { return lists_all_; }
    const std::string& reason() const noexcept { return reason_; }

  private:
    enum class Check { valid, broken, failed, grown };
    enum class Ridge { none, rests, stands };

    Outcome decide(Jet& jet);
    Outcome decide_once(Jet& jet);
    Outcome decide_beginning(Jet& jet);
    bool any_begins() const noexcept { return std::ranges::any_of(contacts_, &Contact::begins); }
    void start(Jet& jet);

    void drop_followers(const Activity& before);
    void add_forced(const Activity& before);
    bool add_resting(Jet& jet);
    bool has_just_left(const Place& p) const;
    bool has_come_back(const Place& p) const;
    /// True if a pre-activation has not moved since an event of the same instant: it is below this part of its terms.
    static constexpr double kSameInstant = 1e-13;
    double z_of(const Place& p) const;
    bool is_still_zero(const Place& p) const;
    /// Of the velocity, times how far it moves a place: what moves less rests.
    static constexpr double kNoRate = 1e-13;
    /// What must be zero by the relations of what slides is so up to this part of its terms.
    static constexpr double kForcedZero = 1e-8;
    static bool rests(Jet& jet, const Place& p);
    void add_dependent(const Activity& before);
    bool any_depends(const Activity& before, const LocalModel& model) const;
    void add_spanning(const LocalModel& model, std::vector<Place>& leaving) const;
    void add_sums_of_zeros(const Activity& before);
    bool is_sum_of_zeros(const Activity& before, const Place& p, const std::vector<Place>& zero) const;
    Check attempt(Jet& jet);
    void set_sides();
    bool add_parted();
    bool add_released();
    bool reads_released(const Place& p) const;
    void follow(std::size_t sample);
    void mark(const Boundary& boundary, Index sample, double rate, int orientation);
    bool correct_rates(const Jet& jet);
    bool correct_told(Jet& jet, int from);
    static bool has_no_rate(const LocalModel& model, int a);
    bool correct_contacts(Jet& jet);
    bool note(const Told& found);
    int order_of(const Contact& contact) const;
    int untold_side() const noexcept { return is_start_ ? 1 : -1; }
    bool any_rests(const Jet& jet) const;
    Check check(Jet& jet);
    std::vector<int> jointly_kept(const Jet& jet) const;
    bool check_moving(const Jet& jet, Contact& contact, int& side);
    bool leaves_at_once(const Jet& jet, const Boundary& boundary, int side) const;
    double hidden_by_rounding(const Jet& jet, const Boundary& boundary);
    bool moves_against(const Jet& jet, const Boundary& boundary, double acceleration) const;
    bool check_sliding(Jet& jet, int b);
    bool stands(const Jet& jet, int b, double above, double below, double tol);
    bool stood_before(const Jet& jet, const Boundary& boundary);
    int first_orders(Jet& jet, int b, Row& multiplier, Row& up, Row& down) const;
    static int leaves_later(Jet& jet, int b, int from, double tol);
    int side_of_exit(const Jet& jet, int b, const Row& up, const Row& down, double tol) const;
    bool check_group(const Jet& jet, const SlidingGroup& group);
    static Ridge ridge_of(const Jet& jet, int b);
    std::vector<Contact> come_to_repel(Jet& jet, bool& rests);
    Outcome beside_ridges(Jet& jet);
    Outcome with_ways(std::vector<Option> ways, const std::vector<Contact>& places);
    int contact_of(const Boundary& boundary) const;
    int turning(const Boundary& boundary) const;
    void find_turning(Jet& jet);
    bool is_open(const Row& mu, const Row& up, const Row& down) const noexcept;
    void know_instant();
    double in_a_moment(const Row& multiplier, const Row& bound) const noexcept;
    bool turns_along(const Boundary& boundary);
    bool check_turned(const Jet& jet, int b, double up, double down, int contact);
    bool check_turned_group(const Jet& jet, const SlidingGroup& group);
    void go_along(const Jet& jet, const SlidingGroup& group, const Eigen::RowVectorXd& ray);
    void change_side(const Boundary& boundary, int side, bool is_at_bound = false);
    void add_spanned_by_contacts(const Activity& before);
    bool add_spanned(const Activity& activity, const std::vector<std::size_t>& contacts);
    bool stands_apart();
    void add_mates();
    std::vector<std::vector<int>> all_sides() const;
    std::vector<std::vector<int>> sides_of(const std::vector<std::vector<std::vector<std::size_t>>>& classes) const;
    std::vector<std::vector<std::size_t>> contact_groups() const;
    std::vector<std::size_t> matched(const std::vector<std::size_t>& group,
                                     const std::vector<std::size_t>& other) const;
    void make_filter(Jet& jet);
    bool may_go() const;
    std::vector<std::vector<int>> group_sides(const std::vector<std::size_t>& group) const;
    int sign_of(const Boundary& boundary, const Place& p) const;
    bool pivot(Jet& jet);
    Outcome resolve_by_sides(Jet& jet);
    void begin(const Vector& theta, const Activity& before, std::vector<Contact> contacts, double span, bool is_start,
               const Jet* here);
    bool any_joint() const;
    bool is_valid_jointly(Jet& jet);
    LocalModel model_at(const Jet& jet, const Vector& at) const;
    LocalModel model_of(const Jet& jet, const Vector& at, const std::vector<Place>& met) const;
    Outcome resolve_locally(Jet& jet, const Vector& at);
    std::vector<Rest> rest_of(Jet& jet, const LocalModel& model, const std::vector<int>& joint, const Vector& at) const;
    bool lists(const Option& option) const;
    bool any_is_hidden() const;
    bool is_one_unit() const;
    std::vector<Place> all_met() const;
    std::vector<Place> all_that_may_leave(const LocalModel& model, const std::vector<Rest>& rest) const;
    bool is_mate(const Boundary& boundary) const;
    static bool cancels(const LocalModel& model, const Minimum& minimum, int a);
    bool arrange(Jet& jet, const LocalModel& model, const Minimum& minimum);
    bool leave_beyond_bounds(Jet& jet, std::vector<Given>& given);
    static void number_motions(const LocalModel& model, const Minimum& minimum, std::vector<Given>& given);
    bool goes_as_given(const Jet& jet, std::vector<Given>& given, bool& again);
    void list_differences(std::vector<Change>& changes) const;
    void name_differences(const std::vector<Place>& places);
    void enumerate(Jet& jet, std::size_t n_found);
    void list_ways(Jet& jet, std::size_t n_found);
    void follow_turning(Jet& jet);
    bool stays_turned() const;
    void drop_ridges();
    void keep(bool ridge, bool is_last = false);
    bool is_known() const;
    void describe(std::vector<Change>& changes) const;
    int leading_order() const;

    const Graph* graph_;
    const Matrix* X_;
    const Activity* before_ = nullptr;
    const Vector* theta_ = nullptr;
    const Jet* here_ = nullptr;  // with order 0 at theta_, or null
    const UnitSizes* sizes_ = nullptr;
    std::optional<SideFilter> filter_;  // of what is tried, and the places of its model
    std::vector<Place> filtered_;
    mutable std::vector<Matrix> z_;  // at theta_, made when it is needed and nothing is here_
    TermSizes terms_;
    Interrupt* interrupt_ = nullptr;
    double span_ = 1.0;
    double instant_ = 0.0;  // to what part of the step it is known when the contacts meet
    bool is_start_ = false;
    bool only_leaves_ = false;
    bool depends_ = false;  // what met is zero only together
    bool on_ridge_ = false;
    bool beside_ridge_ = false;
    bool met_rests_ = false;  // of what is tried, as in Option
    bool is_for_stay_ = false;
    std::vector<Contact> let_go_;  // what has to leave where a boundary turns as is tried
    bool lets_go_ = false;         // a way is valid but for that
    bool may_grow_ = false;        // it becomes contacts
    bool has_grown_ = false;
    bool may_pivot_ = true;
    bool turns_ = false;            // a boundary turns, and all sides are tried of it and of those of the same function
    bool looks_ahead_ = false;      // where multipliers and their bounds begin with nothing later orders count
    bool within_rounding_ = false;  // what slides may miss its bounds by the rounding of duals
    std::vector<Contact> contacts_;
    std::vector<Place> arrived_;               // has come from a side
    std::optional<std::vector<Place>> stood_;  // where boundaries repelled before: once it is asked for
    std::vector<int> sides_;
    std::vector<int> next_;
    std::vector<char> lasts_;  // contacts that slide where their boundary has come to attract
    std::vector<double> rates_;
    std::vector<Told> told_;  // followers whose sides series have told, and contacts that move by a later order
    std::vector<Change> followed_;
    Activity trial_;
    std::vector<std::vector<char>> zero_;
    std::vector<std::vector<double>> rate_;
    std::vector<Option> options_;
    bool lists_all_ = true;
    std::string reason_;
};

}  // namespace reluflow::layered
