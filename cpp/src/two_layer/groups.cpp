#include "two_layer/groups.hpp"

#include <algorithm>
#include <bit>

namespace reluflow {

Groups::Groups(Index neurons)
    : of_(neurons, 0),
      leader_(neurons, 0),
      members_(neurons),
      begin_(neurons + 2, 0),
      table_(std::bit_ceil(static_cast<std::size_t>(2 * neurons)), -1) {}  // at most half full: short probes

bool Groups::update(const Pattern& pattern) {
    if (version_ == pattern.version()) return false;
    version_ = pattern.version();
    count_ = 0;
    std::fill(table_.begin(), table_.end(), -1);
    for (int j = 0; j < static_cast<int>(of_.size()); ++j) of_[j] = find_or_add(pattern, j);
    list_members();
    return true;
}

void Groups::list_members() noexcept {
    std::fill_n(begin_.begin(), count_ + 2, 0);
    for (const int group : of_) ++begin_[group + 2];
    for (Index c = 0; c < count_; ++c) begin_[c + 2] += begin_[c + 1];
    for (int j = 0; j < static_cast<int>(of_.size()); ++j)
        members_[begin_[of_[j] + 1]++] = j;  // begin_ moves to its end
}

int Groups::find_or_add(const Pattern& pattern, int neuron) noexcept {
    const std::size_t mask = table_.size() - 1;
    std::size_t slot = pattern.hash(neuron) & mask;
    while (table_[slot] >= 0) {
        const int group = table_[slot];
        const int leader = leader_[group];
        if (pattern.hash(leader) == pattern.hash(neuron) && pattern.same_row(leader, neuron)) return group;
        slot = (slot + 1) & mask;
    }
    table_[slot] = static_cast<int>(count_);
    leader_[count_] = neuron;
    return static_cast<int>(count_++);
}

}  // namespace reluflow
