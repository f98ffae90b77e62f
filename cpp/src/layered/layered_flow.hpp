/// A run of a layered network: quiet steps by Taylor series, events between them, until the first stop rule holds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/observer.hpp"
#include "base/status.hpp"
#include "base/types.hpp"
#include "hybrid/clock.hpp"
#include "layered/activity.hpp"
#include "layered/dual_series.hpp"
#include "layered/event_search.hpp"
#include "layered/graph.hpp"
#include "layered/jet.hpp"
#include "layered/resolution.hpp"
#include "problem/settings.hpp"

namespace reluflow::layered {

/// What a callback sees.
struct LayeredProgress {
    double t = 0.0;
    double log_t = 0.0;
    double log_loss = 0.0;
    std::int64_t steps = 0;
    std::int64_t events = 0;
    double seconds = 0.0;
};

struct LayeredStop {
    double time = std::numeric_limits<double>::infinity();
    double log_time = std::numeric_limits<double>::infinity();
    double log_loss = -std::numeric_limits<double>::infinity();
    double log_norm = std::numeric_limits<double>::infinity();
    double gradient = 0.0;  ///< |∇L|
    std::int64_t events = std::numeric_limits<std::int64_t>::max();
    std::int64_t steps = std::numeric_limits<std::int64_t>::max();
    double seconds = std::numeric_limits<double>::infinity();
};

struct LayeredPlan {
    LayeredStop stop;
    double rtol = 1e-9;
    BranchPolicy on_branch = BranchPolicy::inactive;
    Clock start{0.0};
    std::vector<double> save_at;  ///< increasing times, or log times
    bool save_in_log = false;
    bool keeps_steps = true;
    std::function<Request(const LayeredProgress&)> hook;
};

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
};

/// States row by row.
struct LayeredStates {
    std::vector<double> t, log_t, log_loss;
    std::vector<Vector> theta;
};

/// Everything a run goes on from.
struct Snapshot {
    Clock clock{0.0};
    Vector theta;
    Activity activity;
};

class LayeredFlow {
  public:
    /// Signs are read off the pre-activations at `theta`. Throws InvalidArgument.
    LayeredFlow(const Graph& graph, const Matrix& X, const DualSeries& duals, const Vector& theta, LayeredPlan plan);
    /// Goes on from a snapshot.
    LayeredFlow(const Graph& graph, const Matrix& X, const DualSeries& duals, const Snapshot& from, LayeredPlan plan);

    void run();

    Status status() const noexcept { return status_; }
    const std::string& message() const noexcept { return message_; }
    const Snapshot& state() const noexcept { return now_; }
    double log_loss() const noexcept { return log_loss_; }
    double log_gradient_norm() const noexcept { return log_gradient_; }
    const std::vector<LayeredEvent>& events() const noexcept { return events_; }
    const std::vector<LayeredBranching>& branchings() const noexcept { return branchings_; }
    const LayeredStates& saved() const noexcept { return saved_; }
    const LayeredStates& steps() const noexcept { return kept_; }
    const std::vector<Snapshot>& snapshots() const noexcept { return snapshots_; }
    std::int64_t step_count() const noexcept { return steps_; }
    std::int64_t order_sum() const noexcept { return order_sum_; }
    std::int64_t event_sets() const noexcept { return sets_; }
    double seconds() const;

  private:
    void begin();
    void decide_start();
    void advance();
    bool expand();
    double allowed(int order) const;
    double reach(double u);
    bool is_accurate(double u);
    double shorten(double u);
    void commit(double u);
    void handle_events();
    void branch();
    void adopt(Option& option);
    void record(const std::vector<Change>& changes);
    void keep_state();
    void save_within(double u);
    double time_to(const Clock& target, double end) const;
    Clock clock_at(double u) const;
    double end_by_rules(double u);
    double end_by_loss(double u);
    bool check_stop();
    bool is_at_rest(double u);
    void finish(Status status, std::string message);
    std::string name_contacts() const;
    double outputs_log_loss(const Vector& theta);

    const Graph* graph_;
    const Matrix* X_;
    LayeredPlan plan_;
    Snapshot now_;
    Jet jet_;
    Jet probe_;
    EventSearch search_;
    Resolution resolution_;
    std::vector<Contact> contacts_;
    Vector end_, rate_, velocity_;
    std::vector<double> multipliers_;
    double span_ = 1.0;
    double log_loss_ = 0.0;
    double log_loss_at_end_ = 0.0;
    double log_gradient_ = 0.0;
    Status status_ = Status::running;
    Status pending_ = Status::running;
    std::string message_;
    std::size_t saved_count_ = 0;
    LayeredStates saved_, kept_;
    std::vector<Snapshot> snapshots_;
    std::vector<LayeredEvent> events_;
    std::vector<LayeredBranching> branchings_;
    std::int64_t sets_ = 0;
    std::int64_t steps_ = 0;
    std::int64_t order_sum_ = 0;
    std::int64_t stride_ = 1;
    int idle_ = 0;
    int resting_ = 0;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace reluflow::layered
