/// Binds the decision at simultaneous boundaries.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "hybrid/transition.hpp"

namespace reluflow::bindings {
namespace {

/// The boundaries in the coordinates of their span that Python chose; nothing was on any side before.
Corner corner_in(const py::array& normals, const py::array& below, const py::array& above, const py::array& rest,
                 double sign, double weight) {
    const auto rows = matrix_in("normals", normals);
    const auto low = vector_in("below", below);
    const auto high = vector_in("above", above);
    const auto gradient = vector_in("rest", rest);
    if (low.size() != rows.rows() || high.size() != rows.rows() || gradient.size() != rows.cols())
        throw InvalidArgument("normals", "another number of rows or columns", "one row a boundary, columns as rest");
    Corner corner;
    corner.resize(static_cast<int>(rows.rows()), static_cast<int>(rows.cols()));
    corner.sign = sign;
    corner.weight = weight;
    std::copy(rows.data(), rows.data() + rows.size(), corner.normals.begin());
    std::copy(gradient.data(), gradient.data() + gradient.size(), corner.rest.begin());
    std::copy(low.data(), low.data() + low.size(), corner.below.begin());
    std::copy(high.data(), high.data() + high.size(), corner.above.begin());
    std::fill(corner.before.begin(), corner.before.end(), std::int8_t{0});
    return corner;
}

/// The sides of every continuation, and whether these are all of them.
py::tuple continuations_py(const py::array& normals, const py::array& below, const py::array& above,
                           const py::array& rest, double sign, double weight) {
    const Corner corner = corner_in(normals, below, above, rest, sign, weight);
    TransitionSolver solver;
    const Verdict verdict = solver.decide(corner);
    std::vector<std::vector<int>> sides;
    for (const Continuation& way : solver.continuations()) sides.emplace_back(way.sides.begin(), way.sides.end());
    return py::make_tuple(sides, verdict != Verdict::undecided && !solver.is_cut_short());
}

}  // namespace

void bind_transition(py::module_& module) {
    module.def("continuations", &continuations_py, py::arg("normals"), py::arg("below"), py::arg("above"),
               py::arg("rest"), py::arg("sign"), py::arg("weight"));
}

}  // namespace reluflow::bindings
