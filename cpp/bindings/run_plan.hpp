/// Options of a run, as Python gives them.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "run/flow.hpp"

namespace reluflow::bindings {

/// The plan that the dict `options` describes; throws InvalidArgument. It has no hook yet.
RunPlan plan_in(const std::string& loss, const std::string& reduction_name, const pybind11::dict& options);

}  // namespace reluflow::bindings
