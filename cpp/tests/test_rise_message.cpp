/// What a run says that ends since its loss rises: a smaller tolerance, or data in better units.
#include <limits>
#include <string>

#include "check.hpp"
#include "run/flow.hpp"

namespace {

using namespace reluflow;

constexpr double kEndless = std::numeric_limits<double>::infinity();

bool says(const std::string& message, const char* part) {
    return message.find(part) != std::string::npos;
}

/// At |θ|² = 2e14 a margin of 4e6 is known to a twentieth of an e-folding.
void margins_that_are_rounding_want_other_units() {
    const std::string message = message_of_rise(4.2e6, 250.0, 2e14, 4e6);
    CHECK(message ==
          "the loss rises along the step at log t = 4200000, its logarithm by 2.5e+02: margins are known to 0.04, the "
          "rounding of their terms; bring the columns of the data to one scale");
}

void all_others_want_a_smaller_tolerance() {
    // Margins as large as their terms, margins known to 1e-8, and samples that are not separated.
    for (const std::string& message : {message_of_rise(1e14, 1.0, 2e14, 1e14), message_of_rise(40.0, 1.0, 1e8, 40.0),
                                       message_of_rise(1e7, 1.0, 2e14, kEndless)}) {
        CHECK(says(message, "try a smaller rtol"));
        CHECK(!says(message, "columns"));
    }
}

}  // namespace

int main() {
    margins_that_are_rounding_want_other_units();
    all_others_want_a_smaller_tolerance();
    return reluflow::tests::failures();
}
