/// Products in single precision against double precision: within what they say of themselves, also in the worst case.
#include <Eigen/Core>
#include <cmath>

#include "allocations.hpp"
#include "check.hpp"
#include "numeric/rough_product.hpp"

namespace {

using namespace reluflow;

RoughNumbers rough_directions(const Matrix& directions) {
    RoughNumbers rough;
    for (Index i = 0; i < directions.rows(); ++i)
        for (Index x = 0; x < directions.cols(); ++x) rough.push_back(static_cast<float>(directions(i, x)));
    return rough;
}

/// The largest difference from the product in double precision.
double largest_error(const Matrix& directions, const Matrix& rows) {
    const RoughProduct product(rows);
    const RoughNumbers rough = rough_directions(directions);
    RoughNumbers out(directions.rows() * product.columns(), 7.0F);
    const long before = tests::allocations();
    product.multiply(rough.data(), directions.rows(), out.data());
    CHECK(tests::allocations() == before);
    double largest = 0.0;
    for (Index i = 0; i < directions.rows(); ++i)
        for (Index k = 0; k < product.columns(); ++k) {
            const double exact = k < rows.rows() ? directions.row(i).dot(rows.row(k)) : 0.0;
            largest = std::max(largest, std::abs(exact - out[i * product.columns() + k]));
        }
    CHECK(largest <= product.error());
    return largest;
}

void products_of_directions_are_within_the_error(Index directions, Index rows, Index rank) {
    Matrix A = Matrix::Random(directions, rank);
    Matrix B = Matrix::Random(rows, rank);
    A.rowwise().normalize();
    B.rowwise().normalize();
    largest_error(A, B);
}

/// All roundings go the same way where all entries are alike: the error is no more than a few times too large then.
void the_error_is_not_far_above_the_worst_case() {
    double worst = 0.0;
    for (const Index rank : {1, 2, 3, 64, 100, 784}) {
        const Matrix A = Matrix::Constant(1, rank, 1.0 / std::sqrt(static_cast<double>(rank)));
        worst = std::max(worst, largest_error(A, A) / RoughProduct(A).error());
    }
    CHECK(worst > 0.05);
}

/// Equal neurons are looked at in one way: a product does not depend on where it stands.
void a_product_does_not_depend_on_where_it_stands() {
    const Matrix rows = Matrix::Random(101, 20).rowwise().normalized();
    const RoughProduct product(rows);
    const Vector one = Vector::Random(20).normalized();
    const RoughNumbers rough = rough_directions(one.transpose().replicate(7, 1));
    RoughNumbers out(7 * product.columns());
    product.multiply(rough.data(), 7, out.data());
    for (Index i = 1; i < 7; ++i)
        for (Index k = 0; k < rows.rows(); ++k) CHECK(out[i * product.columns() + k] == out[k]);
}

}  // namespace

int main() {
    for (const Index directions : {1, 3, 4, 9})
        for (const Index rows : {1, 47, 48, 130})
            for (const Index rank : {1, 2, 20, 65}) products_of_directions_are_within_the_error(directions, rows, rank);
    the_error_is_not_far_above_the_worst_case();
    a_product_does_not_depend_on_where_it_stands();
    return 0;
}
