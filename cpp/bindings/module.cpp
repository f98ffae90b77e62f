/// The Python module reluflow._core: it only calls the functions of bindings.hpp.
#include "bindings.hpp"

PYBIND11_MODULE(_core, module) {
    using namespace reluflow::bindings;
    module.doc() = "The compiled core of reluflow. Use the package reluflow: this module checks little and may change.";
    module.attr("__version__") = RELUFLOW_VERSION;
    bind_arrangement(module);
    bind_batch(module);
    bind_descent(module);
    bind_flow(module);
    bind_layered(module);
    bind_loss(module);
    bind_parallels(module);
    bind_proof(module);
    bind_proof_arithmetic(module);
    bind_transition(module);
}
