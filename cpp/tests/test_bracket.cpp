/// Search inside a bracket: the change is located to the last double, and Newton's method never leaves the bracket.
#include <cmath>
#include <limits>
#include <utility>

#include "check.hpp"
#include "numeric/bracket.hpp"

namespace {

using namespace reluflow;

void halving_ends_between_neighbouring_doubles() {
    for (const double change : {0.3, 1e-9, 1.0 - 1e-12, std::nextafter(0.5, 1.0)}) {
        const Bracket found = halved({0.0, 1.0}, [&](double u) { return u < change; }, 200);
        CHECK(found.high == change);
        CHECK(found.low == std::nextafter(change, 0.0));
    }
}

void halving_stops_after_so_many_times() {
    const Bracket found = halved({0.0, 1.0}, [](double u) { return u < 0.3; }, 2);
    CHECK(found.low == 0.25);
    CHECK(found.high == 0.5);
}

/// Counts how often the value is asked for, and that it is asked for inside the bracket alone.
struct Asked {
    int count = 0;
    bool inside = true;
};

template <class Value, class Rate>
double root(double begin, const Value& value, const Rate& rate, Asked& asked) {
    const auto both = [&](double u) {
        ++asked.count;
        asked.inside = asked.inside && u >= 0.0 && u <= 1.0;
        return std::pair{value(u), rate(u)};
    };
    return newton_inside({0.0, 1.0}, begin, both, [](double u) { return std::numeric_limits<double>::epsilon() * u; });
}

void a_root_is_found_where_newton_alone_diverges() {
    // Newton's method for atan from far away jumps farther each time; a flat start has no slope at all.
    for (const double zero : {0.013, 0.5, 0.977}) {
        Asked asked;
        const auto arc = [&](double u) { return std::atan(200.0 * (u - zero)); };
        const auto slope = [&](double u) { return 200.0 / (1.0 + 4e4 * (u - zero) * (u - zero)); };
        CHECK(std::abs(root(1.0, arc, slope, asked) - zero) <= 4e-16);
        CHECK(asked.inside);
        const auto flat = [](double /*u*/) { return 0.0; };
        CHECK(std::abs(root(0.25, arc, flat, asked) - zero) <= 4e-16);
        CHECK(asked.inside);
    }
}

void roots_at_the_ends_are_found() {
    for (const double zero : {0.0, 1.0}) {
        Asked asked;
        const auto line = [&](double u) { return u - zero; };
        CHECK(std::abs(root(0.5, line, [](double /*u*/) { return 1.0; }, asked) - zero) <= 1e-15);
        CHECK(asked.inside);
    }
}

void a_value_of_zero_and_a_step_of_nothing_end_the_search() {
    Asked exact;
    CHECK(root(0.375, [](double u) { return u - 0.375; }, [](double /*u*/) { return 1.0; }, exact) == 0.375);
    CHECK(exact.count == 1);
    Asked flat;  // where the slope is zero, too, no step says so
    const auto cube = [](double u) { return (u - 0.375) * (u - 0.375) * (u - 0.375); };
    const auto slope = [](double u) { return 3.0 * (u - 0.375) * (u - 0.375); };
    CHECK(root(0.375, cube, slope, flat) == 0.375);
    CHECK(flat.count == 1);
    Asked tiny;  // rounding keeps the value off zero at every double: the step from the nearest one leads back to it
    const auto off = [](double u) { return u - 0.375 + 1e-18 * (u >= 0.375 ? 1.0 : -1.0); };
    CHECK(std::abs(root(0.9, off, [](double /*u*/) { return 1.0; }, tiny) - 0.375) <= 1e-16);
    CHECK(tiny.count <= 4);
}

}  // namespace

int main() {
    halving_ends_between_neighbouring_doubles();
    halving_stops_after_so_many_times();
    a_root_is_found_where_newton_alone_diverges();
    roots_at_the_ends_are_found();
    a_value_of_zero_and_a_step_of_nothing_end_the_search();
    return reluflow::tests::failures();
}
