/// One function per module, each in its own bind_<module>.cpp. A new one is declared here and called in module.cpp.
#pragma once

#include <pybind11/pybind11.h>

namespace reluflow::bindings {

void bind_arrangement(pybind11::module_& module);
void bind_batch(pybind11::module_& module);
void bind_descent(pybind11::module_& module);
void bind_flow(pybind11::module_& module);
void bind_layered(pybind11::module_& module);
void bind_loss(pybind11::module_& module);
void bind_parallels(pybind11::module_& module);
void bind_proof(pybind11::module_& module);
void bind_proof_arithmetic(pybind11::module_& module);
void bind_transition(pybind11::module_& module);

}  // namespace reluflow::bindings
