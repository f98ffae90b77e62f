#include "run_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "arrays.hpp"

namespace reluflow::bindings {
namespace {

template <class Value>
void read(const py::dict& options, const char* name, Value& value) {
    if (!options.contains(name)) return;
    const py::object given = options[name];
    if (!given.is_none()) value = given.cast<Value>();
}

BranchPolicy branch_policy(const std::string& name) {
    if (name == "inactive") return BranchPolicy::inactive;
    if (name == "active") return BranchPolicy::active;
    if (name == "stay") return BranchPolicy::stay;
    if (name == "raise") return BranchPolicy::raise;
    throw InvalidArgument("on_branch", "\"" + name + "\"", "\"inactive\", \"active\", \"stay\" or \"raise\"");
}

std::vector<double> times_in(const py::dict& options, const char* name) {
    if (!options.contains(name)) return {};
    const py::object given = options[name];
    if (given.is_none()) return {};
    const auto view = vector_in(name, py::reinterpret_borrow<py::array>(given));
    return {view.data(), view.data() + view.size()};
}

Settings settings_in(const py::dict& options) {
    Settings settings;
    read(options, "rtol", settings.rtol);
    settings.rtol = std::min(settings.rtol, kLoosestRtol);
    read(options, "atol", settings.atol);
    read(options, "rounding", settings.rounding);
    read(options, "most_limited", settings.most_limited);
    read(options, "max_events", settings.max_events);
    read(options, "horizon_log_loss", settings.horizon_log_loss);
    read(options, "checkpoint_bytes", settings.checkpoint_bytes);
    std::string policy = "inactive";
    read(options, "on_branch", policy);
    settings.on_branch = branch_policy(policy);
    return settings;
}

}  // namespace

Vector counts_in(const py::object& given) {
    if (given.is_none()) return {};
    return vector_in("weights", py::reinterpret_borrow<py::array>(given));
}

Dataset dataset_in(const py::array& X, const py::array& y, const Objective& objective, const py::dict& options) {
    const py::object given = options.contains("weights") ? py::object(options["weights"]) : py::object(py::none());
    return Dataset(matrix_in("X", X), vector_in("y", y), objective.loss, counts_in(given), objective.decay > 0.0);
}

RunPlan plan_in(const std::string& loss, const std::string& reduction_name, const py::dict& options) {
    RunPlan plan = plan_in(options);
    plan.objective = {loss_kind(loss), reduction(reduction_name)};
    read(options, "weight_decay", plan.objective.decay);
    if (options.contains("rest_scales"))
        plan.objective.resting.scales =
            vector_in("rest_scales", py::reinterpret_borrow<py::array>(options["rest_scales"]));
    read(options, "tail_share", plan.objective.resting.share);
    return plan;
}

RunPlan plan_in(const py::dict& options) {
    RunPlan plan;
    plan.settings = settings_in(options);
    read(options, "until_time", plan.stop.time);
    read(options, "until_log_time", plan.stop.log_time);
    read(options, "until_log_loss", plan.stop.log_loss);
    bool is_mean = false;
    read(options, "until_mean", is_mean);
    if (is_mean) plan.stop.loss_status = Status::reached_mean_loss;
    read(options, "until_direction", plan.stop.direction);
    read(options, "until_gradient", plan.stop.gradient);
    read(options, "until_log_norm", plan.stop.log_norm);
    read(options, "until_events", plan.stop.events);
    read(options, "until_steps", plan.stop.steps);
    read(options, "until_seconds", plan.stop.seconds);
    read(options, "n_threads", plan.n_threads);
    read(options, "at_rest", plan.at_rest);
    read(options, "ends_at_rest", plan.ends_at_rest);
    read(options, "goes_on", plan.goes_on);
    read(options, "past_stall", plan.past_stall);
    read(options, "exponent", plan.exponent);
    for (const auto& [name, numbers] :
         {std::pair{"offsets", &plan.offsets}, std::pair{"sample_weights", &plan.weights}})
        if (options.contains(name)) *numbers = vector_in(name, py::reinterpret_borrow<py::array>(options[name]));
    if (options.contains("pace")) {
        const auto pace = options["pace"].cast<std::array<double, 5>>();
        plan.pace = {pace[0], pace[1], pace[2], pace[3], pace[4]};
    }
    for (const auto& [name, by] : {std::pair{"save_at", SaveBy::time}, std::pair{"save_at_log", SaveBy::log_time},
                                   std::pair{"save_at_log_norm", SaveBy::log_norm}}) {
        std::vector<double> given = times_in(options, name);
        if (given.empty()) continue;
        plan.save_at = std::move(given);
        plan.save_by = by;
    }
    double time = 0.0;
    read(options, "start_time", time);
    plan.start = Clock(time);
    double log_time = std::numeric_limits<double>::quiet_NaN();
    read(options, "start_log_time", log_time);
    if (!std::isnan(log_time)) plan.start = Clock::at_log(log_time);
    return plan;
}

}  // namespace reluflow::bindings
