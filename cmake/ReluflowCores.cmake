# Which cores are built: RELUFLOW_BOTH_CORES for a portable one and one for AVX2, else one alone, in RELUFLOW_CORE_FOLDER.
# Half the processor time of a build is one core, and a build from source needs no other than that of its machine.
set(RELUFLOW_BOTH_CORES OFF)
set(RELUFLOW_CORE_FOLDER reluflow)
if(RELUFLOW_NATIVE OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  return()
endif()
if(RELUFLOW_DISPATCH)
  set(RELUFLOW_BOTH_CORES ON)
elseif(RELUFLOW_FOR_THIS)
  # The same question, asked by the same code, as at import.
  execute_process(
    COMMAND "${Python_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/python/reluflow/_processor.py"
    OUTPUT_VARIABLE processor_level
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(processor_level STREQUAL "x86-64-v3")
    target_compile_options(reluflow_core PUBLIC -march=x86-64-v3)
    set(RELUFLOW_CORE_FOLDER reluflow/_x86_64_v3)
  endif()
  message(STATUS "One core, for ${processor_level}")
endif()
