#include "two_layer/sample_classes.hpp"

#include <algorithm>

namespace reluflow {

namespace {

/// Signs of a slope.
constexpr std::size_t kSigns = 3;

}  // namespace

SampleClasses::SampleClasses(Index samples, Index most, std::size_t kinds)
    : most_(most),
      kinds_(kinds),
      of_(samples),
      parts_(std::max(kSigns, kinds) * static_cast<std::size_t>(most + 1)),
      members_(samples) {
    begin_.reserve(samples + 1);
    begin_.assign(1, 0);
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
    list_members();
    return true;
}

void SampleClasses::list_members() {
    begin_.assign(static_cast<std::size_t>(count_) + 1, 0);
    for (const int c : of_) ++begin_[c + 1];
    for (Index c = 0; c < count_; ++c) begin_[c + 1] += begin_[c];
    std::copy_n(begin_.begin(), count_, parts_.begin());  // where the next member goes
    for (std::size_t i = 0; i < of_.size(); ++i) members_[parts_[of_[i]]++] = static_cast<int>(i);
}

}  // namespace reluflow
