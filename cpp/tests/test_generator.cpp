/// The generator against its published numbers.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/generator.hpp"
#include "check.hpp"

namespace {

using namespace reluflow;

void the_stream_of_a_seed_is_splitmix64() {
    // The first numbers of seed 1234567 in the reference code of SplitMix64 by S. Vigna.
    const std::array<std::uint64_t, 5> published{6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                                 4593380528125082431U, 16408922859458223821U};
    Generator generator(1234567);
    for (const std::uint64_t number : published) CHECK(generator.next() == number);
}

void bounded_numbers_fill_their_range_evenly() {
    constexpr int n_draws = 60000;
    std::array<int, 6> counts{};
    Generator generator(0);
    for (int draw = 0; draw < n_draws; ++draw) ++counts.at(static_cast<std::size_t>(generator.below(6)));
    // Standard deviation of a count: sqrt(60000 * 5/36) = 91. Six of them bound every fair die.
    for (const int count : counts) CHECK(std::abs(count - n_draws / 6) < 550);
}

void a_shuffle_keeps_every_value_and_moves_some() {
    std::vector<Index> values(100);
    std::iota(values.begin(), values.end(), Index{0});
    const std::vector<Index> sorted = values;
    Generator generator(1);
    shuffle(values, generator);
    CHECK(values != sorted);
    CHECK(std::is_permutation(values.begin(), values.end(), sorted.begin()));
}

}  // namespace

int main() {
    the_stream_of_a_seed_is_splitmix64();
    bounded_numbers_fill_their_range_evenly();
    a_shuffle_keeps_every_value_and_moves_some();
    return reluflow::tests::failures();
}
