/// Continuations of a corner against the definition: every cell of the boundaries is tried.
#include "hybrid/transition.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "base/generator.hpp"
#include "check.hpp"

namespace {

using namespace reluflow;
using Sides = std::vector<std::int8_t>;

/// In [0, 1), and in [-1, 1).
double unit(Generator& random) {
    return static_cast<double>(random.next() >> 11U) / 9007199254740992.0;
}
double uniform(Generator& random) {
    return 2.0 * unit(random) - 1.0;
}

/// `size` boundaries in general position of `rank` dimensions, so many of them repelling; the others attract.
Corner corner(int size, int rank, int repelling, Generator& random) {
    Corner made;
    made.resize(size, rank);
    made.weight = 1.0;
    made.sign = unit(random) < 0.5 ? -1.0 : 1.0;
    for (double& number : made.rest) number = uniform(random);
    for (int w = 0; w < size; ++w) {
        made.boundaries[w] = w;
        made.before[w] = static_cast<std::int8_t>(std::floor(3.0 * unit(random)) - 1.0);
        double square = 0.0;
        for (int k = 0; k < rank; ++k) {
            made.normal(w)[k] = uniform(random);
            square += made.normal(w)[k] * made.normal(w)[k];
        }
        for (int k = 0; k < rank; ++k) made.normal(w)[k] /= std::sqrt(square);
        made.below[w] = 0.3 * uniform(random);
        made.above[w] = made.below[w] + made.sign * (w < repelling ? 1.0 : -1.0) * unit(random);
    }
    return made;
}

/// Cells into which the velocity of that cell points.
std::set<Sides> cells_that_are_left_into(const Corner& corner) {
    std::set<Sides> found;
    const int k = corner.size();
    for (int number = 0; number < 1 << k; ++number) {
        Sides sides(k);
        Numbers pull = corner.rest;
        for (int w = 0; w < k; ++w) {
            sides[w] = (number >> w & 1) != 0 ? 1 : -1;
            for (int x = 0; x < corner.rank; ++x)
                pull[x] += (sides[w] > 0 ? corner.above[w] : corner.below[w]) * corner.normal(w)[x];
        }
        bool goes = true;
        for (int w = 0; goes && w < k; ++w) {
            double rate = 0.0;
            for (int x = 0; x < corner.rank; ++x) rate += corner.sign * pull[x] * corner.normal(w)[x];
            goes = sides[w] * rate > 0.0;
        }
        if (goes) found.insert(sides);
    }
    return found;
}

bool stays_somewhere(const Sides& sides) {
    return std::find(sides.begin(), sides.end(), 0) != sides.end();
}

void every_cell_that_is_left_into_is_listed() {
    Generator random(11);
    TransitionSolver solver;
    for (int round = 0; round < 2000; ++round) {
        const int size = 1 + static_cast<int>(7.0 * unit(random));
        const int rank = std::min(size, 1 + static_cast<int>(4.0 * unit(random)));
        const Corner drawn = corner(size, rank, static_cast<int>((size + 1.0) * unit(random)), random);
        CHECK(solver.decide(drawn) != Verdict::undecided);
        CHECK(!solver.is_cut_short());
        std::set<Sides> listed;
        for (const auto& one : solver.continuations())
            if (!stays_somewhere(one.sides)) listed.insert(one.sides);
        CHECK(listed == cells_that_are_left_into(drawn));
    }
}

void attracting_boundaries_leave_one_way() {
    Generator random(3);
    TransitionSolver solver;
    for (int round = 0; round < 1000; ++round) {
        const int size = 1 + static_cast<int>(12.0 * unit(random));
        CHECK(solver.decide(corner(size, std::min(size, 4), 0, random)) == Verdict::unique);
    }
}

/// One repelling boundary with room on both sides: away from it on either, or along it.
void a_repelling_boundary_has_three_ways() {
    Corner ridge;
    ridge.resize(1, 1);
    ridge.weight = 1.0;
    ridge.boundaries[0] = 0;
    ridge.normals[0] = 1.0;
    ridge.below[0] = -0.5;
    ridge.above[0] = 0.5;
    TransitionSolver solver;
    CHECK(solver.decide(ridge) == Verdict::branching);
    CHECK(solver.continuations().size() == 3);
    for (const auto& one : solver.continuations()) CHECK(one.stands_on_ridge == (one.sides[0] == 0));
    ridge.rest[0] = 0.7;
    CHECK(solver.decide(ridge) == Verdict::unique);
    CHECK(solver.continuations()[0].sides[0] == 1);
}

/// Boundaries e₁ and e₂ attract and hold; a third in their plane repels, too weakly to matter: the neuron stays on all.
void a_weak_repelling_boundary_is_stood_on_with_those_it_depends_on() {
    Corner plane;
    plane.resize(3, 2);
    plane.weight = 1.0;
    const double normals[3][2] = {{1.0, 0.0}, {0.0, 1.0}, {0.6, 0.8}};
    for (int w = 0; w < 3; ++w) {
        plane.boundaries[w] = w;
        std::copy_n(normals[w], 2, plane.normal(w));
        plane.below[w] = w < 2 ? 1.0 : -0.1;
        plane.above[w] = w < 2 ? -1.0 : 0.1;
    }
    TransitionSolver solver;
    CHECK(solver.decide(plane) == Verdict::unique);
    CHECK(solver.continuations()[0].sides == Sides(3, 0));
    CHECK(!solver.continuations()[0].stands_on_ridge);
    plane.below[2] = -3.0;  // strong enough to leave by
    plane.above[2] = 3.0;
    CHECK(solver.decide(plane) == Verdict::branching);
    for (const auto& one : solver.continuations()) CHECK(one.stands_on_ridge == (one.sides == Sides(3, 0)));
}

/// Many boundaries in up to six dimensions, of which some repel, but none of whose cells pulls outwards: the neuron
/// stays. The choices of sides are too many to be tried.
void where_no_direction_pulls_outwards_a_neuron_stays_on_many_boundaries() {
    Generator random(7);
    TransitionSolver solver;
    for (const int rank : {1, 2, 3, 4, 5, 6})
        for (const double repelling : {0.2, 5.0}) {
            Corner many = corner(60, rank, 20, random);
            std::fill(many.rest.begin(), many.rest.end(), 0.0);
            for (int w = 0; w < many.size(); ++w) {
                many.below[w] = 0.0;
                many.above[w] = many.sign * (w < 20 ? repelling : -1.0);
            }
            const Verdict verdict = solver.decide(many);
            if (repelling > 1.0) {  // all together they pull outwards
                for (const auto& one : solver.continuations()) CHECK(one.sides != Sides(60, 0));
                continue;
            }
            CHECK(verdict == Verdict::unique);
            CHECK(!solver.is_cut_short());
            CHECK(solver.continuations()[0].sides == Sides(60, 0));
            CHECK(!solver.continuations()[0].stands_on_ridge);
        }
}

/// Whether the velocity of these sides, of which at most one is zero, keeps them.
bool is_kept(const Corner& corner, const Sides& sides) {
    Numbers pull = corner.rest;
    int held = -1;
    for (int w = 0; w < corner.size(); ++w) {
        if (sides[w] == 0) held = w;
        const double c = sides[w] > 0 ? corner.above[w] : corner.below[w];
        for (int x = 0; sides[w] != 0 && x < corner.rank; ++x) pull[x] += c * corner.normal(w)[x];
    }
    const auto along = [&](int w) {
        double sum = 0.0;
        for (int x = 0; x < corner.rank; ++x) sum += pull[x] * corner.normal(w)[x];
        return sum;
    };
    if (held >= 0) {
        const double taken = -along(held);
        const auto [low, high] = std::minmax(corner.below[held], corner.above[held]);
        if (!corner.attracts(held) || taken < low || taken > high) return false;
        for (int x = 0; x < corner.rank; ++x) pull[x] += taken * corner.normal(held)[x];
    }
    for (int w = 0; w < corner.size(); ++w)
        if (sides[w] != 0 && corner.sign * along(w) * sides[w] <= 0.0) return false;
    return true;
}

/// All sectors of the plane and all rays between them.
std::set<Sides> kept_in_plane(const Corner& corner) {
    std::vector<double> angles;
    for (int w = 0; w < corner.size(); ++w)
        for (const double way : {1.0, -1.0})
            angles.push_back(std::atan2(way * corner.normal(w)[0], -way * corner.normal(w)[1]));
    std::sort(angles.begin(), angles.end());
    std::set<Sides> found;
    const auto look = [&](double angle, bool on_ray) {
        Sides sides(corner.size());
        for (int w = 0; w < corner.size(); ++w) {
            const double z = std::cos(angle) * corner.normal(w)[0] + std::sin(angle) * corner.normal(w)[1];
            sides[w] = static_cast<std::int8_t>(on_ray && std::abs(z) < 1e-12 ? 0 : (z > 0.0 ? 1 : -1));
        }
        if (is_kept(corner, sides)) found.insert(sides);
    };
    for (std::size_t i = 0; i < angles.size(); ++i) {
        const double next = i + 1 < angles.size() ? angles[i + 1] : angles[0] + 2.0 * std::acos(-1.0);
        look(angles[i], true);
        look(0.5 * (angles[i] + next), false);
    }
    return found;
}

/// A neuron at w = 0 in the plane is on the boundaries of all samples. There are as many cells as rays, where choices
/// of sides are 2^k.
void many_boundaries_of_a_plane_are_decided_completely() {
    Generator random(11);
    TransitionSolver solver;
    int several = 0;
    for (int round = 0; round < 60; ++round) {
        Corner many = corner(40 + 3 * round, 2, 20 + round, random);
        for (double& number : many.rest) number *= round % 3;  // at all sizes beside what the boundaries add
        const std::set<Sides> expected = kept_in_plane(many);
        solver.decide(many);
        CHECK(!solver.is_cut_short());
        std::set<Sides> found;
        for (const auto& one : solver.continuations()) found.insert(one.sides);
        CHECK(found == (expected.empty() ? std::set<Sides>{Sides(many.size(), 0)} : expected));
        several += expected.size() > 1;
    }
    CHECK(several > 5);
}

}  // namespace

int main() {
    many_boundaries_of_a_plane_are_decided_completely();
    every_cell_that_is_left_into_is_listed();
    attracting_boundaries_leave_one_way();
    a_repelling_boundary_has_three_ways();
    a_weak_repelling_boundary_is_stood_on_with_those_it_depends_on();
    where_no_direction_pulls_outwards_a_neuron_stays_on_many_boundaries();
    return reluflow::tests::failures();
}
