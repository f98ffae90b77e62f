/// Whether nothing moves: proofs for both sides of a place where one for all directions fails.
#pragma once

#include <vector>

#include "base/interrupt.hpp"
#include "layered/local_form.hpp"

namespace reluflow::layered {

/// True if the best direction of all is zero in what the normals span, shown by pulls of all places between bounds.
/// `kept`: one a place, whether only directions count in which it is at zero. False says nothing.
bool proves_rest(const LocalForm& form, const std::vector<char>& kept);

class RestSearch {
  public:
    enum class Found { rests, moves, nothing };

    /// `form` and `kept` are those of proves_rest(). `sides`: of each place, where only directions count that have
    /// them, or 0. `most`: proofs that are tried. Throws Abandoned out of search() if `interrupt`, which may be null,
    /// wants it.
    RestSearch(const LocalForm& form, const std::vector<char>& kept, const std::vector<int>& sides, int most,
               Interrupt* interrupt);

    Found search();
    /// A direction in which the loss falls, if something moves.
    const Vector& direction() const noexcept { return direction_; }
    /// How many proofs were tried.
    int looks() const noexcept { return looks_; }

  private:
    Found look();

    LocalForm form_;
    std::vector<char> kept_;
    std::vector<int> sides_;
    int most_;
    Interrupt* interrupt_;
    int looks_ = 0;
    Vector direction_;
};

}  // namespace reluflow::layered
