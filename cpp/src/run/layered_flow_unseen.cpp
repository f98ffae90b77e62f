/// Samples that move a layered network without being seen: their weights are below the rounding of those that cancel.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/tolerances.hpp"
#include "numeric/decompositions.hpp"
#include "run/layered_flow.hpp"

namespace reluflow::layered {
namespace {

/// A few tens of roundings of a sum of gradients, as a part of its terms.
constexpr double kRateRounding = 1e-14;
/// By so much, relative to itself, a unit may move unseen in the time that is left: so many tolerances, or so much.
constexpr double kMissedPart = 10.0;
constexpr double kLeastMissed = 1e-9;

}  // namespace

// Of a network at rest: the heaviest sample whose pull is below the rounding of the others', if these pulls would move
// it in the time that is left; -1 if not. What the others hold answers to any motion but at right angles to the
// gradients of their margins, in which that pull is all there is.
Index LayeredFlow::moves_unseen() {
    if (!jet_.duals().has_own_clock() || jet_.duals().decays() || plan_.ends_at_rest) return -1;
    probed_ = false;
    probe_.start(state_.theta, state_.activity, 1.0, false);
    if (!probe_.advance()) return -1;
    const double known = std::log(kRateRounding * probe_.velocity_terms().norm());
    const double log_unit = probe_.duals().log_unit();
    const Vector margins = probe_.duals().margin(0).col(0);
    const Vector none = Vector::Zero(std::max(1, probe_.sliding().count()));
    Eigen::MatrixXd others(state_.theta.size(), margins.size());
    Index count = 0, first = -1;
    double heaviest = -std::numeric_limits<double>::infinity();
    Vector pull = Vector::Zero(state_.theta.size()), gradient(state_.theta.size());
    for (Index i = 0; i < margins.size(); ++i) {
        if (probe_.is_idle(i)) continue;
        probe_.prescribe(Matrix(Vector::Unit(margins.size(), i).transpose()));
        probe_.velocity(none.data(), gradient);
        probe_.sliding().project(gradient);
        const double norm = gradient.norm();
        if (norm == 0.0) continue;
        const double log_weight = probe_.duals().log_weight_of(i, margins[i]) + log_unit - probe_.duals().log_factor();
        if (log_weight + std::log(norm) > known) {
            others.col(count++) = gradient / norm;
            continue;
        }
        if (log_weight > heaviest) {
            pull *= std::exp(heaviest - log_weight);
            heaviest = log_weight;
            first = i;
        }
        pull += std::exp(log_weight - heaviest) * gradient;
    }
    if (first < 0) return -1;
    const double whole = pull.norm();
    if (count > 0) pull = outside_span(others.leftCols(count), pull, kSpanTol);
    if (pull.norm() <= kHeldPull * whole) return -1;
    sizes_of_units_.take(state_.theta);
    const double log_moved = heaviest + time_stop().log_t() - log_unit + std::log(sizes_of_units_.part(pull));
    return log_moved > std::log(std::max(kMissedPart * plan_.settings.rtol, kLeastMissed)) ? first : -1;
}

// Ends a run that would rest beside such a sample; true if it has.
bool LayeredFlow::finish_unseen() {
    const Index sample = moves_unseen();
    if (sample < 0) return false;
    finish(Status::stalled, "the loss stalls " + at_log_time() + " while sample " + std::to_string(sample) +
                                " still moves weights, by less than the rounding error of the weights of others that "
                                "cancel; ask for an earlier time");
    return true;
}

}  // namespace reluflow::layered
