#include "two_layer/sample_classes.hpp"

#include <algorithm>
#include <ranges>

namespace reluflow {

namespace {

/// Signs of a slope.
constexpr std::size_t kSigns = 3;

}  // namespace

SampleClasses::SampleClasses(Index samples, Index most, std::size_t kinds)
    : most_(most), kinds_(kinds), of_(samples), parts_(std::max(kSigns, kinds) * static_cast<std::size_t>(most + 1)) {
    for (Members* members : {&all_, &selected_}) {
        members->members.reserve(samples);
        members->begin.reserve(samples + 1);
        members->begin.assign(1, 0);
    }
}

bool SampleClasses::update(std::span<const std::int8_t> signs) {
    return split_by_rows(signs, kSigns, [](std::int8_t sign) { return sign + 1; });
}

bool SampleClasses::update(std::span<const std::uint8_t> codes) {
    return split_by_rows(codes, kinds_, [](std::uint8_t code) { return code; });
}

/// Splits the classes by one row after the other, each with one of so many kinds for every sample.
template <class Row, class Kind>
bool SampleClasses::split_by_rows(std::span<const Row> rows, std::size_t kinds, const Kind& kind_of) {
    std::fill(of_.begin(), of_.end(), 0);
    count_ = 1;
    for (std::size_t row = 0; row < rows.size(); row += of_.size()) {
        std::fill_n(parts_.begin(), kinds * static_cast<std::size_t>(count_), -1);
        count_ = 0;
        for (std::size_t i = 0; i < of_.size(); ++i) {
            int& part =
                parts_[kinds * static_cast<std::size_t>(of_[i]) + static_cast<std::size_t>(kind_of(rows[row + i]))];
            if (part < 0) part = static_cast<int>(count_++);
            of_[i] = part;
        }
        if (count_ > most_) return false;
    }
    list(std::views::iota(0, static_cast<int>(of_.size())), all_);
    now_ = &all_;
    return true;
}

void SampleClasses::select(std::span<const int> samples) {
    list(samples, selected_);
    now_ = &selected_;
}

template <class Samples>
void SampleClasses::list(const Samples& samples, Members& into) {
    into.members.resize(std::ranges::size(samples));
    into.begin.assign(static_cast<std::size_t>(count_) + 1, 0);
    for (const int i : samples) ++into.begin[of_[i] + 1];
    for (Index c = 0; c < count_; ++c) into.begin[c + 1] += into.begin[c];
    std::copy_n(into.begin.begin(), count_, parts_.begin());  // where the next member goes
    for (const int i : samples) into.members[parts_[of_[i]]++] = i;
}

}  // namespace reluflow
