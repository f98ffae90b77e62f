/// Binds the room flow.
#include "reluflow/flow.hpp"

#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "hook.hpp"

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

RunPlan plan_in(const std::string& loss, const std::string& reduction_name, const py::dict& options) {
    RunPlan plan;
    plan.objective = {loss_kind(loss), reduction(reduction_name)};
    read(options, "rtol", plan.settings.rtol);
    read(options, "atol", plan.settings.atol);
    read(options, "max_events", plan.settings.max_events);
    read(options, "horizon_log_loss", plan.settings.horizon_log_loss);
    read(options, "checkpoint_bytes", plan.settings.checkpoint_bytes);
    std::string policy = "inactive";
    read(options, "on_branch", policy);
    plan.settings.on_branch = branch_policy(policy);
    read(options, "until_time", plan.stop.time);
    read(options, "until_log_time", plan.stop.log_time);
    read(options, "until_log_loss", plan.stop.log_loss);
    read(options, "until_direction", plan.stop.direction);
    read(options, "until_events", plan.stop.events);
    read(options, "until_seconds", plan.stop.seconds);
    plan.save_at = times_in(options, "save_at");
    plan.save_in_log = plan.save_at.empty();
    if (plan.save_in_log) plan.save_at = times_in(options, "save_at_log");
    double time = 0.0;
    read(options, "start_time", time);
    plan.start = Clock(time);
    double log_time = std::numeric_limits<double>::quiet_NaN();
    read(options, "start_log_time", log_time);
    if (!std::isnan(log_time)) plan.start = Clock::at_log(log_time);
    return plan;
}

py::dict report_of(const Progress& progress) {
    py::dict report;
    report["t"] = progress.t;
    report["log_t"] = progress.log_t;
    report["log_loss"] = progress.log_loss;
    report["steps"] = progress.steps;
    report["events"] = progress.events;
    report["seconds"] = progress.seconds;
    report["width_groups"] = progress.groups;
    return report;
}

void states_out(py::dict& out, const std::string& prefix, const States& states, const Flow& flow, const Dataset& data) {
    const Index m = flow.state().neurons();
    const Index r = data.rank();
    const Index d = data.d();
    std::vector<double> weights(states.count() * m * d);
    for (Index i = 0; i < states.count(); ++i) {
        const Matrix moving = Eigen::Map<const Matrix>(states.w.data() + i * r * m, r, m);
        Eigen::Map<Matrix>(weights.data() + i * m * d, m, d) = flow.state().full_weights(data, moving);
    }
    out[(prefix + "t").c_str()] = array_out(std::vector<double>(states.t));
    out[(prefix + "log_t").c_str()] = array_out(std::vector<double>(states.log_t));
    out[(prefix + "log_loss").c_str()] = array_out(std::vector<double>(states.log_loss));
    out[(prefix + "W").c_str()] = array_out(std::move(weights), {states.count(), m, d});
    out[(prefix + "a").c_str()] = array_out(std::vector<double>(states.a), {states.count(), m});
}

py::list branchings_out(const std::vector<Branching>& branchings) {
    py::list rows;
    for (const auto& point : branchings) {
        py::dict row;
        row["t"] = point.t;
        row["log_t"] = point.log_t;
        row["neuron"] = point.neuron;
        py::list samples;
        for (const int sample : point.samples) samples.append(sample);
        row["samples"] = samples;
        py::list options;
        for (const auto& signs : point.options) {
            py::dict option;
            for (std::size_t i = 0; i < signs.size(); ++i)
                option[py::int_(point.samples[i])] = static_cast<int>(signs[i]);
            options.append(option);
        }
        row["options"] = options;
        row["chosen"] = point.chosen;
        rows.append(row);
    }
    return rows;
}

py::dict stats_out(const Flow& flow) {
    const StepCounts& counts = flow.counts();
    py::dict stats;
    stats["steps"] = counts.steps;
    stats["orders"] = counts.orders;
    stats["late_steps"] = counts.late_steps;
    stats["late_refused"] = counts.late_refused;
    stats["late_iterations"] = counts.late_iterations;
    stats["rhs_equivalents"] = counts.rhs_equivalents;
    stats["events"] = flow.recorder().event_list().count();
    stats["event_sets"] = flow.recorder().event_list().sets;
    stats["log_gradient_norm"] = flow.log_gradient_norm();
    stats["remaining_turn"] = flow.remaining_turn();
    stats["checkpoint_stride"] = flow.recorder().stride();
    stats["seconds"] = flow.seconds();
    return stats;
}

py::dict result_out(const Flow& flow, const Dataset& data, bool saved_only) {
    py::dict out;
    const Recorder& recorder = flow.recorder();
    states_out(out, "checkpoint_", recorder.checkpoints(), flow, data);
    if (saved_only)
        states_out(out, "", recorder.saved(), flow, data);
    else
        for (const char* name : {"t", "log_t", "log_loss", "W", "a"})
            out[name] = out[("checkpoint_" + std::string(name)).c_str()];
    out.attr("pop")("checkpoint_log_loss");
    const EventList& events = recorder.event_list();
    out["event_t"] = array_out(std::vector<double>(events.t));
    out["event_log_t"] = array_out(std::vector<double>(events.log_t));
    out["event_neuron"] = array_out(std::vector<std::int32_t>(events.neuron));
    out["event_sample"] = array_out(std::vector<std::int32_t>(events.sample));
    out["event_kind"] = array_out(std::vector<std::uint8_t>(events.kind));
    out["event_tie"] = array_out(std::vector<std::int64_t>(events.tie));
    out["branchings"] = branchings_out(recorder.branchings());
    out["pattern0"] = array_out(SignMatrix(flow.first_pattern()));
    out["final_t"] = flow.clock().t();
    out["final_log_t"] = flow.clock().log_t();
    out["final_log_loss"] = flow.log_loss();
    out["final_W"] = array_out(flow.state().full_weights(data));
    out["final_a"] = array_out(Vector(flow.state().a));
    out["final_pattern"] = array_out(flow.last_pattern());
    out["status"] = std::string(status_name(flow.status()));
    out["message"] = flow.message();
    out["success"] = is_success(flow.status());
    out["stats"] = stats_out(flow);
    return out;
}

py::dict integrate_py(const py::array& X, const py::array& y, const py::array& W, const py::array& a, double leak,
                      const std::string& loss, const std::string& reduction_name, const py::dict& options,
                      py::object hook) {
    RunPlan plan = plan_in(loss, reduction_name, options);
    HookGate gate(std::move(hook));
    plan.hook = [&gate](const Progress& progress) { return gate.ask([&] { return report_of(progress); }); };
    std::optional<SignMatrix> pattern;
    if (options.contains("pattern") && !options["pattern"].is_none())
        pattern = signs_in("pattern", py::reinterpret_borrow<py::array>(options["pattern"]));
    const bool saved_only = !plan.save_at.empty();
    const Dataset data(matrix_in("X", X), vector_in("y", y));
    Flow flow(data, matrix_in("W", W), vector_in("a", a), leak, std::move(plan), pattern ? &*pattern : nullptr);
    {
        const py::gil_scoped_release no_gil;
        flow.run();
    }
    return result_out(flow, data, saved_only);
}

}  // namespace

void bind_flow(py::module_& module) {
    module.def("integrate", &integrate_py, py::arg("X"), py::arg("y"), py::arg("W"), py::arg("a"), py::arg("leak"),
               py::arg("loss"), py::arg("reduction"), py::arg("options"), py::arg("hook"),
               "The subgradient flow; a dict of the kept states, the events, the branch points and the status.");
}

}  // namespace reluflow::bindings
