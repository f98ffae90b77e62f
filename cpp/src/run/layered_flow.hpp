/// The run of a layered network: quiet steps by Taylor series, events between them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "hybrid/clock.hpp"
#include "layered/activity.hpp"
#include "layered/balance.hpp"
#include "layered/chatter.hpp"
#include "layered/dual_series.hpp"
#include "layered/event_search.hpp"
#include "layered/graph.hpp"
#include "layered/implicit_step.hpp"
#include "layered/jet.hpp"
#include "layered/joint.hpp"
#include "layered/late_pace.hpp"
#include "layered/late_step.hpp"
#include "layered/local_crossings.hpp"
#include "layered/resolution.hpp"
#include "layered/twins.hpp"
#include "layered/unit_sizes.hpp"
#include "run/recorder.hpp"
#include "run/run.hpp"

namespace reluflow::layered {

/// An event of one unit on one sample; events of one instant share `set`.
struct LayeredEvent {
    double t = 0.0;
    double log_t = 0.0;
    Change change;
    std::int64_t set = 0;
};

/// A non-unique continuation.
struct LayeredBranching {
    double t = 0.0;
    double log_t = 0.0;
    std::vector<Place> places;              ///< the first member of each boundary
    std::vector<std::vector<int>> options;  ///< one side for each
    int chosen = 0;
    bool lists_all = true;  ///< whether there are no more options
};

/// Everything a run goes on from.
struct Snapshot {
    Clock clock{0.0};
    Vector theta;
    Activity activity;
    Vector balance = {};  ///< of the units, from the start of the run; empty where it has to be read off θ
};

/// The tolerance of explicit steps once a few places have come and gone by what they leave within theirs. The steps are
/// hardly shorter: what limits them is their stability.
inline constexpr double kFinest = 1e-13;

class LayeredFlow final : public Run {
  public:
    /// Signs are read off the pre-activations at `theta`. Throws InvalidArgument.
    LayeredFlow(const Graph& graph, const Matrix& X, const DualSeries& duals, const Vector& theta, RunPlan plan);
    /// Goes on from a snapshot.
    LayeredFlow(const Graph& graph, const Matrix& X, const DualSeries& duals, const Snapshot& from, RunPlan plan);

    const Clock& clock() const noexcept override { return state_.clock; }
    double log_loss() const override { return log_loss_; }
    double log_gradient_norm() const override { return log_gradient_; }
    std::int64_t steps() const noexcept override { return steps_; }
    std::int64_t event_count() const noexcept override { return static_cast<std::int64_t>(events_.size()); }
    /// The message of the end of the run, and whether branches have more options than are listed.
    std::string full_message() const;
    Index parameters() const noexcept { return state_.theta.size(); }
    const Snapshot& state() const noexcept { return state_; }
    const std::vector<LayeredEvent>& events() const noexcept { return events_; }
    const std::vector<LayeredBranching>& branchings() const noexcept { return branchings_; }
    const States& saved() const noexcept { return saved_; }
    const States& kept() const noexcept { return kept_; }
    const std::vector<Snapshot>& snapshots() const noexcept { return snapshots_; }
    std::int64_t order_sum() const noexcept { return order_sum_; }
    std::int64_t event_sets() const noexcept { return sets_; }

  private:
    static constexpr const char* kDependent = "the normals of what slides depend on each other";

    void start() override;
    bool advance() override;
    double log_norm() override;
    Clock clock_at(double u) override;
    double log_loss_at(double u) override;
    void save_state(const Clock& when, double u) override;
    double reach(const Clock& target, double end) override;

    void begin();
    void decide_start();
    bool follows(const Place& p, const std::vector<Place>& zero) const;
    bool go_on();
    void see_sizes();
    void keep_begin();
    void take_back();
    double first_span() const;
    bool fit_unit();
    bool lengthen_unit();
    bool take_unit();
    bool expand_to(int order);
    bool expand(bool for_crossings);
    bool may_share() const;
    double follow_crossings(double end);
    double go(bool with_crossings);
    double find_end(bool with_crossings);
    bool expand_fully();
    bool is_doubtful() const;
    bool is_in_doubt() const;
    void record_crossings();
    const Activity& activity_at_end() const noexcept {
        return crossings_.crossings().empty() ? state_.activity : moved_;
    }
    void measure(int k);
    double allowed(int order) const;
    double longest_decay() const;
    double end_of_step(double u);
    double missed(double tolerance) const;
    double tolerance() const noexcept;
    double settled() const noexcept;
    void refine(bool quiet);
    bool is_accurate(double u);
    bool has_fallen() const;
    bool rises_within();
    void put_on_boundaries();
    double off_boundaries();
    void put_back(Vector& theta);
    double shorten(double u);
    double shortest_change() const;
    bool holds_at(double u);
    std::vector<Index> hidden_units() const;
    double end_of_joint_slide(double u);
    double behind(std::size_t k) const;
    void look_ahead(double u, double longest);
    Outcome resolve_contacts();
    void commit(double u);
    bool may_go_late() const;
    bool go_late(double& u);
    bool leave_late();
    double end_of_late_step();
    bool cut_late(double& u);
    double end_by_norm(double end);
    bool is_accurate_late(double u);
    Clock late_clock_at(double u);
    double reach_late(const Clock& target, double end);
    void commit_late(double u, double log_loss_before, double size_before);
    void report_plain(double u, double size_before);
    bool leave_long_step();
    bool cut_long_step(double& u, const std::function<double()>& end, const std::function<bool(double)>& again);
    bool may_go_implicit() const;
    bool go_implicit(double& u);
    bool stand(double& u);
    bool leave_implicit();
    bool cut_implicit(double& u);
    bool is_accurate_implicit(double u);
    void commit_implicit(double u);
    double go_plain();
    const Jet* known_here() const;
    void handle_events();
    void branch();
    void adopt(const Option& option);
    void record(const std::vector<Change>& changes);
    void keep_state();
    bool is_at_rest(double u);
    double moved_within(double u) const;
    bool is_on_its_way(double u) const;
    bool has_far_to_go();
    void rest();
    void rest_until(const Clock& then);
    bool has_settled();
    double slowest_decay() const;
    bool decays_still();
    bool stands(bool is_idle);
    void watch_rounding(double u, double longest);
    bool is_lost_by_rounding(double length);
    Index moves_unseen();
    bool finish_unseen();
    bool is_over() const;
    bool are_below(const Matrix& values, const Matrix& bounds) const;
    void finish_undecided(const std::string& what);
    std::string name_contacts() const;
    double log_loss_of(const Vector& theta);

    const Graph* graph_;
    const Matrix* X_;
    Snapshot state_;
    Balance balance_;  // of the start
    Twins twins_;
    UnitSizes sizes_of_units_;  // of the state
    Jet jet_;
    Jet probe_;
    EventSearch search_;
    LocalCrossings crossings_;
    Activity moved_;        // with the crossings inside the present step
    double reached_ = 0.0;  // how far, in rescaled time, the last step with crossings went
    LateStep late_;
    LatePace pace_;
    bool is_late_ = false;  // the present step
    ImplicitStep implicit_;
    LatePace implicit_pace_;
    bool is_implicit_ = false;  // the present step
    int plain_order_ = 0;       // of the last explicit step
    Matrix late_weights_;
    double log_gradient_at_end_ = 0.0;
    Resolution resolution_;
    std::vector<int> joint_;     // with which others each boundary slides, 0 for none; empty if all do alone
    std::vector<Vector> ahead_;  // behind an event of these
    bool is_joint_event_ = false;
    Index let_go_ = -1;            // the hidden unit that is not held where it was last asked, if it is one
    Held held_ = Held::by_bounds;  // what is held jointly, at the begin of the step
    double told_ = 0.0;            // the part of the next step in which a state behind an event has shown that it stays
    double reach_ = 1.0;           // how much farther behind an event than usual that state is
    std::vector<Contact> contacts_;
    Vector end_, rate_, velocity_;
    std::vector<double> multipliers_;
    std::vector<Matrix> z_;
    double span_ = 1.0;
    std::array<std::array<double, kMaxOrder + 1>, 3> sizes_{};  // by quantity and order of the present step
    double log_loss_ = 0.0;
    double log_loss_at_end_ = 0.0;
    double log_gradient_ = 0.0;
    double rate_at_start_ = 0.0;  // |dθ/du| where the present step begins
    Stride stride_;
    States saved_, kept_;
    std::vector<Snapshot> snapshots_;
    std::vector<LayeredEvent> events_;
    std::vector<LayeredBranching> branchings_;
    std::int64_t sets_ = 0;
    Chatter chatter_;
    double rtol_;       // of explicit steps
    int fine_ = 0;      // such steps in a row in which what slides is in doubt
    Jet::Missed left_;  // what the last implicit step has missed, until that is over
    std::int64_t steps_ = 0;
    std::int64_t order_sum_ = 0;
    Vector settling_;
    double settling_since_ = 0.0;
    double largest_ = 0.0;
    bool shares_ = false;  // crossings share the step
    bool is_cut_ = false;  // the run ends before the last crossing inside the step
    /// Where a step with crossings ends for the next state that is saved, and when.
    double save_end_ = kNoRoot;
    Clock save_clock_;
    bool probed_ = false;  // the probe is at the end of the present step
    /// Where a step began that ends at an event, until that is decided.
    struct Begin {
        Snapshot state;
        double log_loss = 0.0;
        double log_gradient = 0.0;
        std::int64_t steps = 0;
        std::int64_t sets = 0;
        std::size_t events = 0;
        Index saved = 0;
    };
    std::optional<Begin> begin_;
    /// What rounding does to steps since the last event, in looks at some of them at a time.
    struct Crawl {
        int steps = 0;  ///< since the last look
        int limited = 0;
        int looks = 0;
        double first = 0.0;  ///< mean log of the velocity over its terms, in the first half of the looks
        double second = 0.0;
    } crawl_;
    int idle_ = 0;
    int standing_ = 0;      // idle steps without an event since
    Vector standing_from_;  // the state was here
    double seen_at_ = 0.0;  // t at which the sizes of terms were looked at
    int resting_ = 0;       // steps in a row that moved nothing, at rest and in all
    int unmoved_ = 0;
    bool fades_ = false;  // nothing but decay moves what is left
};

}  // namespace reluflow::layered
