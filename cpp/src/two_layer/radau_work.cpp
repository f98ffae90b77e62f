/// What explicit and Radau steps cost, in counted operations: the same input gives the same decisions.
#include <algorithm>

#include "two_layer/radau_steady.hpp"
#include "two_layer/radau_step.hpp"
#include "two_layer/radau_turning.hpp"

namespace reluflow {

namespace {

/// This part of the longest step with a constant kernel, since the fastest rate changes until the next one.
constexpr double kJustShort = 0.9;

/// Operations of the gradients and margins of one order.
double drive_work(const Dataset& data, const Expansion& expansion) {
    return 4.0 * static_cast<double>(data.n() * data.rank()) * static_cast<double>(expansion.groups().count());
}

}  // namespace

double RadauStep::plain_work(const Expansion& expansion, int order) const noexcept {
    return order * drive_work(data_, expansion) + expansion.series().work(order);
}

double RadauStep::relative_work(const Expansion& expansion) const noexcept {
    const double unknowns = kStages * (static_cast<double>(active_.size()) + 1.0);
    // Factorisations run about three times as fast as the rest, and each comes with kernels of about the same cost.
    const double factorisation = is_turning_  ? turning_->work() / 3.0
                                 : is_steady_ ? steady_->work()
                                              : 2.0 * 2.0 / 3.0 / 3.0 * unknowns * unknowns * unknowns;
    return work_of(expansion, factorisation);
}

/// Kernels between the nodes may take a hundred times the work of a constant one, for a step of three times the length.
/// Where that does not pay, explicit steps would follow, and take far more than steps that are just short enough for a
/// constant kernel.
double RadauStep::plan_next(const Expansion& expansion, double plain) noexcept {
    const double work = relative_work(expansion);
    const bool is_dear = !is_linear_ && (is_turning_ ? !turns_ : !is_steady_);
    if (!is_dear || next_step_ >= work * plain || !allows_steady(expansion)) return work;
    const double shorter = std::min(next_step_, kJustShort * steady_length(expansion));
    const double constant = work_of(expansion, steady_->work());
    if (shorter * work < next_step_ * constant) return work;
    next_step_ = shorter;
    return constant;
}

/// With the iterations of the last try.
double RadauStep::work_of(const Expansion& expansion, double factorisation) const noexcept {
    const double drive = drive_work(data_, expansion);
    const double series = kStages * drive + expansion.series().work(order_);
    return ((iterations_ + 2) * series + order_ * drive + factorisations_ * factorisation) /
           plain_work(expansion, kMaxOrder);
}

}  // namespace reluflow
