# One target holds every compiler flag, so that the core, the bindings and the tests agree: code that passes Eigen
# objects around must be compiled with one set of vector instructions.
add_library(reluflow_flags INTERFACE)
# The bindings name things and copy them: -O3 does nothing for them but take two fifths of their compile time. Nor have
# the tests to be fast, as what they call is in the core.
add_library(reluflow_glue INTERFACE)

if(MSVC)
  target_compile_options(reluflow_flags INTERFACE /W4 /fp:precise /bigobj)
  if(RELUFLOW_WERROR)
    target_compile_options(reluflow_flags INTERFACE /WX)
  endif()
  return()
endif()

target_compile_options(reluflow_glue INTERFACE $<$<CONFIG:Release>:-O1>)
target_compile_options(reluflow_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  # Contraction turns a*b + c*d into one rounding where the compiler likes to, so that a*a - w*w is not 0 at a == w, and
  # the same formula inlined in two places gives two results. Ties and invariants need those bits: a fused
  # multiply-add is used where std::fma or an Eigen kernel asks for it, nowhere else. Never add -ffast-math.
  -ffp-contract=off)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns inside its own library: at "a" + std::to_string(i) (bug 105651), at comparing vectors of bytes.
  target_compile_options(reluflow_flags INTERFACE -Wno-restrict -Wno-stringop-overread)
endif()

if(RELUFLOW_NATIVE)
  target_compile_options(reluflow_flags INTERFACE -march=native)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC's own AVX-512 headers start a variable from itself and are then warned about (GCC bug 105593).
    target_compile_options(reluflow_flags INTERFACE -Wno-maybe-uninitialized -Wno-uninitialized)
  endif()
endif()
if(RELUFLOW_WERROR)
  target_compile_options(reluflow_flags INTERFACE -Werror)
endif()
if(RELUFLOW_SANITIZE)
  # What is left out asks at each access through a pointer what the address sanitizer sees, too, or the processor.
  target_compile_options(reluflow_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize=null,alignment,object-size,pointer-overflow,vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer -O1 -UNDEBUG)
  target_link_options(reluflow_flags INTERFACE -fsanitize=address,undefined)
endif()
