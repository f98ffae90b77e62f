#include "two_layer/sample_classes.hpp"

#include <algorithm>

namespace reluflow {

namespace {

/// Signs of a slope.
constexpr std::size_t kSigns = 3;

}  // namespace

SampleClasses::SampleClasses(Index samples, Index most)
    : most_(most), of_(samples), parts_(kSigns * static_cast<std::size_t>(samples)), members_(samples) {
    begin_.reserve(samples + 1);
    begin_.assign(1, 0);
}

bool SampleClasses::update(std::span<const std::int8_t> signs, bool leaks) {
    std::fill(of_.begin(), of_.end(), 0);
    count_ = 1;
    for (std::size_t row = 0; row < signs.size(); row += of_.size())
        if (!split(signs.data() + row, leaks)) return false;
    list_members();
    return true;
}

/// Splits the classes by the signs of one more group.
bool SampleClasses::split(const std::int8_t* signs, bool leaks) {
    std::fill_n(parts_.begin(), kSigns * static_cast<std::size_t>(count_), -1);
    count_ = 0;
    const int lowest = leaks ? -1 : 0;
    for (std::size_t i = 0; i < of_.size(); ++i) {
        int& part = parts_[kSigns * static_cast<std::size_t>(of_[i]) +
                           static_cast<std::size_t>(std::max<int>(signs[i], lowest) + 1)];
        if (part < 0) part = static_cast<int>(count_++);
        of_[i] = part;
    }
    return count_ <= most_;
}

void SampleClasses::list_members() {
    begin_.assign(static_cast<std::size_t>(count_) + 1, 0);
    for (const int c : of_) ++begin_[c + 1];
    for (Index c = 0; c < count_; ++c) begin_[c + 1] += begin_[c];
    std::copy_n(begin_.begin(), count_, parts_.begin());  // where the next member goes
    for (std::size_t i = 0; i < of_.size(); ++i) members_[parts_[of_[i]]++] = static_cast<int>(i);
}

}  // namespace reluflow
