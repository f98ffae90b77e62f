/// Samples on which every group has the same slope: their sum drives the groups as one sample does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace reluflow {

/// Partition of the samples by the signs that the groups have on them, found by splitting with some groups after the
/// others. Neurons that have come together leave few classes: 5 to 40 of 500 samples, where each had its own at first.
class SampleClasses {
  public:
    /// `kinds`: how many different codes there are.
    SampleClasses(Index samples, Index most, std::size_t kinds);

    /// Takes the signs of the slopes, (groups, samples). False if there are more classes than `most`.
    bool update(std::span<const std::int8_t> signs);
    /// The same where all signs but the positive ones are alike: which of a few groups have those, as bits, (chunks of
    /// groups, samples).
    bool update(std::span<const std::uint8_t> codes);

    /// Until select_all(), or the next update, classes have these samples alone, in order; some may have none.
    void select(std::span<const int> samples);
    void select_all() noexcept { now_ = &all_; }

    Index count() const noexcept { return std::ssize(all_.begin) - 1; }
    /// Its samples, in order.
    std::span<const int> members(Index c) const noexcept {
        return {now_->members.data() + now_->begin[c], static_cast<std::size_t>(now_->begin[c + 1] - now_->begin[c])};
    }
    /// The class of the sample at a place, with all samples in the order of their classes, and those of its members
    /// that are at the places from `begin` on, before `end`.
    Index at(Index place) const noexcept {
        const auto& begin = now_->begin;
        return std::upper_bound(begin.begin(), begin.end(), static_cast<int>(place)) - begin.begin() - 1;
    }
    std::span<const int> members(Index c, Index begin, Index end) const noexcept {
        return {now_->members.data() + begin,
                static_cast<std::size_t>(std::min<Index>(end, now_->begin[c + 1]) - begin)};
    }
    /// A sample that speaks for it.
    int leader(Index c) const noexcept { return all_.members[all_.begin[c]]; }

  private:
    template <class Row, class Kind>
    bool split_by_rows(std::span<const Row> rows, std::size_t kinds, const Kind& kind_of);
    /// Samples of one class after the other; class c begins at begin[c].
    struct Members {
        std::vector<int> members, begin;
    };
    template <class Samples>
    void list(const Samples& samples, Members& into);

    Index most_;
    std::size_t kinds_;
    Index count_ = 0;
    std::vector<int> of_;     // of the samples
    std::vector<int> parts_;  // of each class, by kind, while it is split; -1: none
    Members all_, selected_;
    const Members* now_ = &all_;
};

}  // namespace reluflow
