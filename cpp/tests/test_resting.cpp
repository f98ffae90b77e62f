/// Weights beside samples at rest, against closed forms in long double: those at rest follow their own margins, and the
/// others share a part of the sum, which time goes by.
#include "problem/resting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "two_layer/defect.hpp"
#include "two_layer/waveform.hpp"

namespace {

using namespace reluflow;
using Real = long double;

constexpr Index kSamples = 5;
constexpr double kShare = 1e-4;

Dataset drawn() {
    Matrix X(kSamples, 2);
    X << 1.0, 0.0, 0.5, -1.0, 0.0, 2.0, -1.5, 0.5, 1.0, 1.0;
    Vector y(kSamples);
    y << 1.0, -1.0, 1.0, 1.0, -1.0;
    Vector counts(kSamples);
    counts << 1.0, 2.0, 1.0, 0.5, 3.0;
    return {X, y, LossKind::logistic, counts};
}

/// Samples 0 and 3 are at rest.
Objective objective(LossKind loss) {
    Objective made{loss, Reduction::sum};
    made.resting.scales = Vector::Zero(kSamples);
    made.resting.scales[0] = made.resting.scales[3] = 0.25;
    made.resting.share = kShare;
    return made;
}

/// Margins as polynomials: (orders, n).
Matrix margins() {
    Matrix q = Matrix::Zero(kMaxOrder + 1, kSamples);
    q.row(0) << -0.5, 20.0, 21.0, 0.75, 24.0;
    q.row(1) << 0.3, 0.5, -0.25, -0.2, -0.4;
    q.row(2) << -0.1, 0.2, 0.1, 0.05, 0.1;
    return q;
}

Real margin_at(const Matrix& q, Index sample, Real u) {
    return (Real(q(2, sample)) * u + q(1, sample)) * u + q(0, sample);
}

/// |ℓ'| times what the sample counts.
Real weight_of(LossKind loss, const Dataset& data, const Matrix& q, Index sample, Real u) {
    const Real at = margin_at(q, sample, u);
    return data.counts()[sample] * (loss == LossKind::exponential ? std::exp(-at) : 1.0L / (1.0L + std::exp(at)));
}

Real tails(LossKind loss, const Dataset& data, const Matrix& q, Real u) {
    Real sum = 0.0L;
    for (const Index i : {1, 2, 4}) sum += weight_of(loss, data, q, i, u);
    return sum;
}

Waveform filled(const Dataset& data, LossKind loss, const Matrix& q) {
    Waveform waveform(data, objective(loss));
    waveform.start(q.row(0).transpose(), std::vector<char>(kSamples, 1));
    waveform.set_step(1.0);
    for (Index k = 1; k <= kMaxOrder; ++k) waveform.push(q.row(k).transpose());
    return waveform;
}

void weights_and_time_are_those_of_the_closed_form(LossKind loss) {
    const Dataset data = drawn();
    const Matrix q = margins();
    const Waveform waveform = filled(data, loss, q);
    for (const double u : {0.0, 0.1, 0.4}) {
        const Real sum = tails(loss, data, q, u);
        Real of_tails = 0.0L;
        for (Index i = 0; i < kSamples; ++i) {
            const bool rests = i == 0 || i == 3;
            const Real weight = weight_of(loss, data, q, i, u);
            const Real expected = rests ? 0.25L * weight : kShare * weight / sum;
            const Real found = data.signs()[i] * waveform.signed_weight_at(i, u);
            CHECK(std::abs(found - expected) <= 1e-13L * expected);
            if (!rests) of_tails += found;
            CHECK(waveform.is_tail(i) == !rests);
        }
        CHECK(std::abs(of_tails - kShare) <= 1e-13 * kShare);
        CHECK(std::abs(waveform.time_rate_at(u) - tails(loss, data, q, 0.0L) / sum) <= 1e-12L);
    }
    CHECK(std::abs(waveform.log_mass() - std::log(tails(loss, data, q, 0.0L) / kShare)) <= 1e-13L);
    CHECK(waveform.smallest_margin() == 20.0);
    Defect defect(data, objective(loss));
    CHECK(defect.measure(waveform, 0.4, 1.0, 0.5) <= 1e-12);
}

/// Its derivative by a margin is minus the weight over the share.
void the_weights_descend_what_is_called_the_loss(LossKind loss) {
    const Dataset data = drawn();
    const Matrix q = margins();
    const Waveform waveform = filled(data, loss, q);
    const Resting resting = objective(loss).resting;
    const auto at = [&](Index sample, double by) {
        Vector moved = q.row(0).transpose();
        moved[sample] += by;
        return log_loss_sum(resting, loss, {moved.data(), kSamples}, data.counts_span());
    };
    CHECK(std::abs(waveform.log_loss() - at(0, 0.0)) <= 1e-12 * std::abs(at(0, 0.0)));
    for (Index i = 0; i < kSamples; ++i) {
        const double slope = (at(i, 1e-3) - at(i, -1e-3)) / 2e-3;
        const double expected = -data.signs()[i] * waveform.signed_weights(0)[i] / kShare;
        CHECK(std::abs(slope - expected) <= 1e-6 * std::abs(expected));
    }
}

void without_samples_at_rest_it_is_the_loss() {
    const Dataset data = drawn();
    const Vector q = margins().row(0).transpose();
    const double found = log_loss_sum(Resting{}, LossKind::logistic, {q.data(), kSamples}, data.counts_span());
    CHECK(found == log_loss_sum(LossKind::logistic, {q.data(), kSamples}, data.counts_span()));
}

}  // namespace

int main() {
    for (const LossKind loss : {LossKind::logistic, LossKind::exponential}) {
        weights_and_time_are_those_of_the_closed_form(loss);
        the_weights_descend_what_is_called_the_loss(loss);
    }
    without_samples_at_rest_it_is_the_loss();
    return reluflow::tests::failures();
}
