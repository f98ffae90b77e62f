#include "two_layer/turn_shelves.hpp"

#include <algorithm>
#include <limits>

namespace reluflow {

namespace {

/// Initial reserve: twice all boundaries in a small problem; a megabyte, and a few per neuron, in a large one.
constexpr Index kUsualEntries = Index{1} << 16;
constexpr Index kUsualNear = 16;
/// A shelf holds about so many entries, since each takes a look of its own.
constexpr std::size_t kOnShelf = 6;

}  // namespace

TurnShelves::TurnShelves(Index neurons, Index boundaries) : n_boundaries_(boundaries), lists_(neurons) {
    const Index usual = std::min(2 * boundaries * neurons, kUsualEntries + kUsualNear * neurons);
    boundaries_.reserve(usual);
    below_.reserve(usual);
    turns_.reserve(usual);
}

void TurnShelves::make_room() {
    const std::size_t size = used_ + static_cast<std::size_t>(n_boundaries_);
    if (size <= turns_.size()) return;
    boundaries_.resize(size);
    below_.resize(size);
    turns_.resize(size);
}

void TurnShelves::close_list(List& list, std::size_t count, double reach, double finest) noexcept {
    const double shelves = std::min<double>(kShelves, static_cast<double>(count / kOnShelf + 1));
    list.shelves.fill(-1);
    list.reach = reach;
    list.scale = finest > 0.0 ? std::min(shelves / finest, std::numeric_limits<double>::max()) : 0.0;
    for (std::size_t entry = used_; entry < used_ + count; ++entry) put(list, static_cast<int>(entry));
    used_ += count;
}

std::size_t TurnShelves::take(Index neuron, int shelf, double turn, int* entries) noexcept {
    int& top = lists_[neuron].shelves[shelf];
    int entry = top;
    top = -1;
    std::size_t count = 0;
    while (entry >= 0) {
        const int below = below_[entry];
        if (turns_[entry] <= turn) {
            entries[count++] = entry;
        } else {
            below_[entry] = top;
            top = entry;
        }
        entry = below;
    }
    return count;
}

}  // namespace reluflow
