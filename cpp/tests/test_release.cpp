/// Location of releases: multipliers that are polynomials with known roots leave their intervals there and nowhere
/// else.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/generator.hpp"
#include "check.hpp"
#include "neuron_bench.hpp"
#include "two_layer/leaving.hpp"

namespace {

using namespace reluflow;
using tests::Bench;
using tests::kAxes;
using tests::kRank;
using tests::Numbers;

constexpr double kEps = std::numeric_limits<double>::epsilon();
/// Three samples of equal weight; the first two have length one, so that their multipliers live in [0, 1/3].
constexpr double kTop = 1.0 / 3.0;

/// The first boundaries are held, at multipliers that are polynomials, one a boundary; the output weight is negative,
/// so that the boundaries of positive labels attract.
int hold(Bench& bench, const std::vector<Numbers>& multipliers) {
    std::vector<int> boundaries;
    std::size_t orders = 0;
    for (std::size_t h = 0; h < multipliers.size(); ++h) {
        boundaries.push_back(static_cast<int>(h));
        bench.sides[h] = 0;
        orders = std::max(orders, multipliers[h].size());
    }
    bench.held.assign(boundaries, bench.data().normals());
    std::vector<Numbers> g(orders, Numbers(kRank, 0.0));
    for (std::size_t h = 0; h < multipliers.size(); ++h)
        for (std::size_t k = 0; k < multipliers[h].size(); ++k) g[k][h] = -multipliers[h][k];
    return bench.put({0.0, multipliers.size() > 1 ? 0.0 : 1.0, 1.0}, -1.0, g);
}

Hit release(Bench& bench, const std::vector<Numbers>& multipliers, double end = 1.0) {
    const int piece = hold(bench, multipliers);
    return bench.finder->first_release(piece, end, bench.held, bench.sides, false);
}

/// κ (u - r)(u - s), and the same hanging from the top.
Numbers from_below(double kappa, double r, double s) {
    return {kappa * r * s, -kappa * (r + s), kappa};
}
Numbers from_above(double kappa, double r, double s) {
    return {kTop - kappa * r * s, kappa * (r + s), -kappa};
}

void a_multiplier_leaves_at_either_end_of_its_interval() {
    Bench bench(kAxes);
    for (const double r : {1e-3, 0.3, 0.9}) {
        const Hit low = release(bench, {from_below(0.1, r, 1.9)});
        CHECK(low.kind == HitKind::release && low.boundary == 0 && low.side == -1 && low.alone);
        CHECK(std::abs(low.u - r) < 64.0 * kEps);
        CHECK(std::abs(3.0 * low.jump - 0.1 * (1.9 - r)) < 64.0 * kEps);
        const Hit high = release(bench, {from_above(0.1, r, 1.9)});
        CHECK(high.kind == HitKind::release && high.boundary == 0 && high.side == 1 && high.alone);
        CHECK(std::abs(high.u - r) < 64.0 * kEps);
        CHECK(release(bench, {from_below(0.1, r, 1.9)}, r - 1e-12).kind == HitKind::none);
        CHECK(release(bench, {from_above(0.1, r, 1.9)}, r - 1e-12).kind == HitKind::none);
    }
    CHECK(release(bench, {{0.1, 0.05, 0.02}}).kind == HitKind::none);
}

/// As after a step whose weights were not known as well as those of the next: all that it is beyond counts at once.
void a_multiplier_that_is_beyond_its_end_leaves_with_a_jump() {
    Bench bench(kAxes);
    const Hit hit = release(bench, {{-1e-3, -0.03}});
    CHECK(hit.kind == HitKind::release && hit.u == 0.0 && hit.side == -1);
    CHECK(std::abs(hit.jump - (1e-3 + 0.03 / 3.0)) < 64.0 * kEps);
}

/// It goes out and comes back within the step.
void two_ends_close_together_are_not_missed() {
    Bench bench(kAxes);
    for (const double gap : {0.1, 1e-3, 1e-5})
        for (const double r : {0.2, 0.4375, 0.8}) {
            CHECK(std::abs(release(bench, {from_below(0.1, r, r + gap)}).u - r) < 64.0 * kEps / gap);
            CHECK(std::abs(release(bench, {from_above(0.1, r, r + gap)}).u - r) < 64.0 * kEps / gap);
        }
    Numbers touching = from_below(0.1, 0.4375, 0.4375);
    touching[0] += 1e-13;
    CHECK(release(bench, {touching}).kind == HitKind::none);
    touching[0] -= 2e-13;
    CHECK(std::abs(release(bench, {touching}).u - (0.4375 - 1e-6)) < 1e-8);
}

/// At an end of the interval when the piece begins, up to rounding: it leaves at its last zero in the piece, or at
/// once.
void a_multiplier_that_begins_at_its_end_leaves_only_outwards() {
    Bench bench(kAxes);
    for (const double rest : {0.0, 1e-16, -1e-16, 3e-15, -3e-15}) {
        CHECK(std::abs(release(bench, {{rest, 0.1, -0.2}}).u - 0.5) < 1e-12);  // goes in, comes back
        CHECK(release(bench, {{rest, 0.1}}).kind == HitKind::none);
        const double inside = std::max(rest, 0.0);
        CHECK(std::abs(release(bench, {{rest, -0.1}}).u - inside / 0.1) < 64.0 * kEps);
        CHECK(std::abs(release(bench, {{rest, 0.0, -0.1}}).u - std::sqrt(inside / 0.1)) < 64.0 * kEps);
        CHECK(std::abs(release(bench, {{kTop + rest, -0.1, 0.2}}).u - 0.5) < 1e-12);
        CHECK(std::abs(release(bench, {{kTop + rest, 0.1}}).u - std::max(-rest, 0.0) / 0.1) < 64.0 * kEps);
    }
}

/// 64 ulp of what acts, about 1e-14 here, is rounding; a hundred times that is none.
void a_fall_within_rounding_is_no_release() {
    Bench bench(kAxes);
    CHECK(release(bench, {{0.0, -3e-15}}).kind == HitKind::none);
    CHECK(release(bench, {{0.0, -1e-12}}).kind == HitKind::release);
    CHECK(release(bench, {{0.0, -1e-13, 0.1}}).kind == HitKind::none);  // falls by 1e-26, and comes back
    CHECK(release(bench, {{1e-12, -0.9e-12}}).kind == HitKind::none);
    CHECK(std::abs(release(bench, {{1e-12, -2e-12}}).u - 0.5) < 1e-3);
    CHECK(release(bench, {{kTop, 3e-15}}).kind == HitKind::none);
    CHECK(release(bench, {{kTop, 1e-12}}).kind == HitKind::release);
}

void the_first_of_several_is_found_and_those_with_it_are_told() {
    Bench bench(kAxes);
    const Hit together = release(bench, {from_below(0.1, 0.4, 1.9), from_above(0.05, 0.4, 1.5)});
    CHECK(std::abs(together.u - 0.4) < 64.0 * kEps && !together.alone);
    for (const double later : {0.8, 0.4 + 1e-6, 0.4 + 1e-11}) {
        const Hit first = release(bench, {from_below(0.1, later, 1.9), from_above(0.05, 0.4, 1.5)});
        CHECK(first.boundary == 1 && first.side == 1 && first.alone);
        CHECK(std::abs(first.u - 0.4) < 64.0 * kEps);
    }
    const Hit rounding = release(bench, {from_below(0.1, 0.4 + 1e-15, 1.9), from_above(0.05, 0.4, 1.5)});
    CHECK(!rounding.alone);
}

/// The same of what is known to 1e-14.
void a_gap_that_begins_at_its_end_is_left_only_outwards() {
    constexpr double kNoise = 1e-14;
    const auto exit = [](const Numbers& gap) {
        const KnownFall fall = known_fall(gap.data(), static_cast<int>(gap.size()) - 1, kNoise, 1.0);
        CHECK(fall.seen >= fall.at);
        return fall.at;
    };
    CHECK(exit({-2e-14, 1.0}) == 0.0);
    for (const double rest : {0.0, 5e-15, -5e-15}) {
        CHECK(std::abs(exit({rest, -0.1}) - std::max(0.0, 10.0 * rest)) < 1e-20);
        CHECK(std::abs(exit({rest, 0.1, -0.2}) - 0.5) < 1e-12);  // goes in, comes back
        CHECK(exit({rest, 0.1}) == kNoRoot);
        CHECK(exit({rest, -1e-13, 0.1}) == kNoRoot);  // falls by 1e-26, and comes back
        CHECK(exit({rest, -3e-15}) == kNoRoot);
    }
    CHECK(std::abs(exit({1e-12, -2e-12}) - 0.5) < 1e-12);
    CHECK(exit({1e-12, -0.9e-12}) == kNoRoot);
    CHECK(exit({1e-12, -1.005e-12}) == kNoRoot);  // below zero by half of what is known
}

/// On three boundaries in a plane, of which only the first can take up a pull along its normal: what weights are not
/// known to lets nothing leave. (A neuron left for it, and came back, step after step, 70,000 times in a run.)
void dependent_boundaries_are_left_by_more_than_is_known() {
    Bench bench({{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {1.0, 1.0, 0.0}, {0.0, 0.0, 1.0}});
    const auto leave = [&](const Numbers& pull) {
        bench.sides = {0, 0, 0, 1};
        bench.held.assign(std::vector<int>{0, 1, 2}, bench.data().normals());
        std::vector<Numbers> g;
        for (const double term : pull) g.push_back({-term, 0.0, 0.0});
        const int piece = bench.put({0.0, 0.0, 1.0}, -1.0, g);
        return bench.finder->first_release(piece, 1.0, bench.held, bench.sides, false);
    };
    const Numbers dips = from_below(0.1, 0.4, 0.402);  // by 1e-7
    CHECK(std::abs(leave(dips).u - 0.4) < 1e-12);
    bench.motion->set_weight_error(1e-6);
    CHECK(leave(dips).kind == HitKind::none);
    CHECK(leave({-1e-7, 0.1}).kind == HitKind::none);
    CHECK(leave({-1e-5, 0.1}).u == 0.0);
    const Hit falls = leave({0.05, -0.1});
    CHECK(std::abs(falls.u - 0.5) < 1e-12 && falls.seen > falls.u && falls.seen < falls.u + 1e-4);
}

/// Polynomials of up to eight orders against dense samples of them.
void no_release_comes_after_the_first_exit_of_a_sample() {
    Generator random(9);
    Bench bench(kAxes);
    int found = 0;
    for (int round = 0; round < 600; ++round) {
        std::vector<Numbers> multipliers(2);
        for (Numbers& beta : multipliers) {
            beta.push_back(kTop * (static_cast<double>(random.next() >> 11U) / 9007199254740992.0));
            for (std::uint64_t k = random.next() % 8; k > 0; --k)
                beta.push_back(0.5 * (static_cast<double>(random.next() >> 11U) / 4503599627370496.0 - 1.0));
        }
        const Hit hit = release(bench, multipliers);
        double first = kNoRoot;
        for (int i = 0; i <= 2000 && first == kNoRoot; ++i)
            for (const Numbers& beta : multipliers) {
                const double value = evaluate(beta.data(), static_cast<int>(beta.size()) - 1, i / 2000.0);
                if (value < -1e-14 || value > kTop + 1e-14) first = i / 2000.0;
            }
        CHECK(hit.u <= first);
        if (hit.kind == HitKind::none) continue;
        ++found;
        const Numbers& beta = multipliers[hit.boundary];
        const double value = evaluate(beta.data(), static_cast<int>(beta.size()) - 1, hit.u);
        CHECK(std::abs(value - (hit.side > 0 ? kTop : 0.0)) < 1e-14);
    }
    CHECK(found > 200);
}

/// A neuron at rest on dependent boundaries, on one of them samples of both labels. That one's interval begins as a
/// point to rounding, with its ends in either order; it then opens, and nothing leaves. (It left at once and came back,
/// at one instant, without end.)
void an_interval_that_opens_from_a_point_is_left_by_nothing() {
    const std::vector<Numbers> samples{
        {1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {1.0, 1.0, 0.0}, {1.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    for (const double rest : {0.0, 4e-16, -4e-16})
        for (const double rate : {-0.1, 0.1}) {
            Bench bench(samples, {1.0, 1.0, 1.0, -1.0, 1.0}, {0.0, 0.0, rest, 0.0, 0.0}, {0.0, 0.0, rate, 0.0, 0.0});
            std::vector<int> boundaries;
            for (Index i = 0; i < 4; ++i) boundaries.push_back(bench.data().boundary_of(i));
            boundaries.pop_back();
            for (const int boundary : boundaries) bench.sides[static_cast<std::size_t>(boundary)] = 0;
            bench.held.assign(boundaries, bench.data().normals());
            const int piece = bench.put({0.0, 0.0, 1.0}, -1.0, {{0.0, 0.0, 0.0}});
            CHECK(bench.finder->first_release(piece, 1.0, bench.held, bench.sides, false).kind == HitKind::none);
        }
}

/// The same on one boundary, which turns attracting or, under a policy that stays there, repelling.
void an_interval_of_one_boundary_opens_either_way() {
    const std::vector<Numbers> samples{{1.0, 0.0, 0.0}, {1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    for (const double rest : {0.0, 4e-16, -4e-16})
        for (const double rate : {-0.1, 0.1}) {
            Bench bench(samples, {1.0, -1.0, 1.0, 1.0}, {rest, 0.0, 0.0, 0.0}, {rate, 0.0, 0.0, 0.0});
            const int boundary = bench.data().boundary_of(0);
            bench.sides[static_cast<std::size_t>(boundary)] = 0;
            bench.held.assign(std::vector<int>{boundary}, bench.data().normals());
            const int piece = bench.put({0.0, 0.0, 1.0}, -1.0, {{0.0, 0.0, 0.0}});
            HitFinder finder(*bench.motion, true);
            CHECK(finder.first_release(piece, 1.0, bench.held, bench.sides, false).kind == HitKind::none);
        }
}

}  // namespace

int main() {
    a_multiplier_leaves_at_either_end_of_its_interval();
    a_multiplier_that_is_beyond_its_end_leaves_with_a_jump();
    two_ends_close_together_are_not_missed();
    a_multiplier_that_begins_at_its_end_leaves_only_outwards();
    a_fall_within_rounding_is_no_release();
    a_gap_that_begins_at_its_end_is_left_only_outwards();
    the_first_of_several_is_found_and_those_with_it_are_told();
    no_release_comes_after_the_first_exit_of_a_sample();
    dependent_boundaries_are_left_by_more_than_is_known();
    an_interval_that_opens_from_a_point_is_left_by_nothing();
    an_interval_of_one_boundary_opens_either_way();
    return reluflow::tests::failures();
}
