/// Binds the boundaries that samples share.
#include <pybind11/pybind11.h>

#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "problem/parallels.hpp"

namespace reluflow::bindings {

void bind_parallels(py::module_& module) {
    module.def(
        "find_parallels",
        [](const py::array& X) {
            Parallels found = find_parallels(matrix_in("X", X));
            return py::make_tuple(array_out(std::move(found.boundary)), array_out(std::move(found.side)));
        },
        py::arg("X"));
}

}  // namespace reluflow::bindings
