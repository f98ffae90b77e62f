/// The losses of many samples at once against those of each, and their bits wherever a sample stands.
#include "problem/loss_of_all.hpp"

#include <cmath>
#include <limits>

#include "check.hpp"

namespace {

using namespace reluflow;

/// A few rounding errors of double.
constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();
constexpr double kSmallest = std::numeric_limits<double>::min();

struct All {
    explicit All(LossKind kind, const Eigen::ArrayXd& q) : log_weights(q.size()), weights(q.size()), losses(q.size()) {
        losses_of(kind, q, log_weights, weights, losses);
    }
    Eigen::ArrayXd log_weights, weights, losses;
};

/// No whole number of registers, and margins on both sides of every threshold.
Eigen::ArrayXd many() {
    Eigen::ArrayXd q(6413);
    q << Eigen::ArrayXd::LinSpaced(3203, -801.0, 800.0), Eigen::ArrayXd::LinSpaced(3203, -45.0, 45.0), 0.0, 1e-300,
        -1e-17, 1e-9, -1e5, 1e8, 1e300;
    return q;
}

/// Relative to the value; what is no normal number is zero.
void the_losses_of_all_samples_are_those_of_each() {
    const Eigen::ArrayXd q = many();
    for (const LossKind kind : {LossKind::logistic, LossKind::exponential}) {
        const All all(kind, q);
        for (Index i = 0; i < q.size(); ++i) {
            const double log_of_weight = log_weight(kind, q[i]);
            CHECK(std::abs(all.log_weights[i] - log_of_weight) <= kSmallest + kRounding * std::abs(log_of_weight));
            CHECK(std::abs(all.losses[i] - log_loss(kind, q[i])) <= kRounding * (1.0 + std::abs(log_loss(kind, q[i]))));
            const double expected = weight(kind, q[i]);
            if (std::isinf(expected))
                CHECK(std::isinf(all.weights[i]));
            else
                CHECK(std::abs(all.weights[i] - expected) <= (q[i] > 707.0 ? 4.0 * kSmallest : kRounding * expected));
        }
    }
}

/// Else samples that mirror each other would not balance.
void equal_margins_have_equal_bits_wherever_they_stand() {
    for (const double q : {-3.7, 0.1, 1.3, 20.9})
        for (Index size = 1; size < 40; ++size) {
            const All all(LossKind::logistic, Eigen::ArrayXd::Constant(size, q));
            Eigen::ArrayXd x = Eigen::ArrayXd::Constant(size, -std::abs(q));
            exponentiate(x);
            for (Index i = 1; i < size; ++i) {
                CHECK(all.log_weights[i] == all.log_weights[0]);
                CHECK(all.weights[i] == all.weights[0]);
                CHECK(all.losses[i] == all.losses[0]);
                CHECK(x[i] == x[0]);
            }
        }
}

/// Log weights alone have the bits of those that come with the losses.
void log_weights_alone_have_the_same_bits() {
    const Eigen::ArrayXd q = many();
    Eigen::ArrayXd alone(q.size());
    for (const LossKind kind : {LossKind::logistic, LossKind::exponential}) {
        log_weights_of(kind, q, alone);
        CHECK((alone == All(kind, q).log_weights).all());
    }
}

void what_is_no_number_stays_none() {
    const Eigen::ArrayXd q = Eigen::ArrayXd::Constant(3, std::numeric_limits<double>::quiet_NaN());
    const All all(LossKind::logistic, q);
    CHECK(all.log_weights.isNaN().all());
    CHECK(all.weights.isNaN().all());
    CHECK(all.losses.isNaN().all());
}

void exponentials_end_at_zero() {
    Eigen::ArrayXd x(5);
    x << -std::numeric_limits<double>::infinity(), -709.0, -700.0, 0.0, 230.0;
    exponentiate(x);
    CHECK(x[0] == 0.0);
    CHECK(x[1] == 0.0);
    CHECK(std::abs(x[2] - std::exp(-700.0)) <= kRounding * x[2]);
    CHECK(x[3] == 1.0);
    CHECK(std::abs(x[4] - std::exp(230.0)) <= kRounding * x[4]);
}

}  // namespace

int main() {
    the_losses_of_all_samples_are_those_of_each();
    equal_margins_have_equal_bits_wherever_they_stand();
    log_weights_alone_have_the_same_bits();
    what_is_no_number_stays_none();
    exponentials_end_at_zero();
    return reluflow::tests::failures();
}
