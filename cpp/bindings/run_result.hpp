/// Results and reports of runs as dicts of arrays.
#pragma once

#include <pybind11/pybind11.h>

#include "run/flow.hpp"
#include "run/result.hpp"

namespace reluflow::bindings {

pybind11::dict result_out(RunResult&& result);
pybind11::dict report_of(const Progress& progress);

}  // namespace reluflow::bindings
