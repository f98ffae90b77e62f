/// The classes of samples against their definition: equal columns of signs.
#include "two_layer/sample_classes.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "check.hpp"

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

void classes_have_equal_columns(Index kinds, bool leaks) {
    const auto drawn = signs(kinds);
    std::set<Column> different;
    for (Index i = 0; i < kSamples; ++i) different.insert(column(drawn, i, leaks));
    SampleClasses classes(kSamples, std::ssize(different));
    CHECK(classes.update(drawn, leaks));
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
    SampleClasses fewer(kSamples, std::ssize(different) - 1);
    CHECK(!fewer.update(drawn, leaks));
}

}  // namespace

int main() {
    for (const bool leaks : {false, true})
        for (const Index kinds : {1, 5, 60}) classes_have_equal_columns(kinds, leaks);
    return tests::failures();
}
