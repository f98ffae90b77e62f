/// A proof that nothing moves, without a look at cells: pulls that balance the velocity.
#pragma once

#include <vector>

#include "layered/local_form.hpp"
#include "numeric/box_least_squares.hpp"

namespace reluflow::layered {

/// Of the directions in which what is kept is at zero, and other places are on given sides.
class RestProof {
  public:
    /// One of each a place: whether it is kept, and its side or 0. All have to outlive this.
    RestProof(const LocalForm& form, const std::vector<char>& kept, const std::vector<int>& sides);

    /// True if the best direction of all is zero in what the normals span, shown by pulls of all places between bounds.
    /// False says nothing.
    bool succeeds();
    /// Afterwards, if it is false: true if the loss falls in the direction that is left, left().
    bool moves() const;
    const Vector& left() const noexcept { return left_; }
    /// The place without a side whose bounds are the farthest from what it does in that direction, or are missed most;
    /// -1 if there is none.
    int loosest() const;

  private:
    struct Slopes {
        double up, down;
    };
    double passed(int a, int b, bool up) const;
    void find_what_moves();
    void find_what_stands_in();
    bool stand_in(int a);
    bool give_pull(int a);
    int add_unknown(double low, double high);
    bool is_known(int a) const;
    int side_of(int a) const;
    bool choose_slope(int a);
    void send(int a);
    Slopes hinge(int a, int b) const;
    void send_hinges(int a);
    bool balances();
    double move(const Vector& d, Vector& x, bool& is_kept) const;

    const LocalForm& form_;
    const std::vector<char>& kept_;
    const std::vector<int>& sides_;
    Matrix through_h_, through_z_;  // with others in the place of normals
    std::vector<char> reads_alone_;
    std::vector<int> basis_;  // places with normals of their own
    std::vector<Vector> units_;
    int constant_;  // the column of what does not depend on unknowns
    Index rank_;
    // B, S, π, what of B is spread over what a place reads, and rows that have to be zero; one column an unknown.
    Matrix above_, skip_, pull_, spread_, bounds_;
    Vector high_, low_;
    Vector sizes_;
    std::vector<std::vector<int>> reads_;
    double negligible_ = 0.0;
    int count_ = 0;
    std::vector<int> bounded_;         // the places that the rows bound
    int unbounded_ = -1;               // the place for which there is no pull
    Vector unknowns_, left_, missed_;  // missed_: by bounds
    BoxLeastSquares problem_;
};

}  // namespace reluflow::layered
