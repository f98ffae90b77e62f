/// What a test program needs: CHECK states a fact, and main returns failures().
#pragma once

#include <cstdio>

namespace reluflow::tests {

inline int& failure_count() {
    static int count = 0;
    return count;
}

inline void check(bool holds, const char* fact, const char* file, int line) {
    if (holds) return;
    ++failure_count();
    std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, fact);
}

/// How many problems a test draws: a sixth of them under the address sanitizer, which looks for faults of memory and is
/// ten times as slow. What is rare among them is looked for by the other builds.
constexpr int fewer_sanitized(int problems) {
#ifdef __SANITIZE_ADDRESS__
    return problems / 6;
#else
    return problems;
#endif
}

/// The exit code of a test program.
inline int failures() {
    return failure_count() == 0 ? 0 : 1;
}

}  // namespace reluflow::tests

#define CHECK(fact) ::reluflow::tests::check((fact), #fact, __FILE__, __LINE__)
