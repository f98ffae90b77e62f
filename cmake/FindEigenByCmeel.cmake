# Finds Eigen: an installed one if CMake knows it, else the headers of the wheel cmeel-eigen, whose prefix only
# `python -m cmeel cmake` knows. pip's isolated build puts that wheel on the path of the Python that runs the build.

find_package(Eigen3 3.4 CONFIG QUIET)
if(NOT Eigen3_FOUND)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -m cmeel cmake
    OUTPUT_VARIABLE cmeel_output
    ERROR_VARIABLE cmeel_errors
    RESULT_VARIABLE cmeel_result
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  # One prefix a line or several on one; warnings can stand between them. Only folders that exist are kept.
  string(REGEX REPLACE "[\r\n]+" ";" cmeel_prefixes "${cmeel_output}")
  if(NOT WIN32)
    string(REPLACE ":" ";" cmeel_prefixes "${cmeel_prefixes}")
  endif()
  foreach(prefix IN LISTS cmeel_prefixes)
    string(STRIP "${prefix}" prefix)
    if(IS_ABSOLUTE "${prefix}" AND IS_DIRECTORY "${prefix}")
      list(APPEND CMAKE_PREFIX_PATH "${prefix}")
    endif()
  endforeach()
  find_package(Eigen3 3.4 CONFIG QUIET)
endif()
if(NOT Eigen3_FOUND)
  message(FATAL_ERROR
    "Eigen >= 3.4 was not found. Install it, or the wheel: ${Python_EXECUTABLE} -m pip install cmeel-eigen\n"
    "`-m cmeel cmake` ended with ${cmeel_result} and said: ${cmeel_output} ${cmeel_errors}")
endif()
message(STATUS "Eigen ${Eigen3_VERSION}: ${Eigen3_DIR}")
