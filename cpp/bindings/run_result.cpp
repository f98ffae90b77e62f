#include "run_result.hpp"

#include <limits>
#include <string>
#include <utility>

#include "arrays.hpp"

namespace reluflow::bindings {
namespace {

void states_out(py::dict& out, const std::string& prefix, KeptStates&& states, Index m, Index d) {
    const Index k = states.count();
    out[(prefix + "t").c_str()] = array_out(std::move(states.t));
    out[(prefix + "log_t").c_str()] = array_out(std::move(states.log_t));
    out[(prefix + "log_loss").c_str()] = array_out(std::move(states.log_loss));
    out[(prefix + "W").c_str()] = array_out(std::move(states.W), {k, m, d});
    out[(prefix + "a").c_str()] = array_out(std::move(states.a), {k, m});
}

void events_out(py::dict& out, EventList&& events) {
    out["event_t"] = array_out(std::move(events.t));
    out["event_log_t"] = array_out(std::move(events.log_t));
    out["event_neuron"] = array_out(std::move(events.neuron));
    out["event_sample"] = array_out(std::move(events.sample));
    out["event_kind"] = array_out(std::move(events.kind));
    out["event_tie"] = array_out(std::move(events.tie));
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

py::dict stats_out(const RunResult& result) {
    const StepCounts& counts = result.counts;
    py::dict stats;
    stats["steps"] = counts.steps;
    stats["orders"] = counts.orders;
    stats["late_steps"] = counts.late_steps;
    stats["carried_steps"] = counts.carried_steps;
    stats["late_refused"] = counts.late_refused;
    stats["late_iterations"] = counts.late_iterations;
    stats["rhs_equivalents"] = counts.rhs_equivalents;
    stats["events"] = result.events.count();
    stats["event_sets"] = result.events.sets;
    stats["log_gradient_norm"] = result.log_gradient_norm;
    stats["remaining_turn"] = result.remaining_turn;
    if (result.rest_log_t < std::numeric_limits<double>::infinity()) stats["rest_log_t"] = result.rest_log_t;
    if (result.rests_are_free) stats["rests_are_free"] = true;
    stats["checkpoint_stride"] = result.checkpoint_stride;
    stats["seconds"] = result.seconds;
    stats["threads"] = result.threads;
    return stats;
}

}  // namespace

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

py::dict result_out(RunResult&& result) {
    py::dict out;
    out["stats"] = stats_out(result);
    out["checkpoint_events"] = array_out(std::move(result.checkpoints.events));
    states_out(out, "checkpoint_", std::move(result.checkpoints), result.neurons, result.inputs);
    if (result.steps_are_states)
        for (const char* name : {"t", "log_t", "log_loss", "W", "a"})
            out[name] = out[("checkpoint_" + std::string(name)).c_str()];
    else
        states_out(out, "", std::move(result.states), result.neurons, result.inputs);
    out.attr("pop")("checkpoint_log_loss");
    events_out(out, std::move(result.events));
    out["branchings"] = branchings_out(result.branchings);
    out["pattern0"] = array_out(std::move(result.first_pattern));
    py::dict held;
    held["exponent"] = result.exponent;
    held["offsets"] = array_out(std::move(result.offsets));
    out["held"] = held;
    const Pace& pace = result.pace;
    out["final_pace"] = array_out(std::vector<double>{pace.smooth, pace.events, pace.square, pace.late, pace.gain});
    out["final_t"] = result.t;
    out["final_log_t"] = result.log_t;
    out["final_log_loss"] = result.log_loss;
    out["final_W"] = array_out(std::move(result.W));
    out["final_a"] = array_out(std::move(result.a));
    out["final_pattern"] = array_out(std::move(result.last_pattern));
    if (result.weights.size() > 0) out["final_sample_weights"] = array_out(std::move(result.weights));
    out["status"] = std::string(status_name(result.status));
    out["message"] = result.message;
    out["success"] = is_success(result.status);
    return out;
}

}  // namespace reluflow::bindings
