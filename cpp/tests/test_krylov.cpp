/// The modes of a vector by Lanczos' method, against an operator whose modes are known.
#include "check.hpp"
#include "numeric/decompositions.hpp"
#include "numeric/krylov.hpp"

namespace {

using namespace reluflow;

constexpr double kTolerance = 1e-13;

void values_and_parts_are_those_of_the_operator() {
    constexpr Index kSize = 12;
    Vector values(kSize), parts(kSize);
    for (Index k = 0; k < kSize; ++k) {
        values[k] = -std::pow(10.0, -static_cast<double>(k % 6));  // each twice: the vector has a part in one of them
        parts[k] = 1.0 + static_cast<double>(k);
    }
    const Eigen::MatrixXd turn = span_basis(Eigen::MatrixXd::Random(kSize, kSize));
    const auto times = [&](const Vector& v) -> Vector { return turn * values.cwiseProduct(turn.transpose() * v); };
    const Vector vector = turn * parts;
    const KrylovModes modes = krylov_modes(times, vector, kSize);
    Vector seen = Vector::Zero(6);
    for (Index k = 0; k < modes.values.size(); ++k) {
        if (std::abs(modes.parts[k]) < 1e-6) continue;  // a direction that rounding has made
        const Index power = std::lround(-std::log10(-modes.values[k]));
        CHECK(std::abs(modes.values[k] + std::pow(10.0, -static_cast<double>(power))) <= kTolerance);
        seen[power] += modes.parts[k] * modes.parts[k];
    }
    for (Index power = 0; power < 6; ++power) {
        const double square = parts[power] * parts[power] + parts[power + 6] * parts[power + 6];
        CHECK(std::abs(seen[power] - square) <= 1e-9 * square);
    }
    CHECK((modes.vectors * modes.parts - vector).norm() <= kTolerance * vector.norm());
}

void no_vector_has_no_modes() {
    const auto times = [](const Vector& v) -> Vector { return 2.0 * v; };
    CHECK(krylov_modes(times, Vector::Zero(3), 3).values.size() == 0);
    CHECK(krylov_modes(times, Vector(0), 3).largest() == 0.0);
}

}  // namespace

int main() {
    values_and_parts_are_those_of_the_operator();
    no_vector_has_no_modes();
    return reluflow::tests::failures();
}
