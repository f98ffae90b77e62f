/// Matrix products that allocate nothing. Eigen packs the operands of a large product into buffers that it takes from
/// the heap above EIGEN_STACK_ALLOCATION_LIMIT (128 KiB); in tiles of bounded size they stay on the stack, and the
/// tiles stay in the cache.
#pragma once

#include "base/types.hpp"

namespace reluflow {

/// out = A Bᵀ; precondition: out is (A.rows, B.rows), and A.cols == B.cols.
void multiply_transposed(const MatrixView& A, const MatrixView& B, MatrixRef out);

/// out = A B; precondition: out is (A.rows, B.cols), and A.cols == B.rows.
void multiply(const MatrixView& A, const MatrixView& B, MatrixRef out);

/// out = Aᵀ B; precondition: out is (A.cols, B.cols), and A.rows == B.rows.
void transposed_multiply(const MatrixView& A, const MatrixView& B, MatrixRef out);

/// out += A B; precondition: out is (A.rows, B.cols), and A.cols == B.rows.
void add_product(const MatrixView& A, const MatrixView& B, MatrixRef out);

/// out += Aᵀ B; precondition: out is (A.cols, B.cols), and A.rows == B.rows.
void add_transposed_product(const MatrixView& A, const MatrixView& B, MatrixRef out);

/// out -= A B; precondition as for add_product.
void subtract_product(const MatrixView& A, const MatrixView& B, MatrixRef out);

}  // namespace reluflow
