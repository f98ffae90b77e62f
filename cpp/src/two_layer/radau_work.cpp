/// What explicit and Radau steps cost, in counted operations: the same input gives the same decisions.
#include "two_layer/radau_steady.hpp"
#include "two_layer/radau_step.hpp"
#include "two_layer/radau_turning.hpp"

namespace reluflow {

namespace {

/// Operations of the gradients and margins of one order.
double drive_work(const Dataset& data, const Expansion& expansion) {
    return 4.0 * static_cast<double>(data.n() * data.rank()) * static_cast<double>(expansion.groups().count());
}

}  // namespace

double RadauStep::plain_work(const Expansion& expansion, int order) const noexcept {
    return order * drive_work(data_, expansion) + expansion.series().work(order);
}

double RadauStep::relative_work(const Expansion& expansion) const noexcept {
    const double drive = drive_work(data_, expansion);
    const double plain = plain_work(expansion, kMaxOrder);
    const double series = kStages * drive + expansion.series().work(order_);
    const double unknowns = kStages * (static_cast<double>(active_.size()) + 1.0);
    // Factorisations run about three times as fast as the rest, and each comes with kernels of about the same cost.
    const double factorisation = is_turning_  ? turning_->work() / 3.0
                                 : is_steady_ ? steady_->work()
                                              : 2.0 * 2.0 / 3.0 / 3.0 * unknowns * unknowns * unknowns;
    return ((iterations_ + 2) * series + order_ * drive + factorisations_ * factorisation) / plain;
}

}  // namespace reluflow
