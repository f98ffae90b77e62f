/// Vectors factored as orthonormal rows q_i and the packed columns of an upper triangle R: what others have along the
/// rows, taken out of them, and systems with R.
#pragma once

#include "base/types.hpp"

namespace reluflow {

/// v -= Σ_i (q_i·v) q_i over `count` orthonormal rows q_i of `size` numbers, one after the other in memory. Each q_i·v
/// is added to parts[i], unless parts is null.
void take_out(const double* q, int count, Index size, double* v, double* parts = nullptr) noexcept;

/// The same for `vectors` vectors one after the other in memory; parts of the next vector follow those of the one
/// before, and are set, unless it is null.
void take_out_of_each(const double* q, int count, Index size, int vectors, double* v, double* parts) noexcept;

/// Solves R x = values in place; column h of R starts at h (h + 1) / 2.
void solve_triangle(const double* r, int count, double* values) noexcept;

}  // namespace reluflow
