/// Series of the weights and of time against closed forms in complex long double: coefficients by Cauchy's integral,
/// not by a recurrence, for both losses and margins of any size.
#include "two_layer/waveform.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "base/generator.hpp"
#include "check.hpp"

namespace {

using namespace reluflow;
using Real = long double;
using Complex = std::complex<Real>;

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr Real kPi = 3.14159265358979323846264338327950288L;
constexpr Index kSamples = 4;

double uniform(Generator& random) {
    return 2.0 * (static_cast<double>(random.next() >> 11U) / 9007199254740992.0) - 1.0;
}

/// Samples of lengths 1, 2, 3, 4 and labels of both kinds.
Dataset lengths() {
    Matrix X = Matrix::Zero(kSamples, 2);
    Vector y(kSamples);
    for (Index i = 0; i < kSamples; ++i) {
        X(i, i % 2) = static_cast<double>(i + 1);
        y[i] = i % 3 == 0 ? 1.0 : -1.0;
    }
    return {X, y};
}

/// Margins q_i(u) as coefficients, one row an order. Those of samples that drive nobody stand still.
struct Margins {
    double base = 0.0;  // near all of them: what is compared are differences, which long double must not lose
    Matrix q = Matrix::Zero(kMaxOrder + 1, kSamples);
    std::vector<char> live = std::vector<char>(kSamples, 1);
};

Margins draw(double base, double spread, double rate, const std::vector<char>& live, Generator& random) {
    Margins made;
    made.base = base;
    made.live = live;
    for (Index k = 0; k <= kMaxOrder; ++k, rate *= k > 1 ? 0.25 : 1.0)
        for (Index i = 0; i < kSamples; ++i)
            made.q(k, i) = k == 0 ? base + spread * uniform(random) : (live[i] != 0 ? rate * uniform(random) : 0.0);
    return made;
}

/// log|ℓ'(q_i)| + offset(), at any u of the complex plane.
Complex log_weight_at(LossKind loss, const Margins& m, Index sample, Complex u) {
    Complex q = 0.0L;
    for (Index k = kMaxOrder; k >= 1; --k) q = (q + Complex(m.q(k, sample))) * u;
    q += static_cast<Real>(m.q(0, sample)) - m.base;
    if (loss == LossKind::exponential) return -q;
    if (m.base > 0.0) return -q - std::log(1.0L + std::exp(-q - Complex(m.base)));
    return -std::log(1.0L + std::exp(q + Complex(m.base)));
}
Real offset(LossKind loss, const Margins& m) {
    return loss == LossKind::exponential || m.base > 0.0 ? m.base : 0.0L;
}

/// Σ |ℓ'| e^offset over the live samples.
Complex mass(LossKind loss, const Margins& m, Complex u) {
    Complex sum = 0.0L;
    for (Index i = 0; i < kSamples; ++i)
        if (m.live[i] != 0) sum += std::exp(log_weight_at(loss, m, i, u));
    return sum;
}

/// Taylor coefficients of an analytic function: mean values on a circle of radius 2.
template <class Function>
std::vector<Real> coefficients(const Function& f) {
    constexpr int kPoints = 512;
    std::vector<Real> c(kMaxOrder + 1, 0.0L);
    for (int point = 0; point < kPoints; ++point) {
        const Real angle = 2.0L * kPi * point / kPoints;
        const Complex value = f(std::polar(2.0L, angle));
        for (int k = 0; k <= kMaxOrder; ++k)
            c[k] += (value * std::polar(std::ldexp(1.0L, -k), -angle * k)).real() / kPoints;
    }
    return c;
}

void fill(Waveform& waveform, const Margins& m, double step, int orders = kMaxOrder) {
    waveform.start(m.q.row(0).transpose(), m.live);
    waveform.set_step(step);
    for (Index k = 1; k <= orders; ++k) waveform.push(m.q.row(k).transpose());
}

/// A weight that is saturated is known to the rounding of 1 - |ℓ'|, so that its coefficients are off by no more than
/// that part of the margins' own.
void the_weights_have_the_coefficients_of_the_closed_form(LossKind loss) {
    Generator random(1);
    const Dataset data = lengths();
    for (const double base : {-1e8, -800.0, -30.0, -3.0, 0.0, 3.0, 30.0, 800.0, 1e8})
        for (const std::vector<char>& live : {std::vector<char>{1, 1, 1, 1}, std::vector<char>{1, 0, 1, 1}}) {
            Waveform waveform(data, {loss, Reduction::sum});
            const Margins m = draw(base, 2.0, 0.3, live, random);
            fill(waveform, m, 1.0);
            CHECK(waveform.order() == kMaxOrder);
            for (Index i = 0; i < kSamples; ++i) {
                const auto weight = [&](Complex u) {
                    return std::exp(log_weight_at(loss, m, i, u)) / mass(loss, m, u);
                };
                const std::vector<Real> expected = coefficients(weight);
                const Real size = std::max(1.0L, expected[0]);
                for (int k = 0; k <= kMaxOrder; ++k) {
                    const Real found = data.signs()[i] * waveform.signed_weights(k)[i];
                    const Real room = 16.0L * kEps * (std::abs(expected[k]) + size * std::pow(0.25L, k)) +
                                      size * 1e-18L * std::pow(0.5L, k);
                    CHECK(std::abs(found - expected[k]) <= room);
                }
                for (const double u : {0.0, 0.5, 1.0}) {
                    const Real value = weight(u).real();
                    CHECK(std::abs(data.signs()[i] * waveform.signed_weight_at(i, u) - value) <= 16.0L * kEps * size);
                }
            }
        }
}

/// D(0)/D and its integral.
void time_has_the_coefficients_of_the_closed_form(LossKind loss) {
    Generator random(2);
    const Dataset data = lengths();
    for (const double base : {-1e8, -3.0, 0.0, 3.0, 800.0, 1e8}) {
        Waveform waveform(data, {loss, Reduction::mean});
        const Margins m = draw(base, 2.0, 0.3, {1, 1, 1, 0}, random);
        fill(waveform, m, 0.5);
        const Real first = mass(loss, m, 0.0L).real();
        const std::vector<Real> rate = coefficients([&](Complex u) { return first / mass(loss, m, u); });
        const Real log_mass = std::log(first) - offset(loss, m);
        CHECK(std::abs(waveform.log_mass() - log_mass) <= 8.0L * kEps * (1.0L + std::abs(log_mass)));
        const Real unit = std::log(0.5L) + std::log(4.0L) - log_mass;
        CHECK(std::abs(waveform.log_time_unit() - unit) <= 8.0L * kEps * (1.0L + std::abs(unit)));
        for (const double u : {0.125, 0.5, 1.0}) {
            Real value = 0.0L;
            Real time = 0.0L;
            for (int k = kMaxOrder; k >= 0; --k) {
                value = value * u + rate[k];
                time = (time + rate[k] / (k + 1)) * u;
            }
            CHECK(std::abs(waveform.time_rate_at(u) - value) <= 16.0L * kEps * value);
            CHECK(std::abs(waveform.time_at(u) - time) <= 16.0L * kEps * time);
            CHECK(std::abs(waveform.u_at_time(waveform.time_at(u), 1.0) - u) <= 4.0 * kEps);
        }
        const Real last = std::abs(rate[kMaxOrder]) / (kMaxOrder + 1) / waveform.time_at(1.0);
        CHECK(std::abs(waveform.relative_time_term() - last) <= 1e-3L * last + 1e-24L);
    }
}

/// What a step adds up over the samples that drive somebody, and its bound over the whole step.
void sums_over_the_step_stay_below_their_bounds(LossKind loss) {
    Generator random(3);
    const Dataset data = lengths();
    double sharpest = 0.0;
    for (int round = 0; round < 50; ++round) {
        Waveform waveform(data, {loss, Reduction::sum});
        const Margins m = draw(round % 3 - 1.0, 1.0, 2.0, {1, 1, 1, 1}, random);
        fill(waveform, m, 1.0);
        Vector weights(kSamples);
        double rate = 0.0;
        for (Index i = 0; i < kSamples; ++i) rate += data.signs()[i] * waveform.signed_weights(0)[i] * m.q(1, i);
        CHECK(std::abs(waveform.margin_rate() - rate) <= 16.0 * kEps);
        for (int part = 0; part <= 20; ++part) {
            waveform.signed_weights_at(part / 20.0, weights);
            double norm = 0.0;
            for (Index i = 0; i < kSamples; ++i) norm += std::abs(weights[i]) * static_cast<double>(i + 1);
            CHECK(norm <= waveform.largest_mean_norm() * (1.0 + 8.0 * kEps));
            sharpest = std::max(sharpest, norm / waveform.mean_norm());
        }
        CHECK(waveform.largest_norm() == 4.0);
    }
    CHECK(sharpest > 1.2);  // the sum grows within steps, so that its begin is no bound
}

/// A margin far below zero has a constant weight for now, and one far above the others none: both begin to count at
/// |q| and at the gap, of which a step takes no more than half.
void a_step_goes_half_way_to_where_a_saturated_weight_counts() {
    const Dataset data = lengths();
    for (const double far : {20.0, 1e3, 1e8}) {
        Waveform waveform(data, {LossKind::logistic, Reduction::sum});
        Margins m;
        Matrix& q = m.q;
        q(0, 1) = -far;
        q(1, 1) = 10.0 * far;
        fill(waveform, m, 1.0, 1);
        CHECK(std::abs(waveform.saturated_part() - 0.05) <= 1e-15);
        q(1, 1) = 0.4 * far;
        fill(waveform, m, 1.0, 1);
        CHECK(waveform.saturated_part() == 1.0);
        q(0, 1) = far;  // it comes back to those at zero
        q(1, 1) = -10.0 * far;
        for (const LossKind loss : {LossKind::logistic, LossKind::exponential}) {
            Waveform vanished(data, {loss, Reduction::sum});
            fill(vanished, m, 1.0, 1);
            const double gap = far + (loss == LossKind::logistic ? std::log(1.5) : std::log(3.0));
            CHECK(std::abs(vanished.saturated_part() - 0.05 * gap / far) <= 1e-6);
        }
        q(1, 1) = 10.0 * far;  // it leaves
        fill(waveform, m, 1.0, 1);
        CHECK(waveform.saturated_part() == 1.0);
    }
}

Real real_log_mass(LossKind loss, const Margins& m, Real u) {
    Real logs[kSamples];
    Real top = -std::numeric_limits<Real>::infinity();
    for (Index i = 0; i < kSamples; ++i) {
        const Real q = ((m.q(2, i) * u) + m.q(1, i)) * u + m.q(0, i);
        logs[i] =
            loss == LossKind::exponential ? -q : (q > 0.0L ? -q - std::log1p(std::exp(-q)) : -std::log1p(std::exp(q)));
        if (m.live[i] != 0) top = std::max(top, logs[i]);
    }
    Real sum = 0.0L;
    for (Index i = 0; i < kSamples; ++i)
        if (m.live[i] != 0) sum += std::exp(logs[i] - top);
    return top + std::log(sum);
}

/// log ∫ 1/D by Simpson's rule, from the end back to where nothing counts any more.
Real log_time(LossKind loss, const Margins& m, Real u) {
    constexpr int kPanels = 8000;
    const Real end = -real_log_mass(loss, m, u);
    Real begin = 0.0L;
    for (Real low = 0.0L, high = u; high - low > 1e-18L;) {
        begin = 0.5L * (low + high);
        (end + real_log_mass(loss, m, begin) > 50.0L ? low : high) = begin;
    }
    Real sum = 0.0L;
    for (int i = 0; i <= 2 * kPanels; ++i) {
        const Real at = begin + (u - begin) * i / (2 * kPanels);
        const Real factor = i == 0 || i == 2 * kPanels ? 1.0L : (i % 2 == 1 ? 4.0L : 2.0L);
        sum += factor * std::exp(-real_log_mass(loss, m, at) - end);
    }
    return std::log(sum * (u - begin) / (6.0L * kPanels)) + end;
}

/// Margins that grow by about `speed` in the step; which one is the smallest changes on the way.
void time_by_margins_is_the_integral_of_the_mass(LossKind loss) {
    const Dataset data = lengths();
    for (const double base : {-5.0, 0.0, 1e4})
        for (const double speed : {8.0, 100.0, 1e4, 1e7}) {
            Waveform waveform(data, {loss, Reduction::mean});
            Margins m;
            m.live[2] = 0;
            m.q.row(0) << base, base + 0.2 * speed, base - 3.0, base + 15.0;  // the last stays 15 above the first
            m.q.row(1) << speed, 0.6 * speed, 0.0, speed;
            m.q.row(2) << 0.1 * speed, 0.0, 0.0, 0.1 * speed;
            fill(waveform, m, 0.25, 2);
            waveform.keep_time_by_margins();
            for (const double u : {1e-3, 0.3, 0.5, 1.0}) {
                const Real expected = log_time(loss, m, u) + std::log(0.25L) + std::log(4.0L);
                const double found = waveform.clock_at(Clock(), u).log_t();
                CHECK(std::abs(found - expected) <= 1e-12L + 8.0L * kEps * std::abs(expected));
                const double back = waveform.reach(Clock(), Clock::at_log(found), 1.0);
                CHECK(std::abs(back - u) <= 64.0 * kEps * (1.0 + std::abs(found) / speed));
                // The sample that drives nobody outgrows the others as the mass falls, to where it counts as infinite.
                const Real log_weight_now = log_weight(loss, m.q(0, 2)) - real_log_mass(loss, m, u);
                const Real log_found = std::log(std::abs(waveform.signed_weight_at(2, u)));
                CHECK(std::abs(log_found - std::min(230.0L, log_weight_now)) <= 64.0L * kEps * (1.0L + base + speed));
            }
        }
}

/// To the relative accuracy of the change, however small, and however large a margin that stays right.
void the_change_of_a_weight_is_known_to_its_own_digits() {
    for (const double q : {-600.0, -50.0, -1.0, 0.0, 2.0, 50.0, 600.0, 3e7, 4e10})
        for (const double change : {1e-30, -1e-12, 1e-6, -1e-3, 0.1, -0.9, 1.1, -5.0, 100.0}) {
            const Real part = q > 0.0 ? 1.0L / (1.0L + std::exp(-static_cast<Real>(q)))
                                      : std::exp(static_cast<Real>(q)) / (1.0L + std::exp(static_cast<Real>(q)));
            const Real x = std::expm1(static_cast<Real>(change)) * part;
            const Real expected = std::abs(change) < 1e-9
                                      ? -(part * change + part * (1.0L - part) * change * change / 2.0L)
                                      : -std::log1p(x);
            const double found = log_weight_change(LossKind::logistic, q, change);
            const bool is_difference = std::abs(change) > 1.0 && std::min(q, q + change) <= 37.0;
            const Real room = is_difference ? 4.0L * kEps * std::abs(static_cast<Real>(q)) : 0.0L;
            CHECK(std::abs(found - expected) <= 16.0L * kEps * std::abs(expected) + room);
            CHECK(log_weight_change(LossKind::exponential, q, change) == -change);
        }
}

std::vector<double> row(const Waveform& waveform, int k) {
    return {waveform.signed_weights(k), waveform.signed_weights(k) + kSamples};
}

/// Another try of a step begins where the first did, whatever that prescribed.
void a_restart_is_the_start() {
    Generator random(3);
    const Margins m = draw(1.0, 2.0, 0.5, {1, 0, 1, 1}, random);
    const Vector q = m.q.row(0).transpose();
    Waveform first({lengths()}, {});
    Waveform again({lengths()}, {});
    first.start(q, m.live);
    again.start(q, m.live);
    again.set_step(0.5);
    again.prescribe_weights(Matrix::Constant(kMaxOrder + 2, kSamples, 0.1), 3, false);
    again.prescribe_margins(m.q.topRows(3) + Matrix::Constant(3, kSamples, 1e-3), 3);
    again.restart(q);
    for (Waveform* waveform : {&first, &again}) {
        waveform->set_step(0.25);
        for (Index k = 1; k <= 4; ++k) waveform->push(m.q.row(k).transpose());
    }
    CHECK(!again.is_prescribed());
    CHECK(!again.keeps_time_by_margins());
    CHECK(again.log_loss() == first.log_loss());
    CHECK(again.mean_norm() == first.mean_norm());
    CHECK(again.time_at(1.0) == first.time_at(1.0));
    for (int k = 0; k <= 4; ++k) CHECK(row(again, k) == row(first, k));
}

/// Samples go through registers in strips of different widths: where one stands makes no bit of difference.
void equal_samples_have_equal_series(LossKind loss) {
    constexpr Index kMany = 16 + 4 + 2 + 1;
    constexpr Index kKinds = 5;
    const Dataset data(Matrix::Ones(kMany, 1), Vector::Ones(kMany));
    Generator random(5);
    Matrix q(kMaxOrder + 1, kMany);
    for (Index k = 0; k <= kMaxOrder; ++k)
        for (Index i = 0; i < kMany; ++i) q(k, i) = i < kKinds ? uniform(random) * std::pow(0.5, k) : q(k, i % kKinds);
    Waveform waveform(data, {loss});
    waveform.start(q.row(0).transpose(), std::vector<char>(kMany, 1));
    waveform.set_step(0.5);
    for (Index k = 1; k <= kMaxOrder; ++k) waveform.push(q.row(k).transpose());
    for (int k = 1; k < kMaxOrder; ++k) {
        const double* weights = waveform.signed_weights(k);
        double sum = 0.0;  // of what stays one
        for (Index i = 0; i < kMany; ++i) {
            CHECK(weights[i] == weights[i % kKinds] && weights[i] != 0.0);
            sum += weights[i];
        }
        CHECK(std::abs(sum) < 1e-13);
    }
}

/// Those that drive nobody are given at an instant only, where the mass is the same for all.
void weights_of_all_samples_are_those_of_each() {
    Generator random(6);
    const Margins m = draw(1.0, 2.0, 0.5, {1, 0, 1, 0}, random);
    Waveform waveform({lengths()}, {});
    waveform.start(m.q.row(0).transpose(), m.live);
    waveform.set_step(0.5);
    waveform.prescribe_weights(Matrix::Constant(kMaxOrder + 2, kSamples, 0.1), 3, false);
    waveform.prescribe_margins(m.q.topRows(3), 3);
    Vector weights(kSamples);
    for (const double u : {0.0, 0.3, 1.0}) {
        waveform.signed_weights_at(u, weights);
        for (Index i = 0; i < kSamples; ++i) CHECK(weights[i] == waveform.signed_weight_at(i, u) && weights[i] != 0.0);
    }
}

/// Those that drive nobody count in the loss, whatever they outweigh.
void the_loss_is_that_of_all_samples() {
    for (const double other : {-1e3, -5.0, 2.0, 700.0})
        for (const char live : {char{0}, char{1}}) {
            Vector q(kSamples);
            q << 3.0, other, 4.0, 5.0;
            Waveform waveform({lengths()}, {});
            waveform.start(q, {1, live, 1, 1});
            const std::vector<double> all(q.begin(), q.end());
            const std::vector<double> moving = live ? all : std::vector<double>{3.0, 4.0, 5.0};
            CHECK(std::abs(waveform.log_loss() - log_loss_sum(LossKind::logistic, all)) < 1e-12);
            CHECK(std::abs(waveform.live_log_loss() - log_loss_sum(LossKind::logistic, moving)) < 1e-12);
        }
}

}  // namespace

int main() {
    a_restart_is_the_start();
    for (const LossKind loss : {LossKind::logistic, LossKind::exponential}) equal_samples_have_equal_series(loss);
    weights_of_all_samples_are_those_of_each();
    the_loss_is_that_of_all_samples();
    for (const LossKind loss : {LossKind::logistic, LossKind::exponential}) {
        the_weights_have_the_coefficients_of_the_closed_form(loss);
        time_has_the_coefficients_of_the_closed_form(loss);
        sums_over_the_step_stay_below_their_bounds(loss);
        time_by_margins_is_the_integral_of_the_mass(loss);
    }
    a_step_goes_half_way_to_where_a_saturated_weight_counts();
    the_change_of_a_weight_is_known_to_its_own_digits();
    return reluflow::tests::failures();
}
