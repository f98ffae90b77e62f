/// Binds arrangement and dual norm: the combinatorial part of the convex programs.
#include <pybind11/pybind11.h>

#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "geometry/arrangement.hpp"
#include "geometry/dual_norm.hpp"
#include "hook.hpp"

namespace reluflow::bindings {
namespace {

py::dict arrangements_py(const py::array& X, Index max_count, py::object hook) {
    HookGate gate(std::move(hook));
    const auto rows = matrix_in("X", X);
    ArrangementResult result;
    {
        const py::gil_scoped_release no_gil;
        result = enumerate_cells(rows, {.max_count = max_count}, [&](Index count) {
            return gate.ask([&] {
                py::dict report;
                report["count"] = count;
                report["seconds"] = gate.seconds();
                return report;
            });
        });
    }
    py::dict out;
    out["points"] = array_out(std::move(result.points), {result.count, rows.cols()});
    out["patterns"] = array_out(std::move(result.patterns), {result.count, rows.rows()});
    out["status"] = name(result.status);
    return out;
}

py::dict bound_polar_py(const py::array& vectors, Index n_up, double lower, double target, double rtol, Index max_nodes,
                        py::object hook) {
    HookGate gate(std::move(hook));
    const auto rows = matrix_in("vectors", vectors);
    DualNormResult result;
    {
        const py::gil_scoped_release no_gil;
        const DualNormSettings settings{.lower = lower, .target = target, .rtol = rtol, .max_nodes = max_nodes};
        result = bound_polar(rows, n_up, settings, [&](Index n_nodes, double upper) {
            return gate.ask([&] {
                py::dict report;
                report["n_nodes"] = n_nodes;
                report["upper"] = upper;
                report["seconds"] = gate.seconds();
                return report;
            });
        });
    }
    py::dict out;
    out["lower"] = result.lower;
    out["upper"] = result.upper;
    out["choice"] = array_out(std::move(result.choice));
    out["n_nodes"] = result.n_nodes;
    out["status"] = name(result.status);
    return out;
}

py::array climb_polar_py(const py::array& vectors, Index n_up, const py::array& choices) {
    const auto rows = matrix_in("vectors", vectors);
    const auto starts = signs_in("choices", choices);
    Matrix weights;
    {
        const py::gil_scoped_release no_gil;
        weights = climb_polar(rows, n_up, starts);
    }
    return array_out(std::move(weights));
}

}  // namespace

void bind_arrangement(py::module_& module) {
    module.def("arrangements", &arrangements_py, py::arg("X"), py::arg("max_count"), py::arg("hook"),
               "All cells of the boundaries x_i·w = 0: a dict of interior points, patterns 1(Xw >= 0) and the status.");
    module.def(
        "count_boundaries", [](const py::array& X) { return count_boundaries(matrix_in("X", X)); }, py::arg("X"),
        "The number of distinct boundaries x_i·w = 0.");
    module.def(
        "bound_polar", &bound_polar_py, py::arg("vectors"), py::arg("n_up"), py::arg("lower"), py::arg("target"),
        py::arg("rtol"), py::arg("max_nodes"), py::arg("hook"),
        "Bounds of the largest value of a rectified sum on the unit ball: a dict of lower, upper and the status.");
    module.def("climb_polar", &climb_polar_py, py::arg("vectors"), py::arg("n_up"), py::arg("choices"),
               "Local maxima of a rectified sum on the unit ball from given sign choices: the weights of each sum.");
}

}  // namespace reluflow::bindings
