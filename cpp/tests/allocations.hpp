/// Counts heap allocations, so that a test can prove that a step makes none.
#pragma once

namespace reluflow::tests {

/// Allocations made by this program since it began (by operator new or malloc and its kin); link allocations.cpp.
long allocations() noexcept;

}  // namespace reluflow::tests
