/// The directions in which a flow can go on where the signs of many places depend on each other, as in a sample that a
/// whole layer does not see: what reads it is zero, layer above layer.
///
/// Signs are tried one after the other, the one that is most open first. Bounds of all rates say what follows from
/// them, or that no direction has them (SignBounds). Boundaries that attract and feed nothing that is open need no
/// sign: with all others known, the best direction is that of one convex problem. What is found is a minimum if it is
/// best for all places that are zero in it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interrupt.hpp"
#include "layered/cell_search.hpp"
#include "layered/local_form.hpp"
#include "layered/sign_bounds.hpp"
#include "numeric/box_least_squares.hpp"

namespace reluflow::layered {

class SignSearch {
  public:
    /// Signs that are tried: some seconds, and some milliseconds.
    static constexpr int kMostLooks = 100000;
    static constexpr int kFewLooks = 300;
    /// `form` has to outlive this, and none of its places is kept. Throws Abandoned out of find() if `interrupt`, which
    /// may be null, wants it.
    SignSearch(const LocalForm& form, Interrupt* interrupt, int most_looks = kMostLooks);

    /// All local minima; none if the search did not end: gap() says why.
    std::vector<CellMinimum> find();
    const char* gap() const noexcept { return gap_; }
    /// True if all places stay at zero, where terms of `size` add up to no velocity. False, too, if it did not end.
    bool stays(double size);

  private:
    using Options = std::vector<std::uint8_t>;

    void search(Options options);
    std::vector<char> feeds_open(const Options& options) const;
    int most_open(const Options& options) const;
    void settle(Options options);
    Vector best(const LocalForm& form, const Options& options, double& size);
    bool is_minimum(const LocalForm& form, const std::vector<int>& rests, const Vector& d, double size);
    CellMinimum describe(const LocalForm& form, const Options& options, const Vector& d) const;

    Interrupt* interrupt_;
    Index full_;                 // coordinates of the form as given
    std::vector<Vector> basis_;  // of what the normals span
    LocalForm form_;             // in these coordinates
    std::vector<int> places_;
    SignBounds bounds_;
    BoxLeastSquares problem_;
    std::vector<CellMinimum> found_;
    int looks_ = 0;
    int most_looks_;
    double least_ = -1.0;  // if not negative, the search ends with the first direction that is longer
    const char* gap_ = nullptr;
};

}  // namespace reluflow::layered
