/// The weights' answer in a late step whose kernel turns solves Newton's equations for the weights themselves.
#include "two_layer/radau_turning.hpp"

#include <cmath>
#include <vector>

#include "base/pool.hpp"
#include "check.hpp"
#include "numeric/radau_nodes.hpp"
#include "problem.hpp"
#include "two_layer/expansion.hpp"
#include "uniform.hpp"

namespace {

using namespace reluflow;
using tests::Problem;
using tests::problem;
using tests::take_sides;
using tests::Uniform;

constexpr Index kMost = 100;

/// Three kinds of neurons only, so that groups are few.
Problem of_three_kinds(Uniform& number, Index n, Index d, Index m) {
    Problem p = problem(number, n, d, m);
    for (Index j = 3; j < m; ++j) p.W.row(j) = std::exp(number()) * p.W.row(j % 3);
    return p;
}

/// A network at the begin of a step.
struct Begun {
    explicit Begun(const Problem& p)
        : data(p.X, p.y), state(data, p.W, p.a, 0.0), expansion(data, {}, {}, state, pool) {
        take_sides(data, state);
        expansion.start();
    }
    Dataset data;
    State state;
    Pool pool{1};
    Expansion expansion;
};

Matrix kernel(const Dataset& data, const State& state) {
    Matrix K = Matrix::Zero(data.n(), data.n());
    Matrix features(data.n(), data.rank() + 1);
    const SignMatrix signs = state.mode.pattern().sample_signs(data);
    for (int j = 0; j < static_cast<int>(state.neurons()); ++j) {
        for (Index i = 0; i < data.n(); ++i) {
            const double slope = signs(j, i) > 0 ? data.signs()[i] : 0.0;
            features(i, data.rank()) = slope * data.X().row(i).dot(state.parameters.w.col(j));
            features.row(i).head(data.rank()) = slope * state.parameters.a[j] * data.X().row(i);
        }
        K += features * features.transpose();
    }
    return K;
}

struct Weights {
    Matrix p, c, r;  // (stages, n)
};

Weights weights(Uniform& number, Index n) {
    Weights out{Matrix(kStages, n), Matrix(kStages, n), Matrix(kStages, n)};
    for (int node = 0; node < kStages; ++node) {
        for (Index i = 0; i < n; ++i) {
            out.p(node, i) = std::exp(2.0 * number());
            out.c(node, i) = 0.5 + 0.5 * std::abs(number());
            out.r(node, i) = number();
        }
        out.p.row(node) /= out.p.row(node).sum();
    }
    return out;
}

void the_answer_solves_the_equations(Index n, Index d, Index m, double step) {
    Uniform number(3);
    Begun begun(of_three_kinds(number, n, d, m));
    const Weights given = weights(number, n);
    TurningResponse response(begun.data, m, kMost);
    CHECK(response.prepare(begun.expansion, given.p, given.c, Vector::Zero(n), step));
    Matrix change = given.r;
    response.solve(change);

    const Matrix K = kernel(begun.data, begun.state);
    // In the stiff directions the terms of the sums over samples are far larger than what they come to: some fifty
    // roundings of the largest, of which a build with other orders of sums takes ten.
    const double known = 1e-14 * (1.0 + step) * K.cwiseAbs().rowwise().sum().maxCoeff();
    const Matrix moved = step * RadauNodes::get().integration * change * K;  // of the margins
    for (int node = 0; node < kStages; ++node) {
        const Vector taken =
            given.p.row(node).cwiseProduct(given.c.row(node)).cwiseProduct(moved.row(node)).transpose();
        const Vector left =
            (change.row(node) - given.r.row(node)).transpose() + taken - taken.sum() * given.p.row(node).transpose();
        CHECK(left.cwiseAbs().maxCoeff() < known);
    }
    for (Index i = 0; i < n; ++i) CHECK(std::abs(response.own(i) / K(i, i) - 1.0) < 1e-12 || K(i, i) == 0.0);

    // What is left of a change of the weights at the start, with the weights of the first node.
    Vector settled = given.r.row(0).transpose();
    response.settle(settled);
    const Vector p = given.p.row(0).transpose();
    const Vector taken = p.cwiseProduct(given.c.row(0).transpose()).cwiseProduct(0.5 * step * K * settled);
    const Vector left = settled - given.r.row(0).transpose() + taken - taken.sum() * p;
    CHECK(left.cwiseAbs().maxCoeff() < known);
}

void many_directions_are_left_to_others() {
    Uniform number(5);
    Begun begun(of_three_kinds(number, 50, 40, 12));  // three groups of forty directions
    const Weights given = weights(number, 50);
    TurningResponse response(begun.data, 12, kMost);
    CHECK(!response.prepare(begun.expansion, given.p, given.c, Vector::Zero(50), 1e3));
}

}  // namespace

int main() {
    for (const double step : {1.0, 1e3, 1e6}) {
        the_answer_solves_the_equations(8, 3, 6, step);
        the_answer_solves_the_equations(150, 5, 12, step);
        the_answer_solves_the_equations(300, 20, 9, step);
    }
    many_directions_are_left_to_others();
    return reluflow::tests::failures();
}
