/// The factors in place against the matrix they came from, at sizes below, at and above a panel; and that a second
/// system allocates nothing.
#include <cstdint>
#include <memory>
#include <vector>

#include "allocations.hpp"
#include "check.hpp"
#include "numeric/lu.hpp"

namespace {

using namespace reluflow;

/// What is left of b - A x, relative to b; entries of A are in [-1, 1] and its solutions of moderate size.
constexpr double kTolerance = 1e-9;

void a_system_is_solved(LuFactors& lu, Index size) {
    const Matrix A = Matrix::Random(size, size);
    const Vector b = Vector::Random(size);
    Vector x = b;
    lu.matrix(size) = A;
    const long before = tests::allocations();
    lu.factor();
    lu.solve(x);
    CHECK(tests::allocations() == before);
    CHECK((A * x - b).norm() <= kTolerance * b.norm());
}

void a_zero_in_the_corner_is_no_pivot(LuFactors& lu) {
    Eigen::Map<Matrix> A = lu.matrix(2);
    A << 0.0, 2.0, 3.0, 1.0;
    Vector x(2);
    x << 4.0, 5.0;
    lu.factor();
    lu.solve(x);
    CHECK(x[0] == 1.0);
    CHECK(x[1] == 2.0);
}

void a_singular_matrix_shows(LuFactors& lu) {
    lu.matrix(2).setOnes();
    Vector x(2);
    x << 1.0, 2.0;
    lu.factor();
    lu.solve(x);
    CHECK(!x.allFinite());
}

}  // namespace

/// The bits of a solution depend on where packets begin, so memory begins where vectors do, whatever was allocated
/// before.
void memory_is_aligned() {
    std::vector<std::unique_ptr<char[]>> before;
    for (const Index size : {1, 2, 3, 5, 8, 13, 21}) {
        before.push_back(std::make_unique<char[]>(16 * static_cast<std::size_t>(size)));
        LuFactors lu;
        CHECK(reinterpret_cast<std::uintptr_t>(lu.matrix(size).data()) % EIGEN_MAX_ALIGN_BYTES == 0);
    }
}

int main() {
    memory_is_aligned();
    LuFactors lu;
    a_zero_in_the_corner_is_no_pivot(lu);
    a_singular_matrix_shows(lu);
    for (const Index size : {1, 2, 31, 32, 33, 64, 100, 300}) a_system_is_solved(lu, size);
    const long before = tests::allocations();
    lu.matrix(299).setIdentity();
    CHECK(tests::allocations() == before);
    return reluflow::tests::failures();
}
