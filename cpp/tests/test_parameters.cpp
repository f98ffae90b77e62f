/// A network has the same bits wherever in memory its weights came from.
#include <algorithm>
#include <vector>

#include "base/generator.hpp"
#include "check.hpp"
#include "two_layer/parameters.hpp"

namespace {

using namespace reluflow;

void the_address_of_the_weights_changes_no_bit(Index neurons, Index dimension) {
    constexpr Index kOffsets = 8;  // in doubles: every position in the widest register
    Generator random(7);
    const auto draw = [&] { return static_cast<double>(random.next() >> 11U) / 9007199254740992.0 - 0.5; };
    Matrix X(dimension + 1, dimension);
    for (double& x : X.reshaped()) x = draw();
    const Dataset data(X, Vector::Ones(dimension + 1));
    const Index size = neurons * dimension;
    std::vector<double> weights(static_cast<std::size_t>(size));
    for (double& w : weights) w = draw();
    const Vector a = Vector::Constant(neurons, 0.3);
    std::vector<double> memory(static_cast<std::size_t>(size + kOffsets));
    std::vector<Parameters> states;
    for (Index offset = 0; offset < kOffsets; ++offset) {
        double* begin = memory.data() + offset;
        std::copy(weights.begin(), weights.end(), begin);
        states.emplace_back(data, Eigen::Map<const Matrix>(begin, neurons, dimension), a, 0.0);
    }
    for (const Parameters& state : states) {
        CHECK(state.w == states[0].w);
        for (Index j = 0; j < neurons; ++j) CHECK(state.invariant(j) == states[0].invariant(j));
    }
}

}  // namespace

int main() {
    for (const Index dimension : {2, 3, 5, 8, 17, 40}) the_address_of_the_weights_changes_no_bit(30, dimension);
    return reluflow::tests::failures();
}
