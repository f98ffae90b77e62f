/// The boundaries that neurons may meet in a step, on shelves by the angle by which a neuron has to turn before.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace reluflow {

/// One list for each neuron of a range; one that is made again replaces the one before. An entry is a boundary with
/// its turn, |z| / |w| at the start of the step or where it was last measured. Entries are taken off a shelf and put
/// back with a larger turn, so that a search sees those in its reach and no others. Storage is kept from step to step.
class TurnShelves {
  public:
    static constexpr int kShelves = 32;

    TurnShelves(Index neurons, Index boundaries);

    /// Forgets all lists.
    void clear() noexcept { used_ = 0; }
    /// Makes the list of a neuron: all boundaries with turns up to `reach`. Shelves divide turns up to `finest`; what
    /// lies beyond that is on the last one. fill(boundaries, turns) writes both from there on, with room for all
    /// boundaries, and returns how many there are.
    template <class Fill>
    void make_list(Index neuron, double reach, double finest, const Fill& fill) {
        make_room();
        const std::size_t count = fill(boundaries_.data() + used_, turns_.data() + used_);
        close_list(lists_[neuron], count, reach, finest);
    }

    double reach(Index neuron) const noexcept { return lists_[neuron].reach; }
    /// No turn up to this one is on a later shelf.
    int shelf_of(Index neuron, double turn) const noexcept { return shelf_of(lists_[neuron], turn); }
    /// The first shelf from `from` to `last` that is not empty, or kShelves.
    int first_filled(Index neuron, int from, int last) const noexcept {
        for (; from <= last; ++from)
            if (lists_[neuron].shelves[from] >= 0) return from;
        return kShelves;
    }
    /// Takes the entries off a shelf and writes them from `entries` on; returns how many there are. Those that are
    /// beyond `turn` stay.
    std::size_t take(Index neuron, int shelf, double turn, int* entries) noexcept;
    /// Puts an entry on the shelf of its turn.
    void put(Index neuron, int entry) noexcept { put(lists_[neuron], entry); }

    int boundary(int entry) const noexcept { return boundaries_[entry]; }
    double& turn(int entry) noexcept { return turns_[entry]; }

  private:
    struct List {
        std::array<int, kShelves> shelves{};  // the entry on top, or -1
        double reach = 0.0;
        double scale = 0.0;
    };
    static int shelf_of(const List& list, double turn) noexcept {
        const double at = list.scale * turn;
        return at < kShelves - 1 ? static_cast<int>(at) : kShelves - 1;
    }
    void put(List& list, int entry) noexcept {
        int& top = list.shelves[shelf_of(list, turns_[entry])];
        below_[entry] = top;
        top = entry;
    }

    void make_room();
    void close_list(List& list, std::size_t count, double reach, double finest) noexcept;

    Index n_boundaries_;
    std::vector<List> lists_;
    std::vector<int> boundaries_, below_;
    Numbers turns_;
    std::size_t used_ = 0;
};

}  // namespace reluflow
