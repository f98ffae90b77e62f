/// The losses against long double arithmetic, and their log forms where doubles end.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/errors.hpp"
#include "check.hpp"
#include "problem/loss.hpp"

namespace {

using namespace reluflow;

/// A few rounding errors of double.
constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();

bool close(double found, long double expected) {
    return std::abs(found - static_cast<double>(expected)) <= kRounding * std::abs(static_cast<double>(expected));
}

/// The obvious formulas; long double keeps their cancellations below a double's rounding in |q| <= 40.
void the_logistic_loss_agrees_with_the_plain_formulas() {
    for (double q = -40.0; q <= 40.0; q += 0.37) {
        const long double e = std::exp(static_cast<long double>(-q));
        CHECK(close(loss(LossKind::logistic, q), std::log1p(e)));
        CHECK(close(weight(LossKind::logistic, q), e / (1 + e)));
        CHECK(close(curvature(LossKind::logistic, q), e / ((1 + e) * (1 + e))));
        CHECK(std::abs(log_loss(LossKind::logistic, q) - static_cast<double>(std::log(std::log1p(e)))) < 1e-13);
        CHECK(std::abs(log_weight(LossKind::logistic, q) - static_cast<double>(std::log(e / (1 + e)))) < 1e-13);
        CHECK(std::abs(log_curvature(LossKind::logistic, q) - static_cast<double>(std::log(e / ((1 + e) * (1 + e))))) <
              1e-13);
    }
}

void the_exponential_loss_is_its_own_weight_and_curvature() {
    for (const double q : {-300.0, -1.0, 0.0, 2.5, 300.0}) {
        CHECK(loss(LossKind::exponential, q) == std::exp(-q));
        CHECK(weight(LossKind::exponential, q) == std::exp(-q));
        CHECK(curvature(LossKind::exponential, q) == std::exp(-q));
        CHECK(log_loss(LossKind::exponential, q) == -q);
        CHECK(log_weight(LossKind::exponential, q) == -q);
        CHECK(log_curvature(LossKind::exponential, q) == -q);
    }
}

void the_log_forms_hold_at_huge_margins() {
    CHECK(log_loss(LossKind::logistic, 1e8) == -1e8);
    CHECK(close(log_loss(LossKind::logistic, -1e8), std::log(1e8L)));
    CHECK(log_weight(LossKind::logistic, 1e8) == -1e8);
    CHECK(log_weight(LossKind::logistic, -1e8) == 0.0);
    CHECK(log_curvature(LossKind::logistic, 1e8) == -1e8);
    CHECK(log_curvature(LossKind::logistic, -1e8) == -1e8);
    CHECK(loss(LossKind::logistic, -1e8) == 1e8);
    CHECK(weight(LossKind::logistic, -1e8) == 1.0);
    CHECK(weight(LossKind::logistic, 1e8) == 0.0);
}

void the_sum_of_losses_survives_margins_of_any_size() {
    const std::array<double, 3> late{1000.0, 1000.0, 1001.0};
    const double expected = -1000.0 + std::log(2.0 + std::exp(-1.0));
    CHECK(std::abs(log_loss_sum(LossKind::logistic, late) - expected) < 1e-12);
    CHECK(std::abs(log_loss_sum(LossKind::exponential, late) - expected) < 1e-12);
    const std::array<double, 2> apart{-1e8, 1e8};
    CHECK(close(log_loss_sum(LossKind::logistic, apart), std::log(1e8L)));
    CHECK(log_loss_sum(LossKind::exponential, apart) == 1e8);
    const std::array<double, 2> counts{1.0, 0.0};
    const std::array<double, 2> uncounted{-1.0, -1e6};  // e^1e6 is beyond the doubles, and counts nothing
    CHECK(close(log_loss_sum(LossKind::exponential, uncounted, counts), 1.0));
    const std::array<double, 4> zeros{};
    CHECK(close(log_loss_sum(LossKind::logistic, zeros), std::log(4 * std::log(2.0L))));
    CHECK(close(log_loss(LossKind::logistic, Reduction::mean, zeros), std::log(std::log(2.0L))));
}

void the_sum_of_no_losses_is_zero_and_nan_stays_nan() {
    CHECK(log_loss_sum(LossKind::logistic, std::vector<double>{}) == -std::numeric_limits<double>::infinity());
    const std::array<double, 2> broken{1.0, std::numeric_limits<double>::quiet_NaN()};
    CHECK(std::isnan(log_loss_sum(LossKind::logistic, broken)));
}

void unknown_names_are_refused_by_name() {
    try {
        loss_kind("hinge");
        CHECK(false);
    } catch (const InvalidArgument& error) {
        CHECK(error.name() == "loss");
        CHECK(error.found() == "'hinge'");
    }
    CHECK(loss_kind("exponential") == LossKind::exponential);
    CHECK(reduction("mean") == Reduction::mean);
}

}  // namespace

int main() {
    the_logistic_loss_agrees_with_the_plain_formulas();
    the_exponential_loss_is_its_own_weight_and_curvature();
    the_log_forms_hold_at_huge_margins();
    the_sum_of_losses_survives_margins_of_any_size();
    the_sum_of_no_losses_is_zero_and_nan_stays_nan();
    unknown_names_are_refused_by_name();
    return reluflow::tests::failures();
}
