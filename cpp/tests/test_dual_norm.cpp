/// Branch and bound against trying every choice.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/errors.hpp"
#include "base/generator.hpp"
#include "check.hpp"
#include "geometry/dual_norm.hpp"

namespace {

using namespace reluflow;

const PolarHook kNoHook = [](Index, double) { return Request::go_on; };

Matrix random_vectors(Index rows, Index dim, std::uint64_t seed) {
    Generator generator(seed);
    Matrix V(rows, dim);
    for (Index i = 0; i < V.size(); ++i) V.data()[i] = static_cast<double>(generator.next() >> 11U) * 0x1.0p-52 - 1.0;
    return V;
}

/// Least |c + τᵀQ| over the box by many coordinate sweeps.
double slow_least(const Matrix& Q, Vector c) {
    Vector tau = Vector::Zero(Q.rows());
    for (int sweep = 0; sweep < 20000; ++sweep)
        for (Index j = 0; j < Q.rows(); ++j) {
            const double to = std::clamp(tau[j] - Q.row(j).dot(c) / Q.row(j).squaredNorm(), 0.0, 1.0);
            c += (to - tau[j]) * Q.row(j).transpose();
            tau[j] = to;
        }
    return c.norm();
}

double slow_maximum(const Matrix& V, Index n_up) {
    const Matrix Q = V.bottomRows(V.rows() - 1 - n_up);
    double best = 0;
    for (std::uint64_t choice = 0; choice < (std::uint64_t{1} << static_cast<unsigned>(n_up)); ++choice) {
        Vector c = V.row(0);
        for (Index i = 0; i < n_up; ++i)
            if ((choice >> static_cast<unsigned>(i)) & 1U) c += V.row(1 + i);
        best = std::max(best, slow_least(Q, c));
    }
    return best;
}

void the_bounds_close_on_the_best_of_all_choices() {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Index n_up = static_cast<Index>(seed % 5) + 1, n_down = static_cast<Index>(seed % 4);
        const Matrix V = random_vectors(1 + n_up + n_down, 3, seed);
        const double expected = slow_maximum(V, n_up);
        const DualNormSettings settings{.lower = 0, .target = 0, .rtol = 1e-12, .max_nodes = 10000};
        const DualNormResult found = bound_polar(V, n_up, settings, kNoHook);
        CHECK(found.status == DualNormStatus::proven);
        CHECK(std::abs(found.upper - expected) < 1e-8);
        CHECK(std::abs(found.lower - expected) < 1e-8);
        CHECK(static_cast<Index>(found.choice.size()) == n_up);
    }
}

void a_target_above_the_maximum_is_proven_with_less_work() {
    const Matrix V = random_vectors(40, 20, 5);
    const DualNormResult full =
        bound_polar(V, 25, {.lower = 0, .target = 0, .rtol = 1e-9, .max_nodes = 100000}, kNoHook);
    const DualNormResult rough =
        bound_polar(V, 25, {.lower = 0, .target = 1.5 * full.lower, .rtol = 1e-9, .max_nodes = 100000}, kNoHook);
    CHECK(rough.n_nodes < full.n_nodes);
    CHECK(rough.upper <= 1.5 * full.lower);
    CHECK(rough.upper >= full.lower);
}

void a_node_limit_leaves_valid_bounds() {
    const Matrix V = random_vectors(40, 20, 5);
    const DualNormResult full =
        bound_polar(V, 25, {.lower = 0, .target = 0, .rtol = 1e-9, .max_nodes = 100000}, kNoHook);
    const DualNormResult cut = bound_polar(V, 25, {.lower = 0, .target = 0, .rtol = 1e-9, .max_nodes = 5}, kNoHook);
    CHECK(cut.status == DualNormStatus::node_limit);
    CHECK(cut.lower <= full.upper * (1 + 1e-12));
    CHECK(cut.upper >= full.lower * (1 - 1e-12));
}

void a_climb_ends_where_no_single_change_helps() {
    const Matrix V = random_vectors(12, 4, 7);
    const SignMatrix starts = SignMatrix::Ones(1, 6);
    const Matrix weights = climb_polar(V, 6, starts);
    const Vector sum = V.transpose() * weights.row(0).transpose();
    for (Index i = 0; i < 6; ++i) CHECK((V.row(1 + i).dot(sum) > 0) == (weights(0, 1 + i) == 1.0));
    for (Index j = 7; j < 12; ++j) {
        const double pull = V.row(j).dot(sum), tau = weights(0, j);
        CHECK(tau >= 0);
        CHECK(tau <= 1);
        CHECK((pull < 1e-9 || tau == 0.0) && (pull > -1e-9 || tau == 1.0));
    }
}

void shapes_that_do_not_fit_are_refused() {
    int refused = 0;
    const Matrix V = random_vectors(4, 2, 1);
    try {
        bound_polar(V, 4, {.lower = 0, .target = 0, .rtol = 1e-9, .max_nodes = 10}, kNoHook);
    } catch (const InvalidArgument& error) {
        refused += error.name() == "n_up" ? 1 : 0;
    }
    try {
        climb_polar(V, 2, SignMatrix::Ones(1, 3));
    } catch (const InvalidArgument& error) {
        refused += error.name() == "choices" ? 1 : 0;
    }
    CHECK(refused == 2);
}

}  // namespace

int main() {
    the_bounds_close_on_the_best_of_all_choices();
    a_target_above_the_maximum_is_proven_with_less_work();
    a_node_limit_leaves_valid_bounds();
    a_climb_ends_where_no_single_change_helps();
    shapes_that_do_not_fit_are_refused();
    return reluflow::tests::failures();
}
