/// The classes of samples against their definition: equal columns of signs.
#include "two_layer/sample_classes.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "check.hpp"
#include "two_layer/coupling_sums.hpp"

namespace {

using namespace reluflow;
using Column = std::vector<std::int8_t>;

constexpr Index kSamples = 200;
constexpr Index kGroups = 7;

/// Groups with one of a few signs on each sample, which depend on the sample by its number alone.
std::vector<std::int8_t> signs(Index kinds) {
    std::vector<std::int8_t> made(kGroups * kSamples);
    for (Index c = 0; c < kGroups; ++c)
        for (Index i = 0; i < kSamples; ++i)
            made[c * kSamples + i] = static_cast<std::int8_t>(((i * i % kinds) * (c + 3) / 2) % 3 - 1);
    return made;
}

Column column(const std::vector<std::int8_t>& signs, Index sample, bool leaks) {
    Column made(kGroups);
    for (Index c = 0; c < kGroups; ++c) made[c] = std::max<std::int8_t>(signs[c * kSamples + sample], leaks ? -1 : 0);
    return made;
}

/// Of each sample the positive signs as bits, (chunks, samples).
std::vector<std::uint8_t> codes(const std::vector<std::int8_t>& signs) {
    std::vector<std::uint8_t> made(chunks_of(kGroups) * kSamples, 0);
    for (Index c = 0; c < kGroups; ++c)
        for (Index i = 0; i < kSamples; ++i)
            if (signs[c * kSamples + i] > 0)
                made[c / kChunk * kSamples + i] |= static_cast<std::uint8_t>(1U << c % kChunk);
    return made;
}

bool update(SampleClasses& classes, const std::vector<std::int8_t>& signs, bool leaks) {
    return leaks ? classes.update(signs) : classes.update(codes(signs));
}

void classes_have_equal_columns(Index kinds, bool leaks) {
    const auto drawn = signs(kinds);
    std::set<Column> different;
    for (Index i = 0; i < kSamples; ++i) different.insert(column(drawn, i, leaks));
    SampleClasses classes(kSamples, std::ssize(different), kSubsets);
    CHECK(update(classes, drawn, leaks));
    CHECK(classes.count() == std::ssize(different));
    std::vector<int> seen(kSamples, 0);
    Index place = 0;
    for (Index k = 0; k < classes.count(); ++k) {
        CHECK(std::is_sorted(classes.members(k).begin(), classes.members(k).end()));
        for (const int i : classes.members(k)) {
            ++seen[i];
            CHECK(column(drawn, i, leaks) == column(drawn, classes.leader(k), leaks));
            CHECK(classes.at(place) == k);
            const auto rest = classes.members(k, place, kSamples);
            CHECK(rest.front() == i && &rest.back() == &classes.members(k).back());
            CHECK(classes.members(k, place, place + 1).size() == 1);
            ++place;
        }
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
    SampleClasses fewer(kSamples, std::ssize(different) - 1, kSubsets);
    CHECK(!update(fewer, drawn, leaks));
}

}  // namespace

int main() {
    for (const bool leaks : {false, true})
        for (const Index kinds : {1, 5, 60}) classes_have_equal_columns(kinds, leaks);
    return tests::failures();
}
