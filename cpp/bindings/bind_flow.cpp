/// Binds the module flow.
#include "run/flow.hpp"

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "hook.hpp"
#include "run/result.hpp"
#include "run_plan.hpp"
#include "run_result.hpp"

namespace reluflow::bindings {
namespace {

double number_of(const py::dict& options, const char* name, double otherwise) {
    return options.contains(name) ? options[name].cast<double>() : otherwise;
}

Keeper keeper_of(const py::dict& options) {
    if (!options.contains("keep")) return {py::none(), 0.0};
    return {options["keep"], number_of(options, "keep_period", 0.0)};
}

py::dict integrate_py(const py::array& X, const py::array& y, const py::array& W, const py::array& a, double leak,
                      const std::string& loss, const std::string& reduction_name, const py::dict& options,
                      py::object hook) {
    RunPlan plan = plan_in(loss, reduction_name, options);
    HookGate gate(std::move(hook), number_of(options, "hook_period", HookGate::kPeriod),
                  number_of(options, "hook_waited", 0.0));
    Keeper keeper = keeper_of(options);
    Flow* running = nullptr;
    std::optional<SignMatrix> pattern;
    if (options.contains("pattern") && !options["pattern"].is_none())
        pattern = signs_in("pattern", py::reinterpret_borrow<py::array>(options["pattern"]));
    const Dataset data = dataset_in(X, y, plan.objective, options);
    const py::object is_over = options.contains("is_over") ? py::object(options["is_over"]) : py::object(py::none());
    plan.urgent = [&is_over] { return look_for_signals(is_over); };
    plan.look_period = number_of(options, "look_period", plan.look_period);
    plan.hook = [&](const Progress& progress) {
        const Request kept = keeper.offer([&] { return collect(*running, data); }, result_out);
        return kept == Request::go_on ? gate.ask([&] { return report_of(progress); }) : kept;
    };
    Flow flow(data, matrix_in("W", W), vector_in("a", a), leak, std::move(plan), pattern ? &*pattern : nullptr);
    running = &flow;
    RunResult result;
    {
        const py::gil_scoped_release no_gil;
        flow.run();
        result = collect(flow, data);
    }
    return result_out(std::move(result));
}

}  // namespace

void bind_flow(py::module_& module) {
    module.attr("SMALLEST_NEURON") = kSmallestNeuron;
    module.attr("LARGEST_NEURON") = kLargestNeuron;
    module.attr("LARGEST_OUTPUT") = kLargestOutput;
    module.def("integrate", &integrate_py, py::arg("X"), py::arg("y"), py::arg("W"), py::arg("a"), py::arg("leak"),
               py::arg("loss"), py::arg("reduction"), py::arg("options"), py::arg("hook"),
               "The subgradient flow; a dict of the kept states, the events, the branch points and the status.");
}

}  // namespace reluflow::bindings
