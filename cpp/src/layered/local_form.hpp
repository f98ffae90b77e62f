/// The loss to first order as numbers alone: what places that are zero do, without where they are.
///
/// x_a = n_a·d + Σ_b (W_ab ψ_b(x_b) + G_ab x_b) with b below a, and ½|d|² - v·d - Σ_a (β_a ψ_a(x_a) + γ_a x_a). A place
/// whose sign is known is linear, and can be put into what reads it; what is left falls into parts that do not feel
/// each other.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "layered/local_model.hpp"

namespace reluflow::layered {

/// A component of a direction below this part of what acts, or this part of the direction, is rounding: of the
/// solution, and of the event that made rows depend on each other.
inline constexpr double kActingRounding = 1e-14;
inline constexpr double kDirectionRounding = 1e-11;
/// Directions closer than so many times that are one.
inline constexpr double kSameDirection = 100.0;
/// A singular value of unit normals below this is zero.
inline constexpr double kDependentRow = 1e-8;

/// Takes away from v what it has in the span of an orthonormal basis.
void take_away(const std::vector<Vector>& basis, Vector& v);
/// Adds what a row has beside an orthonormal basis; false if that is nothing.
bool add_direction(const Vector& row, std::vector<Vector>& basis);

/// What slides and is kept at zero beside a minimum in which it could leave: whether it may rest there, as on its
/// inactive side nothing moves it. What rested before has had its choice and stays.
enum class Rest : std::uint8_t { never, may, stays };

struct LocalForm {
    Matrix normals;  ///< one row a place
    Vector velocity;
    Matrix through_h, through_z;  ///< W and G
    Vector beta, gamma, leak;
    std::vector<int> group;  ///< what stays zero together as long as it can; -1: what may go at once
    std::vector<Rest> rest;  ///< of the same places; none: never
    double scale = 0.0;      ///< of what acts, which has its rounding
    double elsewhere = 0.0;  ///< how fast what is no part of it moves
    double hidden = 0.0;     ///< what errors of the forces make of a direction

    LocalForm() = default;
    LocalForm(const LocalModel& model, std::vector<int> groups, std::vector<Rest> rests = {});

    int count() const noexcept { return static_cast<int>(group.size()); }
    /// Puts x_a with the sign `side` into what reads it, and into the loss: nothing else depends on ψ_a any more.
    void put_in(int a, int side);
    /// The same with some places alone.
    LocalForm part(const std::vector<int>& places) const;
    /// The same in coordinates of what the normals span, in `basis`: that is all that matters, and its complement moves
    /// as the velocity does.
    LocalForm in_own_span(std::vector<Vector>& basis) const;
    /// Leaves directions alone that are orthogonal to an orthonormal basis.
    void leave_out(const std::vector<Vector>& basis);
    /// What of a direction is rounding.
    double rounding(const Vector& d) const noexcept;
    bool is_same(const Vector& one, const Vector& other) const noexcept;
    /// Joins places that are always zero together and move alike, x_b = t x_a with t > 0, as on samples that a layer
    /// does not see: what pulls b pulls a, and what reads b reads a.
    struct Joined {
        int with = -1;  ///< a; -1 for a place that is joined to none
        double times = 1.0;
    };
    std::vector<Joined> join_equal(const std::vector<char>& left_out);
    /// Places that feel each other, of those that are not `left_out`, from below upwards: their normals are not
    /// orthogonal, one reads the other, or they stay together.
    std::vector<std::vector<int>> blocks(const std::vector<char>& left_out) const;
};

/// The signs that places have in all minima, 0 where that is not known: bounds of all multipliers, from above
/// downwards, give bounds of all rates, from below upwards; a sign fixes a slope, and the bounds are found again.
/// `open`: the places that may be looked at; nothing else feels them.
std::vector<int> certain_signs(const LocalForm& form, const std::vector<int>& open);

}  // namespace reluflow::layered
