/// Which sliding boundaries have no bounds of their own.
///
/// Where what is zero moves in coordinates x, one a boundary, the loss to first order is a sum over these coordinates,
/// and each multiplier has its own two bounds. That ends where a place that is zero has no coordinate of its own and
/// depends on more than one: its normal is spanned by those of others, or it reads several places that are zero.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interrupt.hpp"
#include "layered/activity.hpp"
#include "layered/local_model.hpp"

namespace reluflow::layered {

/// For each boundary that slides the number of those with which it is held, from 1, or 0 if it has bounds of its own.
/// What dependence decides, the boundaries of one linear function, has 0.
std::vector<int> joint_boundaries(const Activity& activity, const LocalModel& model);

/// The same at θ; empty if none is held jointly.
std::vector<int> joint_boundaries(const Activity& activity, const Matrix& X, const Vector& theta);

/// A number for each place of the model that slides, the same for what is held jointly and for boundaries that depend
/// on each other, as none of these can leave alone; -1 for the others and for what slides on a boundary of `leaving`
/// or with one.
std::vector<int> groups_of(const Activity& activity, const LocalModel& model, const std::vector<int>& joint,
                           const std::vector<Place>& leaving);

/// How it is asked whether what is held jointly stays so: whether it does while all else stays, or also could leave,
/// but nothing moves it on one side of its boundaries, or whether it moves in none of the ways to go on. All say the
/// same but where normals depend on each other by as much as they are known to.
enum class Held : std::uint8_t { by_bounds, at_rest, by_ways };

/// True if what is held jointly stays so. Throws Abandoned if `interrupt` wants it.
bool holds_jointly(const Activity& activity, const LocalModel& model, const std::vector<int>& joint,
                   Interrupt* interrupt, Held how = Held::by_bounds);

}  // namespace reluflow::layered
