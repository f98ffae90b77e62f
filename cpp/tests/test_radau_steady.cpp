/// The weights' answer in a short late step solves Newton's equations up to what the kernel's factor leaves out.
#include "two_layer/radau_steady.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/pool.hpp"
#include "check.hpp"
#include "hybrid/pattern.hpp"
#include "hybrid/sliding_set.hpp"
#include "numeric/radau_nodes.hpp"
#include "problem.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/parameters.hpp"
#include "uniform.hpp"

namespace {

using namespace reluflow;
using tests::Problem;
using tests::problem;
using tests::Uniform;

/// K_ij = ∂q_i · ∂q_j over the weights, with what each neuron holds projected out.
Matrix kernel(const Dataset& data, const State& state) {
    Matrix K = Matrix::Zero(data.n(), data.n());
    Matrix features(data.n(), data.rank() + 1);
    Vector row(data.rank());
    const SignMatrix signs = state.mode.pattern().sample_signs(data);
    for (int j = 0; j < static_cast<int>(state.neurons()); ++j) {
        for (Index i = 0; i < data.n(); ++i) {
            const double slope = signs(j, i) > 0 ? 1.0 : 0.0;
            row = data.signs()[i] * slope * data.X().row(i).transpose();
            features(i, data.rank()) = row.dot(state.parameters.w.col(j));
            state.mode.held(j).project(row.data());
            features.row(i).head(data.rank()) = state.parameters.a[j] * row.transpose();
        }
        K += features * features.transpose();
    }
    return K;
}

/// Neuron j holds its first j mod r boundaries, or none; the others have the signs that they have.
void hold_boundaries(const Dataset& data, State& state, bool holds) {
    const Index m = state.neurons();
    for (Index j = 0; j < m; ++j) {
        std::vector<int> boundaries;
        for (int boundary = 0; holds && boundary < static_cast<int>(j % data.rank()); ++boundary)
            boundaries.push_back(boundary);
        state.mode.hold(j, boundaries);
        Vector column = state.parameters.w.col(j);
        state.mode.held(j).project(column.data());
        state.parameters.w.col(j) = column;
        for (Index boundary = 0; boundary < data.n_boundaries(); ++boundary)
            state.mode.set_side(j, boundary, data.normals().row(boundary).dot(column) > 0.0 ? 1 : -1);
        for (const int boundary : boundaries) state.mode.set_side(j, boundary, 0);
    }
}

Matrix drawn_right(Uniform& number, Index n, Vector& s) {
    Matrix r(kStages, n);
    for (int k = 0; k < kStages; ++k) {
        s[k] = number();
        for (Index i = 0; i < n; ++i) r(k, i) = number();
    }
    return r;
}

/// The first samples do not share in the mass: 0 in `shares`.
Objective beside_rest(LossKind loss, Index at_rest, Vector& shares) {
    Objective objective{loss};
    shares.head(at_rest).setZero();
    if (at_rest > 0) objective.resting.scales = Vector::Ones(shares.size()) - shares;
    return objective;
}

void the_answer_solves_the_equations(Index n, Index d, Index m, double step, bool holds, bool shares_mass = true,
                                     double growth = 0.0, Index at_rest = 0) {
    Uniform number(7);
    const Problem drawn = problem(number, n, d, m);
    const Dataset data(drawn.X, drawn.y);
    State state(data, drawn.W, drawn.a, 0.0);
    hold_boundaries(data, state, holds);
    Pool pool(1);
    Expansion expansion(data, {}, {}, state, pool);
    expansion.start();

    const Matrix A = RadauNodes::get().growing_integration(growth);
    Vector shares = Vector::Ones(n);
    SteadyResponse response(data, m,
                            beside_rest(shares_mass ? LossKind::logistic : LossKind::squared, at_rest, shares));
    response.set_growth(growth);
    Vector p(n);
    Vector c(n);
    for (Index i = 0; i < n; ++i) {
        p[i] = std::exp(8.0 * number());  // from 3e-4 to 3e3, before they are made to add up to one
        c[i] = 0.5 + 0.5 * std::abs(number());
    }
    p /= p.sum();
    CHECK(response.prepare(expansion, p, c, step));
    Vector s(kStages);
    const Matrix r = drawn_right(number, n, s);
    Matrix delta = r;
    Vector mu = s;
    response.solve(delta, mu);

    const Matrix K = kernel(data, state);
    const Matrix moved = step * A * (delta * p.asDiagonal()) * K;  // of the margins
    double miss = 0.0;
    double size = 0.0;
    for (int k = 0; k < kStages; ++k) {
        if (shares_mass)
            CHECK(std::abs(delta.row(k).dot(p.cwiseProduct(shares)) - s[k]) < 1e-9);
        else
            CHECK(mu[k] == 0.0);
        for (Index i = 0; i < n; ++i) {
            const double off = delta(k, i) + c[i] * moved(k, i) + shares[i] * mu[k] - r(k, i);
            miss += p[i] / c[i] * off * off;
            size += p[i] / c[i] * delta(k, i) * delta(k, i);
        }
    }
    const double most = shares_mass ? 0.05 : 1e-6;  // the trace of what is left out, or rounding
    CHECK(miss < most * most * size);
    for (Index i = 0; i < n; ++i) CHECK(response.own(i) == 0.0 || std::abs(response.own(i) / K(i, i) - 1.0) < 1e-12);
}

/// By how much the answer to random right-hand sides misses the equations of errors (p = c = 1), as a part of it.
double miss(SteadyResponse& response, const Matrix& K, double step) {
    Uniform number(11);
    const Index n = K.rows();
    Matrix r(kStages, n);
    for (Index k = 0; k < kStages; ++k)
        for (Index i = 0; i < n; ++i) r(k, i) = number();
    Matrix delta = r;
    Vector mu = Vector::Zero(kStages);
    response.solve(delta, mu);
    return (delta + step * RadauNodes::get().integration * delta * K - r).norm() / r.norm();
}

/// Of errors the factors stay for another length and a state nearby, and are made anew for any other kernel. `all`:
/// they are of all features, not of columns of Cholesky's factor.
void factors_are_kept(double step, bool all) {
    const Index n = 60;
    const Index m = 9;
    Uniform number(3);
    const Problem drawn = problem(number, n, 4, m);
    const Dataset data(drawn.X, drawn.y);
    State state(data, drawn.W, drawn.a, 0.0);
    hold_boundaries(data, state, true);
    Pool pool(1);
    Expansion expansion(data, {}, {}, state, pool);
    SteadyResponse response(data, m, {LossKind::squared});
    const Vector ones = Vector::Ones(n);
    Vector some = ones;
    some[5] = 0.0;
    const auto is_kept = [&](const Vector& weights, double length) {
        expansion.start();
        CHECK(response.prepare(expansion, weights, ones, length));
        if (weights[5] == 1.0) CHECK(miss(response, kernel(data, state), length) < (response.is_old() ? 0.1 : 0.05));
        return response.is_old();
    };
    CHECK(!is_kept(ones, step));
    const double features = 33.0;  // of 9 output weights, and 4, 3, 2, 1, 4, ... free dimensions
    const double answer = kernel(data, state).trace() * step;
    CHECK(all ? answer > features : answer > 1.0 && answer < features);
    for (const double part : {1.0, 0.1, 0.5}) CHECK(is_kept(ones, part * step));
    CHECK(!is_kept(some, step));  // another sample responds
    CHECK(!is_kept(ones, step));
    CHECK(is_kept(ones, step));
    for (Index j = 0; j < m; ++j) state.parameters.a[j] *= 1.004;  // at most 4 10⁻³ of what its group has
    CHECK(is_kept(ones, step));
    for (Index j = 0; j < m; ++j) state.parameters.a[j] *= 1.007;  // more than a hundredth, with the change before
    CHECK(!is_kept(ones, step));
    CHECK(is_kept(ones, step));
    response.forget();
    CHECK(!is_kept(ones, step));
    const int boundary = static_cast<int>(data.n_boundaries()) - 1;  // one that no neuron holds
    state.mode.set_side(0, boundary, static_cast<std::int8_t>(-state.mode.side(0, boundary)));
    CHECK(!is_kept(ones, step));
}

/// Of margins every call makes factors: the weights have changed.
void margins_have_new_factors() {
    Uniform number(3);
    const Problem drawn = problem(number, 20, 3, 4);
    const Dataset data(drawn.X, drawn.y);
    const State state(data, drawn.W, drawn.a, 0.0);
    Pool pool(1);
    Expansion expansion(data, {}, {}, state, pool);
    SteadyResponse response(data, 4, {LossKind::logistic});
    expansion.start();
    const Vector weights = Vector::Constant(20, 0.05);
    for (int k = 0; k < 2; ++k) {
        CHECK(response.prepare(expansion, weights, Vector::Ones(20), 1.0));
        CHECK(!response.is_old());
    }
}

}  // namespace

int main() {
    factors_are_kept(1e3, true);
    factors_are_kept(0.02, false);
    margins_have_new_factors();
    for (const double step : {1e-3, 1.0, 1e3, 1e6}) {
        the_answer_solves_the_equations(8, 3, 5, step, false);
        the_answer_solves_the_equations(40, 6, 7, step, true);
        the_answer_solves_the_equations(140, 4, 9, step, true);
        the_answer_solves_the_equations(140, 4, 9, step, true, true, 0.3);  // growing
        the_answer_solves_the_equations(40, 6, 7, step, true, true, 0.1, 25);
    }
    the_answer_solves_the_equations(260, 12, 24, 1e6, false);  // of more than 200 directions
    // Of errors: most directions count, and all of them are taken.
    for (const bool holds : {false, true}) the_answer_solves_the_equations(140, 4, 9, 1e6, holds, false);
    return reluflow::tests::failures();
}
