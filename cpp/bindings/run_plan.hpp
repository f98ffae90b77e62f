/// Options of a run, as Python gives them.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "arrays.hpp"
#include "problem/dataset.hpp"
#include "run/run.hpp"

namespace reluflow::bindings {

/// The loosest tolerance that is used. Beyond it a run takes no less time but more: distances beside boundaries are
/// then known to less than what decides, and the next steps have more orders for that. At 0.01 P4 to t = 0.001 took
/// half as long again as at this, P3 to t = 10 a quarter.
inline constexpr double kLoosestRtol = 1e-3;

/// The plan that the dict `options` describes; throws InvalidArgument. It has no hook yet, and no loss.
RunPlan plan_in(const pybind11::dict& options);

/// The same for a network of two layers, with the loss and weight decay.
RunPlan plan_in(const std::string& loss, const std::string& reduction_name, const pybind11::dict& options);

/// The weights of samples, or none for None.
Vector counts_in(const pybind11::object& given);

/// The samples, with what they count in options["weights"] if it is there; throws InvalidArgument.
Dataset dataset_in(const pybind11::array& X, const pybind11::array& y, const Objective& objective,
                   const pybind11::dict& options);

}  // namespace reluflow::bindings
