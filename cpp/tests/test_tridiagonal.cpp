/// Systems with complex shifts from the tridiagonal form, against dense factors; and that they allocate nothing.
#include <complex>

#include "allocations.hpp"
#include "check.hpp"
#include "numeric/tridiagonal.hpp"

namespace {

using namespace reluflow;
using Complex = std::complex<double>;

/// What is left of b - (I + value S) x, relative to b, in units of 1 + |S|.
constexpr double kTolerance = 1e-13;

void a_shifted_system_is_solved(TridiagonalForm& form, Index size, Index rank, double scale, Complex value) {
    const Matrix L = Matrix::Random(size, rank);
    const Matrix S = scale * L * L.transpose();
    const Vector re = Vector::Random(size);
    const Vector im = Vector::Random(size);
    Vector x = re;
    Vector y = im;
    form.matrix(size) = S;
    const long before = tests::allocations();
    form.reduce();
    form.solve_shifted(value, x, y);
    CHECK(tests::allocations() == before);
    const Vector off_re = x + S * (value.real() * x - value.imag() * y) - re;
    const Vector off_im = y + S * (value.real() * y + value.imag() * x) - im;
    const double unit = (1.0 + std::abs(value) * S.norm()) * (x.norm() + y.norm()) + re.norm() + im.norm();
    CHECK(off_re.norm() + off_im.norm() <= kTolerance * unit);
}

void zeros_are_solved_exactly(TridiagonalForm& form) {
    form.matrix(5).setZero();
    Vector x = Vector::Constant(5, 2.0);
    Vector y = Vector::Constant(5, -3.0);
    form.reduce();
    form.solve_shifted({0.1, 0.2}, x, y);
    CHECK((x.array() == 2.0).all());
    CHECK((y.array() == -3.0).all());
}

}  // namespace

int main() {
    TridiagonalForm form;
    form.reserve(150);
    for (const double scale : {1e-6, 1.0, 1e9})
        for (const Complex value : {Complex(0.14, 0.0), Complex(0.02, 0.19), Complex(0.0, 0.3)}) {
            for (const Index size : {1, 2, 3, 17, 150}) a_shifted_system_is_solved(form, size, size, scale, value);
            a_shifted_system_is_solved(form, 60, 7, scale, value);  // of small rank
        }
    zeros_are_solved_exactly(form);
    return reluflow::tests::failures();
}
