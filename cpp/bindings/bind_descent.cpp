/// Binds the room descent.
#include "bindings.hpp"

namespace reluflow::bindings {

void bind_descent(pybind11::module_&) {}

}  // namespace reluflow::bindings
