/// Binds the module descent.
#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "descent/descent.hpp"
#include "hook.hpp"
#include "run_plan.hpp"

namespace reluflow::bindings {
namespace {

py::dict descent_report(Descent& descent, const HookGate& gate) {
    py::dict report;
    report["step"] = descent.steps_done();
    report["t"] = descent.time();
    report["log_loss"] = descent.log_loss();
    report["seconds"] = gate.seconds();
    return report;
}

py::dict descent_out(DescentResult&& result, py::ssize_t m, py::ssize_t d) {
    const auto k = static_cast<py::ssize_t>(result.t.size());
    py::dict out;
    out["step_index"] = array_out(std::move(result.step_index));
    out["t"] = array_out(std::move(result.t));
    out["W"] = array_out(std::move(result.W), {k, m, d});
    out["a"] = array_out(std::move(result.a), {k, m});
    out["log_loss"] = array_out(std::move(result.log_loss));
    out["steps_done"] = result.steps_done;
    out["status"] = name(result.status);
    return out;
}

py::dict descend_py(const py::array& X, const py::array& y, const py::array& W, const py::array& a, double leak,
                    const std::string& loss, const std::string& reduction_name, double step, Index n_steps,
                    Index batch_size, std::uint64_t seed, Index save_every, py::object hook, const py::object& weights,
                    double decay) {
    const DescentSettings settings{.loss = loss_kind(loss),
                                   .reduction = reduction(reduction_name),
                                   .leak = leak,
                                   .decay = decay,
                                   .step = step,
                                   .n_steps = n_steps,
                                   .batch_size = batch_size,
                                   .seed = seed,
                                   .save_every = save_every};
    Descent descent(matrix_in("X", X), vector_in("y", y), matrix_in("W", W), vector_in("a", a), settings,
                    counts_in(weights));
    HookGate gate(std::move(hook));
    DescentResult result;
    {
        const py::gil_scoped_release no_gil;
        result = descend(descent, [&](Descent& run) { return gate.ask([&] { return descent_report(run, gate); }); });
    }
    return descent_out(std::move(result), W.shape(0), W.shape(1));
}

}  // namespace

void bind_descent(py::module_& module) {
    module.def("descend", &descend_py, py::arg("X"), py::arg("y"), py::arg("W"), py::arg("a"), py::arg("leak"),
               py::arg("loss"), py::arg("reduction"), py::arg("step"), py::arg("n_steps"), py::arg("batch_size"),
               py::arg("seed"), py::arg("save_every"), py::arg("hook"), py::arg("weights") = py::none(),
               py::arg("weight_decay") = 0.0,
               "Gradient descent or SGD; a dict of the kept states, the steps done and the status.");
}

}  // namespace reluflow::bindings
