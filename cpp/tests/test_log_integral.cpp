/// Integrals of e^f where only the end counts: closed forms, from flat exponents to ones that grow by 1e10.
#include <cmath>

#include "check.hpp"
#include "numeric/log_integral.hpp"

namespace {

using namespace reluflow;

double log_of(const LogIntegral& integral) {
    return std::log(integral.sum) + integral.log_unit;
}

void straight_exponents_have_their_closed_form() {
    for (const double rate : {1e-6, 0.3, 5.0, 80.0, 1e4, 1e10})
        for (const double u : {1.0, 0.37, 1e-3}) {
            const double x = rate * u;
            const double wanted = x + std::log(-std::expm1(-x)) - std::log(rate);
            const double found = log_of(log_integral([&](double v) { return rate * v; }, u));
            CHECK(std::abs(found - wanted) <= 1e-12 * std::max(1.0, std::abs(wanted)));
        }
}

/// f = a log(1 + b v): the integral is a power.
void bent_exponents_have_their_closed_form() {
    for (const double a : {0.5, 40.0, 3e3})
        for (const double b : {0.1, 2.0, 30.0}) {
            const double wanted =
                (a + 1.0) * std::log1p(b) + std::log(-std::expm1(-(a + 1.0) * std::log1p(b))) - std::log(b * (a + 1.0));
            const double found = log_of(log_integral([&](double v) { return a * std::log1p(b * v); }, 1.0));
            CHECK(std::abs(found - wanted) <= 1e-9 * std::max(1.0, std::abs(wanted)));
        }
}

void beyond_its_maximum_an_exponent_does_not_count() {
    const auto f = [](double v) { return v < 0.5 ? 1e3 * v : 1e3 * (1.0 - v); };
    const double wanted = 500.0 - std::log(1e3);
    CHECK(std::abs(log_of(log_integral(f, 1.0)) - wanted) < 0.8);
}

}  // namespace

int main() {
    straight_exponents_have_their_closed_form();
    bent_exponents_have_their_closed_form();
    beyond_its_maximum_an_exponent_does_not_count();
    return reluflow::tests::failures();
}
