/// What is kept of a run: the part of LayeredFlow that records.
#include "layered/layered_flow.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "numeric/polynomial.hpp"

namespace reluflow::layered {
namespace {

/// Kept states: when there are more, every second one goes.
constexpr std::size_t kKeptNumbers = std::size_t{8} << 20;

}  // namespace

void LayeredFlow::record(const std::vector<Change>& changes) {
    if (changes.empty()) return;
    for (const Change& change : changes) events_.push_back({now_.clock.t(), now_.clock.log_t(), change, sets_});
    ++sets_;
}

void LayeredFlow::keep_state() {
    if (!plan_.keeps_steps || steps_ % stride_ != 0) return;
    const auto numbers = static_cast<std::size_t>(now_.theta.size());
    std::size_t places = 0;
    for (const Node& node : graph_->nodes()) places += static_cast<std::size_t>(node.size * X_->rows());
    kept_.t.push_back(now_.clock.t());
    kept_.log_t.push_back(now_.clock.log_t());
    kept_.log_loss.push_back(log_loss_);
    kept_.theta.push_back(now_.theta);
    snapshots_.push_back(now_);
    if (snapshots_.size() * (2 * numbers + 2 * places) < kKeptNumbers || snapshots_.size() < 4) return;
    const auto thin = [](auto& list) {
        for (std::size_t i = 1; 2 * i < list.size(); ++i) list[i] = std::move(list[2 * i]);
        list.resize((list.size() + 1) / 2, list.front());
    };
    thin(kept_.t);
    thin(kept_.log_t);
    thin(kept_.log_loss);
    thin(kept_.theta);
    thin(snapshots_);
    stride_ *= 2;
}

void LayeredFlow::save_within(double u) {
    while (saved_count_ < plan_.save_at.size()) {
        const double time = plan_.save_at[saved_count_];
        const Clock when = plan_.save_in_log ? Clock::at_log(time) : Clock(time);
        double at = steps_ == 0 && u == 0.0 ? (now_.clock.is_before(when) ? kNoRoot : 0.0) : time_to(when, u);
        if (at > u && pending_ == Status::reached_time && time == plan_.stop.time) at = u;
        if (at > u && pending_ == Status::reached_log_time && time == plan_.stop.log_time) at = u;
        if (at > u) return;
        Vector theta = now_.theta;
        if (at > 0.0) jet_.theta_at(at, theta);
        saved_.t.push_back(when.t());
        saved_.log_t.push_back(when.log_t());
        saved_.log_loss.push_back(at > 0.0 ? outputs_log_loss(theta) : log_loss_);
        saved_.theta.push_back(std::move(theta));
        ++saved_count_;
    }
}

}  // namespace reluflow::layered
