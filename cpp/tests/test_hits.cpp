/// Location of events on one piece of a neuron's motion, against the same piece sampled densely in long double, and
/// against closed forms at the limit of rounding: two crossings, tangency, roots at both ends, releases.
#include "two_layer/hits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/generator.hpp"
#include "check.hpp"
#include "neuron_bench.hpp"

namespace {

using namespace reluflow;
using tests::Bench;
using tests::kAxes;
using tests::kRank;
using tests::Numbers;

constexpr double kEps = std::numeric_limits<double>::epsilon();

double uniform(Generator& random) {
    return 2.0 * (static_cast<double>(random.next() >> 11U) / 9007199254740992.0) - 1.0;
}

/// w·normal on a piece, from its coefficients, v after its begin.
long double pre_activation(const Bench& bench, int piece, int boundary, long double v) {
    long double z = 0.0L;
    for (int k = bench.motion->order(); k >= 0; --k) {
        long double term = 0.0L;
        for (Index x = 0; x < kRank; ++x)
            term += static_cast<long double>(bench.data().normals()(boundary, x)) * bench.motion->w(piece, k)[x];
        z = z * v + term;
    }
    return z;
}

/// The first time that samples of the piece show the neuron on the wrong side of some boundary.
struct Crossing {
    double u = kNoRoot;
    int boundary = -1;
};

Crossing first_crossing(const Bench& bench, int piece, double end) {
    constexpr int kSamples = 1000;
    Crossing first;
    for (int boundary = 0; boundary < static_cast<int>(bench.data().n_boundaries()); ++boundary) {
        const long double side = bench.sides[boundary];
        for (int i = 1; i <= kSamples; ++i) {
            long double high = static_cast<long double>(end) * i / kSamples;
            if (high > first.u) break;
            if (side * pre_activation(bench, piece, boundary, high) >= 0.0L) continue;
            long double low = static_cast<long double>(end) * (i - 1) / kSamples;
            for (int pass = 0; pass < 70; ++pass) {
                const long double middle = 0.5L * (low + high);
                (side * pre_activation(bench, piece, boundary, middle) >= 0.0L ? low : high) = middle;
            }
            if (static_cast<double>(high) < first.u) first = {static_cast<double>(high), boundary};
            break;
        }
    }
    return first;
}

/// Gradients of a few orders, large enough to turn the neuron, to shrink it or to make it grow.
std::vector<Numbers> gradients(double size, Generator& random) {
    std::vector<Numbers> g(1 + random.next() % 8, Numbers(kRank));
    for (auto& order : g)
        for (double& number : order) number = size * uniform(random);
    return g;
}

/// Boundaries near the neuron and far from it. None may be met earlier than the hit, and a hit must be one.
void the_first_hit_is_the_first_crossing_of_any_boundary() {
    Generator random(1);
    int found = 0;
    for (int round = 0; round < 600; ++round) {
        std::vector<Numbers> samples(8, Numbers(kRank));
        for (auto& sample : samples)
            for (double& number : sample) number = uniform(random);
        Bench bench(samples);
        Numbers w(kRank);
        for (double& number : w) number = uniform(random);
        if (round % 2 == 0) {  // stands close to the first boundary
            const auto normal = bench.data().normals().row(0);
            const double z = normal.dot(Eigen::Map<const Vector>(w.data(), kRank)) *
                             (1.0 - std::exp2(-20.0 * std::abs(uniform(random))));
            for (Index x = 0; x < kRank; ++x) w[x] -= z * normal[x];
        }
        const int piece =
            bench.put(w, 1.5 * uniform(random), gradients(std::exp2(-4.0 * std::abs(uniform(random))), random));
        for (int boundary = 0; boundary < 8; ++boundary)
            bench.sides[boundary] =
                pre_activation(bench, piece, boundary, 0.0L) > 0.0L ? std::int8_t{1} : std::int8_t{-1};
        const double end = 0.2 + 0.8 * std::abs(uniform(random));
        const Crossing expected = first_crossing(bench, piece, end);
        const Hit hit = bench.hit(piece, end);
        if (expected.boundary >= 0) {
            CHECK(hit.u <= expected.u + 1e-12);
            ++found;
        }
        if (hit.kind == HitKind::none) continue;
        CHECK(std::abs(static_cast<double>(pre_activation(bench, piece, hit.boundary, hit.u))) < 1e-14);
        const auto met = bench.finder->met();
        CHECK(std::find(met.begin(), met.end(), hit.boundary) != met.end());
    }
    CHECK(found > 200);
}

/// e₁ is the boundary; the gradient is θ' along it, so that z = z₀ cosh θ + a₀ sinh θ, which is zero where θ =
/// -artanh(z₀/a₀). θ = κ (u² - (r + s) u) makes those r and s.
struct Parabola {
    double z = 0.0;
    std::vector<Numbers> g;
};

constexpr double kOutput = 2.0;
constexpr double kBeside = 0.25;  // of the neuron, along the boundary

Parabola parabola(double kappa, double r, double s, double raised = 0.0) {
    return {static_cast<double>(kOutput * std::tanh(static_cast<long double>(kappa) * r * s + raised)),
            {{-kappa * (r + s), 0.0, 0.0}, {2.0 * kappa, 0.0, 0.0}}};
}

int put(Bench& bench, const Parabola& curve) {
    return bench.put({curve.z, kBeside, 0.0}, kOutput, curve.g);
}

void two_crossings_inside_a_step_are_not_missed() {
    Bench bench(kAxes);
    for (const double kappa : {0.5, 0.01, 1e-5})
        for (const double gap : {0.3, 1e-3, 1e-6})
            for (const double r : {0.1, 0.4375, 0.7 - gap}) {
                const int piece = put(bench, parabola(kappa, r, r + gap));
                const Hit hit = bench.hit(piece, 1.0);
                CHECK(hit.kind == HitKind::boundary && hit.boundary == 0);
                CHECK(std::abs(hit.u - r) < 16.0 * kEps / (kappa * gap));
                CHECK(bench.hit(piece, r - 16.0 * kEps / (kappa * gap)).kind == HitKind::none);
            }
}

/// The neuron turns back before the boundary, or behind it, by 1e-12 of its size.
void touching_is_told_from_just_missing() {
    Bench bench(kAxes);
    for (const double kappa : {0.5, 0.02})
        for (const double r : {0.2, 0.4375, 0.8}) {
            CHECK(bench.hit(put(bench, parabola(kappa, r, r, 1e-12)), 1.0).kind == HitKind::none);
            const Hit hit = bench.hit(put(bench, parabola(kappa, r, r, -1e-12)), 1.0);
            CHECK(hit.kind == HitKind::boundary);
            CHECK(std::abs(hit.u - (r - std::sqrt(1e-12 / kappa))) < 1e-2 * std::sqrt(1e-12 / kappa));
        }
}

/// The bound that rules boundaries out counts the bend across the neuron's direction in full: here nothing else is
/// there.
void a_boundary_that_is_only_just_reached_is_reached() {
    Bench bench(kAxes);
    for (const double z : {1e-3, 1e-6}) {
        for (const double part : {1.01, 0.99}) {
            // w = (z - part·z·u², 1, 0) to first order: a' = w·g is of order z².
            const int piece = bench.put({z, 1.0, 0.0}, 1.0, {{0.0, 0.0, 0.0}, {-2.0 * part * z, 0.0, 0.0}});
            CHECK((bench.hit(piece, 1.0).kind == HitKind::boundary) == (part > 1.0));
            // The same by the slope alone, and by a neuron that shrinks along itself.
            const int straight = bench.put({z, 1.0, 0.0}, 1.0, {{-part * z, 0.0, 0.0}});
            CHECK((bench.hit(straight, 1.0).kind == HitKind::boundary) == (part > 1.0));
            const int shrinking = bench.put({z, 1.0, 0.0}, 1.0, {{0.0, -0.5, 0.0}, {-2.0 * part * z, 0.0, 0.0}});
            CHECK((bench.hit(shrinking, 1.0).kind == HitKind::boundary) ==
                  (first_crossing(bench, shrinking, 1.0).boundary >= 0));
        }
    }
}

void a_boundary_just_left_is_not_met_again_at_once() {
    Bench bench(kAxes);
    for (const double rest : {0.0, 1e-17, -1e-17, 1e-16, -1e-16}) {
        // θ = κ u (s - u) leaves e₁ upwards and comes back at s.
        for (const double s : {1e-6, 0.25, 0.75, 0.99}) {
            const int piece = bench.put({rest, 1.0, 0.0}, kOutput, {{0.05 * s, 0.0, 0.0}, {-0.1, 0.0, 0.0}});
            const Hit hit = bench.hit(piece, 1.0);
            CHECK(hit.kind == HitKind::boundary && hit.boundary == 0);
            CHECK(std::abs(hit.u - s) < 20.0 * std::abs(rest) / s + 16.0 * kEps * s);
        }
        const int leaving = bench.put({rest, 1.0, 0.0}, kOutput, {{0.5, 0.0, 0.0}});
        CHECK(bench.hit(leaving, 1.0).kind == HitKind::none);
        const int entering = bench.put({rest, 1.0, 0.0}, kOutput, {{-0.5, 0.0, 0.0}});
        CHECK(bench.hit(entering, 1.0).u == 0.0);
        const int bending = bench.put({rest, 1.0, 0.0}, kOutput, {{1e-14, 0.0, 0.0}, {-0.5, 0.0, 0.0}});
        CHECK(std::abs(bench.hit(bending, 1.0).u - 4e-14) < 1e-15);  // away from it: it comes back in its own time
        const int turning = bench.put({rest, 1.0, 0.0}, kOutput, {{-1e-14, 0.0, 0.0}, {0.5, 0.0, 0.0}});
        CHECK(bench.hit(turning, 1.0).kind == HitKind::none);  // a slope of -2e-14 is rounding, so the bend decides
        for (const double slope : {0.0, 1e-18, -1e-18}) {      // and a bend of 1e-17 is rounding, one of 1e-13 is not
            const int resting = bench.put({rest, 1.0, 0.0}, kOutput, {{slope, 0.0, 0.0}, {-1e-17, 0.0, 0.0}});
            CHECK(bench.hit(resting, 1.0).kind == HitKind::none);
            const int falling = bench.put({rest, 1.0, 0.0}, kOutput, {{slope, 0.0, 0.0}, {-1e-13, 0.0, 0.0}});
            CHECK(bench.hit(falling, 1.0).u < 1e-4);
        }
        const int moving = bench.put({rest, 1.0, 0.0}, kOutput, {{1e-12, 0.0, 0.0}, {-0.5, 0.0, 0.0}});
        CHECK(std::abs(bench.hit(moving, 1.0).u - 4e-12) < 1e-15);  // one of 2e-12 is not
        const int crossing = bench.put({rest, 1.0, 0.0}, kOutput, {{-1e-12, 0.0, 0.0}, {0.5, 0.0, 0.0}});
        CHECK(bench.hit(crossing, 1.0).u == 0.0);  // nor is one of -2e-12, whatever the bend
    }
}

/// A rate that is rounding takes nobody over a boundary, but what it has done over many steps is no more in doubt.
void what_has_come_far_beyond_a_boundary_is_across() {
    Bench bench(kAxes);
    for (const double slope : {0.0, -1e-18, -1e-14}) {
        const auto hit_from = [&](double beyond) {
            return bench.hit(bench.put({-beyond, 1.0, 0.0}, kOutput, {{slope, 0.0, 0.0}}), 1.0);
        };
        CHECK(hit_from(1e-11).kind == HitKind::none);
        CHECK((hit_from(5e-9).u == 0.0) == (slope < 0.0));
    }
}

/// Last terms of 1e-14 or 1e-8 say nothing of a distance of 1e-15, but a way of 1e-4 beyond the boundary is one.
void who_leaves_at_no_rate_and_comes_back_is_across_however_coarse_the_series() {
    Bench bench(kAxes);
    for (const double last : {1e-5, 1.0}) {
        std::vector<Numbers> terms(kMaxOrder, Numbers(kRank));
        terms[1][0] = 1e-3;  // z = 1e-3 u² - 2e-3 u³, and what is not known of it
        terms[2][0] = -3e-3;
        terms[kMaxOrder - 2][0] = terms[kMaxOrder - 1][0] = -last;
        const Hit hit = bench.hit(bench.put({1e-17, 1.0, 0.0}, kOutput, terms), 1.0);
        CHECK(hit.kind == HitKind::boundary && hit.boundary == 0);
        CHECK(std::abs(hit.u - 0.5) < 1e-4);
    }
}

/// Two boundaries lean to either side of the way by as much.
void of_boundaries_met_at_one_instant_the_first_is_named_and_all_are_met() {
    Bench bench({{1.0, 0.5, 0.0}, {1.0, -0.5, 0.0}, {0.0, 1.0, 1.0}});
    const Hit hit = bench.hit(bench.put({0.25, 0.0, 1.0}, 1.0, {{-0.5, 0.0, 0.0}}), 1.0);
    CHECK(hit.kind == HitKind::boundary && hit.boundary == 0);
    CHECK(std::abs(hit.u - 2.0 * std::atanh(0.25)) < 16.0 * kEps);
    const auto met = bench.finder->met();
    for (const int boundary : {0, 1}) CHECK(std::count(met.begin(), met.end(), boundary) == 1);
}

/// A pre-activation that is small but not rounding is away from its boundary.
void what_is_above_rounding_is_not_zero() {
    Bench bench(kAxes);
    const double z = 1e-13;
    const Hit hit = bench.hit(bench.put({z, 1.0, 0.0}, 1.0, {{-1e-3, 0.0, 0.0}}), 1.0);
    CHECK(std::abs(hit.u - 1e-10) < 1e-14);
    std::vector<int> zero;
    const Numbers beside{z, 1.0, -1.0};
    bench.finder->boundaries_at_zero(beside.data(), std::vector<int>{0, 1, 2}, bench.sides, zero);
    CHECK(zero == std::vector<int>{2});
}

/// Beside e₂ at rounding while it goes across e₁, where it stood too: only what it comes towards is met with e₁.
void what_a_neuron_only_stays_beside_is_not_met() {
    Bench bench(kAxes);
    constexpr double kFalls = -1e-13;
    struct Case {
        double z, bend;
        bool only_beside;
    };
    for (const double side : {1.0, -1.0})
        for (const Case& one : {Case{1e-17, 0.0, true}, Case{-1e-17, 0.0, true}, Case{1e-17, 1e-13, true},
                                Case{1e-17, 0.02 * kFalls, true}, Case{1e-17, 0.5 * kFalls, false},
                                Case{1e-17, kFalls, false}, Case{1e-14, 1e-13, false}}) {
            bench.sides[1] = static_cast<std::int8_t>(side);
            const int piece =
                bench.put({1e-17, side * one.z, 1.0}, kOutput, {{0.0, 0.0, 0.0}, {kFalls, side * one.bend, 0.0}});
            const Hit hit = bench.hit(piece, 1.0);
            CHECK(hit.kind == HitKind::boundary && hit.boundary == 0);
            CHECK(hit.u < 1e-4 && hit.seen > 0.1);  // known to be beyond e₁ long after it went there
            CHECK(bench.finder->stays_beside(piece, 1, bench.sides[1], hit) == one.only_beside);
            CHECK(!bench.finder->stays_beside(piece, 1, 0, hit));
        }
    bench.sides[1] = 1;
    const int entering = bench.put({1e-17, 1e-17, 1.0}, kOutput, {{-0.5, 0.5, 0.0}});  // e₂ was left at this instant
    const Hit hit = bench.hit(entering, 1.0);
    CHECK(hit.u == 0.0 && hit.seen == 0.0);
    CHECK(!bench.finder->stays_beside(entering, 1, 1, hit));
}

/// The end of a piece belongs to it or to the next, never to none.
void a_crossing_at_the_end_is_found_here_or_in_the_next_piece() {
    Bench bench(kAxes);
    for (const double r : {0.1, 0.3, 0.5, 0.9})
        for (int ulps = -3; ulps <= 3; ++ulps) {
            const double end = r * (1.0 + ulps * kEps);
            const int piece = put(bench, parabola(0.25, r, 2.0));
            const Hit hit = bench.hit(piece, end);
            if (hit.kind == HitKind::boundary) {
                CHECK(std::abs(hit.u - r) < 16.0 * kEps);
                continue;
            }
            Numbers w(kRank);
            double a = 0.0;
            bench.motion->evaluate(piece, end, w.data(), a);
            const double slope = 0.25 * (2.0 * end - r - 2.0);
            const int next = bench.put(w, a, {{slope, 0.0, 0.0}, {0.5, 0.0, 0.0}}, end);
            CHECK(std::abs(bench.hit(next, 1.0).u - end) < 16.0 * kEps);
        }
}

void an_output_weight_that_passes_zero_is_seen() {
    Bench bench(kAxes);
    // a = a₀ cosh θ + z₀ sinh θ with θ = -u: zero at artanh(a₀/z₀).
    for (const double r : {0.2, 0.7}) {
        const int piece = bench.put({1.0, 0.0, 0.0}, std::tanh(r), {{-1.0, 0.0, 0.0}});
        CHECK(std::abs(bench.finder->output_sign_change(piece, 1.0, bench.sides).u - r) < 16.0 * kEps);
        CHECK(bench.finder->output_sign_change(piece, r - 1e-12, bench.sides).kind == HitKind::none);
    }
    // At zero itself it takes the sign that it has from then on.
    for (const double rate : {1e-3, -1e-3})
        CHECK(bench.finder->output_sign_change(bench.put({1.0, 0.0, 0.0}, 0.0, {{rate, 0.0, 0.0}}), 1.0, bench.sides)
                  .kind == HitKind::none);
    // From rounding on, away from zero and back: a = u - u² to first order.
    const int back = bench.put({1.0, 0.0, 0.0}, 1e-17, {{1e-3, 0.0, 0.0}, {-2e-3, 0.0, 0.0}});
    CHECK(bench.finder->output_sign_change(back, 1.0, bench.sides).kind == HitKind::none ||
          bench.finder->output_sign_change(back, 1.0, bench.sides).u > 0.99);
    const int soon = bench.put({1.0, 0.0, 0.0}, 1e-17, {{1e-3, 0.0, 0.0}, {-4e-3, 0.0, 0.0}});
    CHECK(std::abs(bench.finder->output_sign_change(soon, 1.0, bench.sides).u - 0.5) < 1e-12);
}

}  // namespace

int main() {
    the_first_hit_is_the_first_crossing_of_any_boundary();
    two_crossings_inside_a_step_are_not_missed();
    touching_is_told_from_just_missing();
    a_boundary_that_is_only_just_reached_is_reached();
    a_boundary_just_left_is_not_met_again_at_once();
    what_has_come_far_beyond_a_boundary_is_across();
    who_leaves_at_no_rate_and_comes_back_is_across_however_coarse_the_series();
    of_boundaries_met_at_one_instant_the_first_is_named_and_all_are_met();
    what_is_above_rounding_is_not_zero();
    what_a_neuron_only_stays_beside_is_not_met();
    a_crossing_at_the_end_is_found_here_or_in_the_next_piece();
    an_output_weight_that_passes_zero_is_seen();
    return reluflow::tests::failures();
}
