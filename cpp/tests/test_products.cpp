/// The tiled products against three plain loops, at sizes below, at and above a tile; and that they allocate nothing.
#include <Eigen/Core>
#include <cmath>

#include "allocations.hpp"
#include "check.hpp"
#include "numeric/products.hpp"

namespace {

using namespace reluflow;

/// Entries are in [-1, 1]: a sum of at most 500 terms is good to far better than this.
constexpr double kTolerance = 1e-12;

Matrix plain_product(const Matrix& A, const Matrix& B) {
    Matrix out = Matrix::Zero(A.rows(), B.cols());
    for (Index i = 0; i < A.rows(); ++i)
        for (Index j = 0; j < B.cols(); ++j)
            for (Index k = 0; k < A.cols(); ++k) out(i, j) += A(i, k) * B(k, j);
    return out;
}

void the_products_agree_with_plain_loops(Index rows, Index terms, Index cols) {
    const Matrix A = Matrix::Random(rows, terms);
    const Matrix B = Matrix::Random(terms, cols);
    const Matrix expected = plain_product(A, B);
    const Matrix B_transposed = B.transpose();
    const Matrix before = Matrix::Random(rows, cols);
    const Matrix A_transposed = A.transpose();
    Matrix product(rows, cols);
    Matrix second(rows, cols);
    Matrix third(rows, cols);
    Matrix sum = before;
    Matrix difference = before;

    const long allocations_before = tests::allocations();
    multiply_transposed(A, B_transposed, product);
    multiply(A, B, second);
    transposed_multiply(A_transposed, B, third);
    add_product(A, B, sum);
    subtract_product(A, B, difference);
    CHECK(tests::allocations() == allocations_before);

    for (const Matrix& found : {product, second, third}) CHECK((found - expected).cwiseAbs().maxCoeff() < kTolerance);
    CHECK((before - difference - expected).cwiseAbs().maxCoeff() < kTolerance);
    CHECK((sum - before - expected).cwiseAbs().maxCoeff() < kTolerance);
}

/// Of one tile and more, whose upper half is the mirror image of the lower.
void a_matrix_times_itself_agrees_with_plain_loops(Index rows, Index terms) {
    const Matrix A = Matrix::Random(rows, terms);
    const Matrix expected = plain_product(A, A.transpose());
    Matrix found = Matrix::Constant(rows, rows, 7.0);
    const long allocations_before = tests::allocations();
    multiply_self_transposed(A, found);
    CHECK(tests::allocations() == allocations_before);
    CHECK((found - expected).cwiseAbs().maxCoeff() < kTolerance);
}

/// What is summed beside a row does not matter to it, to the last bit.
void a_product_of_rows_does_not_depend_on_the_others(Index size) {
    const Matrix A = Matrix::Random(11, size);
    const Vector v = Vector::Random(size);
    const auto row = [&](std::size_t i) { return A.row(static_cast<Index>(i)).data(); };
    Vector all(11);
    for (std::size_t count = 0; count <= 11; ++count) {
        multiply_rows(count, row, v.data(), size, all.data());
        for (std::size_t i = 0; i < count; ++i) {
            double alone = 0.0;
            multiply_rows(1, [&](std::size_t) { return row(i); }, v.data(), size, &alone);
            CHECK(all[static_cast<Index>(i)] == alone);
            double plain = 0.0;
            for (Index x = 0; x < size; ++x) plain += A(static_cast<Index>(i), x) * v[x];
            CHECK(std::abs(alone - plain) < kTolerance);
        }
    }
}

/// Nor does it matter to a product with rows where the two stand, so that equal ones stay equal.
void a_transposed_product_does_not_depend_on_where_it_stands(Index rows, Index terms, Index cols) {
    const Matrix A = Matrix::Random(rows, terms);
    const Matrix B = Matrix::Random(cols, terms);
    Matrix all(rows, cols);
    multiply_transposed(A, B, all);
    Matrix turned(cols, rows);
    multiply_transposed(B, A, turned);
    CHECK(turned == all.transpose());
    Matrix alone(rows, cols);
    for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j < cols; ++j) multiply_transposed(A.row(i), B.row(j), alone.block(i, j, 1, 1));
    CHECK(alone == all);
}

void a_product_over_no_terms_is_zero() {
    Matrix out = Matrix::Ones(2, 3);
    multiply_transposed(Matrix(2, 0), Matrix(3, 0), out);
    CHECK(out.isZero(0.0));
}

void the_counter_sees_an_allocation() {
    const long before = tests::allocations();
    const Vector values = Vector::Zero(100);
    CHECK(tests::allocations() > before);
    CHECK(values.size() == 100);
}

}  // namespace

int main() {
    the_products_agree_with_plain_loops(1, 1, 1);
    the_products_agree_with_plain_loops(3, 2, 1);
    the_products_agree_with_plain_loops(64, 192, 64);
    the_products_agree_with_plain_loops(65, 193, 63);
    the_products_agree_with_plain_loops(130, 500, 129);
    the_products_agree_with_plain_loops(300, 1, 70);
    for (const Index size : {0, 1, 3, 4, 5, 20, 61}) a_product_of_rows_does_not_depend_on_the_others(size);
    for (const Index terms : {1, 20, 21, 200}) a_transposed_product_does_not_depend_on_where_it_stands(69, terms, 31);
    a_product_over_no_terms_is_zero();
    the_counter_sees_an_allocation();
    for (const Index rows : {1, 63, 64, 65, 200})
        for (const Index terms : {1, 191, 400}) a_matrix_times_itself_agrees_with_plain_loops(rows, terms);
    return reluflow::tests::failures();
}
