/// The decision where boundaries meet against all 3^k sides of up to four of them, on whole numbers without rounding.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "base/generator.hpp"
#include "check.hpp"
#include "exact.hpp"
#include "hybrid/transition.hpp"

namespace {

using namespace reluflow;
using Whole = long long;
using Row = std::vector<Whole>;
using Rows = std::vector<Row>;
using Sides = std::vector<std::int8_t>;

/// A boundary w·x = 0 of a whole x, whose sample pulls with below · x on its negative side and above · x on the other.
struct Boundary {
    Row x;
    Whole below = 0;
    Whole above = 0;
};

struct Meeting {
    std::vector<Boundary> boundaries;
    Row rest;
    Whole sign = 1;  // of the output weight
};

Whole dot(const Row& a, const Row& b) {
    Whole sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
    return sum;
}

void add(Row& to, Whole factor, const Row& row) {
    for (std::size_t k = 0; k < to.size(); ++k) to[k] += factor * row[k];
}

Rows gram(const Rows& rows) {
    Rows made;
    for (const Row& a : rows) {
        made.emplace_back();
        for (const Row& b : rows) made.back().push_back(dot(a, b));
    }
    return made;
}

/// The first independent ones.
Rows independent(const Rows& rows) {
    Rows chosen;
    for (const Row& row : rows) {
        chosen.push_back(row);
        if (tests::determinant(gram(chosen)) == 0) chosen.pop_back();
    }
    return chosen;
}

/// 0 = Σ λ p over these points with λ >= 0 that add up to one; no for points whose hull has fewer dimensions than they
/// could span, because fewer of them do the same.
bool is_zero_between(const Rows& points) {
    Rows lifted = points;
    for (Row& point : lifted) point.push_back(1);
    const Rows system = gram(lifted);
    const Whole all = tests::determinant(system);
    if (all == 0) return false;
    const Row weights = tests::cramer(system, Row(points.size(), 1));  // the last coordinates are what is wanted
    Row left(lifted[0].size(), 0);
    left.back() = -all;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (weights[i] < 0) return false;
        add(left, weights[i], lifted[i]);
    }
    return std::all_of(left.begin(), left.end(), [](Whole number) { return number == 0; });
}

/// Whether 0 is in the hull of some points: by Carathéodory, of one more of them than there are dimensions.
bool is_zero_in_hull(const Rows& points, Rows chosen = {}, std::size_t from = 0) {
    if (points.empty()) return false;
    for (std::size_t k = 0; chosen.empty() && k < points[0].size(); ++k)  // all on one side of an axis
        if (std::all_of(points.begin(), points.end(), [k](const Row& p) { return p[k] > 0; }) ||
            std::all_of(points.begin(), points.end(), [k](const Row& p) { return p[k] < 0; }))
            return false;
    if (!chosen.empty() && is_zero_between(chosen)) return true;
    if (chosen.size() > points[0].size()) return false;
    for (std::size_t i = from; i < points.size(); ++i) {
        chosen.push_back(points[i]);
        if (is_zero_in_hull(points, chosen, i + 1)) return true;
        chosen.pop_back();
    }
    return false;
}

/// The pulls across independent boundaries of the cells that exist beside a point of `held` boundaries, `drive` added.
Rows pulls_of_cells(const std::vector<Boundary>& held, const Rows& basis, const Row& drive) {
    Rows pulls;
    for (unsigned number = 0; number < 1U << held.size(); ++number) {
        Rows turned;
        Row pull = drive;
        for (std::size_t h = 0; h < held.size(); ++h) {
            const bool above = (number >> h & 1U) != 0;
            turned.push_back(held[h].x);
            if (!above) add(turned.back(), -2, held[h].x);
            add(pull, above ? held[h].above : held[h].below, held[h].x);
        }
        if (is_zero_in_hull(turned)) continue;  // no direction has all these signs (Gordan)
        pulls.emplace_back();
        for (const Row& x : basis) pulls.back().push_back(dot(x, pull));
    }
    return pulls;
}

/// The velocity of these sides leaves every boundary on its side, and what stays can be held.
bool is_continuation(const Meeting& meeting, const Sides& sides) {
    Row drive = meeting.rest;
    std::vector<Boundary> held;
    Rows held_rows;
    for (std::size_t w = 0; w < sides.size(); ++w) {
        const Boundary& boundary = meeting.boundaries[w];
        if (sides[w] != 0) {
            add(drive, sides[w] > 0 ? boundary.above : boundary.below, boundary.x);
            continue;
        }
        held.push_back(boundary);
        held_rows.push_back(boundary.x);
    }
    const Rows basis = independent(held_rows);
    const Rows system = gram(basis);
    const Whole all = tests::determinant(system);
    Row right;
    for (const Row& x : basis) right.push_back(-dot(x, drive));
    const Row taken = tests::cramer(system, right);
    Row velocity(drive.size(), 0);
    add(velocity, all, drive);
    for (std::size_t h = 0; h < basis.size(); ++h) add(velocity, taken[h], basis[h]);
    for (std::size_t w = 0; w < sides.size(); ++w)
        if (sides[w] != 0 && meeting.sign * sides[w] * dot(velocity, meeting.boundaries[w].x) <= 0) return false;
    if (held.empty()) return true;
    if (basis.size() < held.size()) return is_zero_in_hull(pulls_of_cells(held, basis, drive));
    for (std::size_t h = 0; h < held.size(); ++h) {
        const auto [low, high] = std::minmax(held[h].below, held[h].above);
        if (taken[h] < low * all || taken[h] > high * all) return false;
    }
    return true;
}

std::set<Sides> all_continuations(const Meeting& meeting) {
    std::set<Sides> found;
    const std::size_t k = meeting.boundaries.size();
    int count = 1;
    for (std::size_t w = 0; w < k; ++w) count *= 3;
    for (int number = 0; number < count; ++number) {
        Sides sides(k);
        for (int w = 0, digits = number; w < static_cast<int>(k); ++w, digits /= 3)
            sides[w] = static_cast<std::int8_t>(digits % 3 - 1);
        if (is_continuation(meeting, sides)) found.insert(sides);
    }
    return found;
}

/// The numbers of the meeting divided by `scale`, a power of two.
Corner corner_of(const Meeting& meeting, Generator& random, double scale) {
    Corner corner;
    const auto rank = static_cast<int>(meeting.rest.size());
    corner.resize(static_cast<int>(meeting.boundaries.size()), rank);
    corner.sign = static_cast<double>(meeting.sign);
    corner.weight = 1.0;
    for (int k = 0; k < rank; ++k) corner.rest[k] = static_cast<double>(meeting.rest[k]) / scale;
    for (int w = 0; w < corner.size(); ++w) {
        const Boundary& boundary = meeting.boundaries[w];
        const double length = std::sqrt(static_cast<double>(dot(boundary.x, boundary.x)));
        corner.boundaries[w] = w;
        corner.before[w] = static_cast<std::int8_t>(static_cast<int>(random.next() % 3) - 1);
        for (int k = 0; k < rank; ++k) corner.normal(w)[k] = static_cast<double>(boundary.x[k]) / length;
        corner.below[w] = static_cast<double>(boundary.below) / scale * length;
        corner.above[w] = static_cast<double>(boundary.above) / scale * length;
    }
    return corner;
}

/// From -most to most.
Whole digit(Generator& random, int most) {
    return static_cast<Whole>(random.next() % static_cast<unsigned>(2 * most + 1)) - most;
}

enum class Kinks { attracting, repelling, mixed };

/// Boundaries of small whole numbers that span the space, no two of them parallel.
Meeting draw(std::size_t size, std::size_t rank, Kinks kinks, Generator& random) {
    Meeting meeting;
    meeting.sign = random.next() % 2 == 0 ? 1 : -1;
    for (std::size_t k = 0; k < rank; ++k) meeting.rest.push_back(digit(random, 3));
    while (true) {
        Rows rows;
        for (std::size_t w = 0; w < size; ++w) {
            rows.emplace_back();
            for (std::size_t k = 0; k < rank; ++k) rows.back().push_back(digit(random, rank > 2 ? 1 : 2));
        }
        bool parallel = false;
        for (std::size_t a = 0; a < size; ++a)
            for (std::size_t b = 0; b <= a; ++b)
                parallel = parallel ||
                           independent(a == b ? Rows{rows[a]} : Rows{rows[a], rows[b]}).size() < (a == b ? 1U : 2U);
        if (parallel || independent(rows).size() < rank) continue;
        for (const Row& row : rows) {
            const Whole below = digit(random, 2);
            Whole kink = digit(random, 3);
            if (kinks != Kinks::mixed)
                kink = (kinks == Kinks::repelling ? meeting.sign : -meeting.sign) * std::abs(kink);
            meeting.boundaries.push_back({row, below, below + kink});
        }
        return meeting;
    }
}

bool is_listed_completely(const Meeting& meeting, TransitionSolver& solver, Generator& random, double scale = 1.0) {
    const std::set<Sides> expected = all_continuations(meeting);
    const Verdict verdict = solver.decide(corner_of(meeting, random, scale));
    std::set<Sides> found;
    for (const auto& one : solver.continuations()) found.insert(one.sides);
    return found == expected && found.size() == solver.continuations().size() && !solver.is_cut_short() &&
           verdict == (expected.size() == 1 ? Verdict::unique : Verdict::branching);
}

/// Repeated for every size: as many dimensions as boundaries (independent), and fewer (dependent).
void every_continuation_is_listed_and_no_other(Kinks kinks) {
    Generator random(17);
    TransitionSolver solver;
    std::array<int, 5> several{};
    for (std::size_t size = 1; size <= 4; ++size)
        for (std::size_t rank = size > 1 ? 2 : 1; rank <= std::min<std::size_t>(size, 3); ++rank)
            for (int round = 0; round < (size == 4 && rank == 3 ? 60 : 250); ++round) {
                const Meeting meeting = draw(size, rank, kinks, random);
                CHECK(is_listed_completely(meeting, solver, random));
                several[size] += solver.continuations().size() > 1 ? 1 : 0;
            }
    for (std::size_t size = 1; size <= 4; ++size) CHECK((several[size] > 20) == (kinks != Kinks::attracting));
}

/// Pulls that are off a tie by 2^-36, to either side or not at all.
void ties_are_told_from_what_is_nearly_one() {
    constexpr Whole kScale = Whole{1} << 36;
    Generator random(29);
    TransitionSolver solver;
    for (std::size_t size = 1; size <= 3; ++size)
        for (int round = 0; round < 300; ++round) {
            Meeting meeting = draw(size, size, round % 2 == 0 ? Kinks::mixed : Kinks::attracting, random);
            for (Whole& number : meeting.rest) number = number * kScale + digit(random, 1);
            for (Boundary& boundary : meeting.boundaries) {
                boundary.below *= kScale;
                boundary.above *= kScale;
            }
            CHECK(is_listed_completely(meeting, solver, random, static_cast<double>(kScale)));
        }
}

/// -x₂ - x₃ = x₁, and the pull of the third takes exactly its room: the neuron leaves the first two whatever sides it
/// came from.
void a_boundary_whose_room_is_just_taken_lets_the_others_go() {
    const Meeting meeting{
        {{{1, 1, -1}, -2, -1}, {{-1, 0, 0}, -1, 0}, {{0, -1, 1}, -2, 1}, {{0, -1, -1}, 2, 3}}, {-1, -3, -1}, -1};
    Generator random(1);
    TransitionSolver solver;
    for (int round = 0; round < 300; ++round) CHECK(is_listed_completely(meeting, solver, random));
    CHECK(solver.continuations()[0].sides == (Sides{1, -1, 0, -1}));
}

}  // namespace

int main() {
    a_boundary_whose_room_is_just_taken_lets_the_others_go();
    ties_are_told_from_what_is_nearly_one();
    every_continuation_is_listed_and_no_other(Kinks::attracting);
    every_continuation_is_listed_and_no_other(Kinks::repelling);
    every_continuation_is_listed_and_no_other(Kinks::mixed);
    return tests::failures();
}
