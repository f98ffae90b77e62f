/// The directions in which a flow can go on from a point where pre-activations are zero, as products of decisions that
/// do not feel each other.
///
/// Signs that are the same in all minima are known from bounds. With these places put into what reads them, what is
/// left falls into blocks, each with minima of its own (CellSearch); a minimum of all is one of each block.
#pragma once

#include <cstddef>
#include <vector>

#include "layered/cell_search.hpp"
#include "layered/local_form.hpp"

namespace reluflow::layered {

/// One minimum: how the places of the model move.
struct Minimum {
    std::vector<int> signs;     ///< of x_a
    std::vector<double> rates;  ///< x_a
};

class LocalMinima {
  public:
    /// `group`: a number for places that stay zero together as long as they can, one a place; -1 for those that may go
    /// at once.
    /// `rest`: which of them may rest where they could leave, one a place; none if empty.
    /// Searches throw Abandoned if `interrupt`, which may be null, wants it.
    LocalMinima(const LocalModel& model, std::vector<int> group, Interrupt* interrupt, std::vector<Rest> rest = {});

    /// All local minima in which as many groups as can stay; none if the search did not end: gap() says why. Of more
    /// than kMostWays those are listed that any policy takes, each with every other way of one block.
    std::vector<Minimum> find();
    const char* gap() const noexcept { return gap_; }
    /// False if there are too many to look at all: then those are listed that were found, at least one.
    bool lists_all() const noexcept { return lists_all_; }
    /// True if no group from number `first` on moves, each looked at while all others stay, or if `may_rest` nothing
    /// moves it on one side of its boundaries. False, too, if the search did not end.
    bool stays(int first, bool may_rest = false) const;

    static constexpr std::size_t kMostWays = 64;

  private:
    struct Block {
        std::vector<int> places;
        std::vector<int> counts;  // of places that each stands for
        std::vector<CellMinimum> ways;
        bool is_too_large = false;  // to find all its ways
    };
    bool all_are_proved_to_stay(int first) const;
    std::vector<char> kept_beside(int group) const;
    bool stays_beside(int group) const;
    void put_in_what_is_certain();
    void join_what_is_equal();
    bool search();
    bool search_each(const std::vector<double>& elsewhere);
    bool search_all(Block& block, const LocalForm& form);
    bool search_some(Block& block, const LocalForm& form);
    Vector velocity_of(const std::vector<std::size_t>& choice) const;
    double speed_beside(const std::vector<std::size_t>& choice, std::size_t block) const;
    std::vector<std::vector<std::size_t>> choices() const;
    Minimum combine(const std::vector<std::size_t>& choice) const;
    void stop_what_depends(const Vector& d, Minimum& all) const;

    LocalForm form_, rest_;  // all, and with what is certain put in
    Interrupt* interrupt_;
    std::vector<int> signs_;
    std::vector<char> is_certain_;
    std::vector<LocalForm::Joined> joined_;
    std::vector<Block> blocks_;
    const char* gap_ = nullptr;
    bool lists_all_ = true;
};

}  // namespace reluflow::layered
