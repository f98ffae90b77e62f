/// Whether a neuron stays on its boundaries: as no direction leads out, or whatever sides the repelling ones have.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/tolerances.hpp"
#include "geometry/lines.hpp"
#include "hybrid/transition.hpp"

namespace reluflow {

namespace {

/// A pull of so many roundings is one that the search does not take for none.
constexpr double kSurely = 1e3;

/// How fast the speed grows on the way along a direction, where boundaries along it do not matter.
double pull_along(const Corner& corner, const Direction& way) {
    double pull = padded(corner.rest.data(), corner.rank).dot(way);
    for (int w = 0; w < corner.size(); ++w) {
        const double across = padded(corner.normal(w), corner.rank).dot(way);
        pull += (across > 0.0 ? corner.above[w] : corner.below[w]) * across;
    }
    return corner.sign * pull;
}

}  // namespace

/// Any velocity v that is not zero pulls along itself, by |v|². The pull is linear in the direction between the planes
/// of the boundaries, so it is nowhere positive unless it is on one of the lines in which these meet. Where it is not,
/// no direction is one to which the gradients of all cells point, so zero is in their hull.
bool TransitionSolver::has_no_way_out() {
    const Corner& corner = *corner_;
    has_way_out_ = false;
    if (repelling_.size() <= kMostStood || corner.rank > kMostLineDimensions) return false;
    double acting = corner.weight;
    for (int w = 0; w < corner.size(); ++w) acting += std::abs(corner.below[w]) + std::abs(corner.above[w]);
    const double rounding = kCornerUlps * std::numeric_limits<double>::epsilon() * acting;
    double fastest = 0.0;
    any_line(corner.normals.data(), corner.size(), corner.rank, [&](const Direction& line) {
        fastest = std::max({fastest, pull_along(corner, line), pull_along(corner, -line)});
        return fastest > kSurely * rounding;
    });
    has_way_out_ = fastest > kSurely * rounding;
    return fastest <= rounding;
}

/// True when the boundaries with side 0 stay at zero whatever sides the repelling ones among them have.
bool TransitionSolver::is_stable() {
    const std::vector<Choice> chosen = choice_;
    for (const int w : repelling_)
        if (sides_[w] == 0) choice_[w] = Choice::open;
    const bool stable = stays_whatever();
    choice_ = chosen;
    return stable;
}

bool TransitionSolver::stays_whatever() {
    if (++nodes_ > kMostNodes || !fit()) return false;
    for (int w = 0; w < corner_->size(); ++w)
        if (sides_[w] == 0 && std::abs(box_.rate(w)) > box_.tolerance()) return false;
    double reach = 0.0;
    if (absorbs(reach) && widest_open() < 0) return true;
    int next = -1;
    for (const int w : repelling_)
        if (choice_[w] == Choice::open && (next < 0 || corner_->kink(w) > corner_->kink(next))) next = w;
    if (next < 0) return true;
    for (const Choice side : {Choice::above, Choice::below}) {
        choice_[next] = side;
        if (!stays_whatever()) return false;
    }
    choice_[next] = Choice::open;
    return true;
}

}  // namespace reluflow
