# Headers of others that most sources include, read once for each target: half of a build went into reading them again.
# Each source still includes what it uses; `make warnings` builds without this, so that a missing one is noticed.
set(RELUFLOW_COMMON_HEADERS
  <Eigen/Dense> <algorithm> <array> <cmath> <cstdint> <functional> <limits> <memory> <optional> <span> <string>
  <utility> <vector>)
set(RELUFLOW_BINDING_HEADERS <pybind11/numpy.h> <pybind11/pybind11.h> <pybind11/stl.h>)
# The bindings are compiled five at a time: what they take is pybind11's templates, the same ones in each.
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(RELUFLOW_TOGETHER UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
else()
  set(RELUFLOW_TOGETHER UNITY_BUILD OFF)
endif()
