/// Whether a neuron stays on its boundaries: as no direction leads out, or whatever sides the repelling ones have.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/tolerances.hpp"
#include "geometry/line_search.hpp"
#include "hybrid/transition.hpp"

namespace reluflow {

namespace {

/// A pull of so many roundings is one that the search does not take for none.
constexpr double kSurely = 1e3;
/// Boundaries from whose normals the search goes uphill where lines are too many, both ways.
constexpr int kMostStarts = 32;

}  // namespace

/// Any velocity v that is not zero pulls along itself, by |v|². The pull is nowhere positive unless it is on one of the
/// lines in which boundaries meet (LineSearch). Where it is not, no direction is one to which the gradients of all
/// cells point, so zero is in their hull.
bool TransitionSolver::has_no_way_out() {
    const Corner& corner = *corner_;
    has_way_out_ = false;
    if (repelling_.size() <= kMostStood) return false;
    double acting = corner.weight;
    for (int w = 0; w < corner.size(); ++w) acting += std::abs(corner.below[w]) + std::abs(corner.above[w]);
    const double rounding = kCornerUlps * std::numeric_limits<double>::epsilon() * acting;
    Numbers rest(corner.rest);
    for (double& number : rest) number *= corner.sign;
    lines_.resize(corner.size(), corner.rank);
    lines_.set_rest(rest.data());
    for (int w = 0; w < corner.size(); ++w) {
        lines_.set_boundary(w, corner.normal(w), corner.repels(w));
        lines_.set_pulls(w, corner.sign * corner.below[w], corner.sign * corner.above[w]);
    }
    const bool all = look_for_way_out(kSurely * rounding);
    return all && !has_way_out_ && lines_.largest() <= rounding;
}

/// Looks for a direction with a pull of at least so much. True if it has looked at all lines.
bool TransitionSolver::look_for_way_out(double surely) {
    const Corner& corner = *corner_;
    const auto take = [&](const double* way) {
        way_out_.assign(way, way + corner.rank);
        return true;
    };
    if (lines_.can_look_at_all()) {
        has_way_out_ = lines_.look_at_all(surely, take);
        return true;
    }
    for (int w = 0; w < corner.size() && !has_way_out_; w += 1 + corner.size() / kMostStarts)
        for (const double side : {1.0, -1.0}) {
            Numbers way(corner.normal(w), corner.normal(w) + corner.rank);
            for (double& number : way) number *= side;
            has_way_out_ = has_way_out_ || lines_.climb_from(way.data(), surely, take);
        }
    return false;
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
