/// One function for each part of the core that Python calls, in its own bind_<part>.cpp. A new one: declare it here,
/// call it in module.cpp.
#pragma once

#include <pybind11/pybind11.h>

namespace reluflow::bindings {

void bind_arrangement(pybind11::module_& module);
void bind_batch(pybind11::module_& module);
void bind_descent(pybind11::module_& module);
void bind_flow(pybind11::module_& module);
void bind_loss(pybind11::module_& module);

}  // namespace reluflow::bindings
