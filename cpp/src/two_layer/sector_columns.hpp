/// Products with 64 neurons at a time, a column each: private part of `sector`. Every column goes through the same
/// operations in the same order wherever it stands, so that equal neurons stay equal to the last bit; a general matrix
/// product does not guarantee that.
#pragma once

#include "base/types.hpp"

namespace reluflow {

/// out (rows, 64) += A (rows, terms) B (terms, 64); rows of A are `stride` apart, the others are contiguous.
void add_to_columns(const double* A, Index stride, Index rows, Index terms, const double* B, double* out) noexcept;

}  // namespace reluflow
