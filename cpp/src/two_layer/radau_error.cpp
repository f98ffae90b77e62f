/// What the polynomials of a Radau step miss.
#include <algorithm>
#include <cmath>

#include "two_layer/radau_kernel.hpp"
#include "two_layer/radau_steady.hpp"
#include "two_layer/radau_step.hpp"
#include "two_layer/radau_turning.hpp"

namespace reluflow {

/// Estimates the error of the polynomials of the weights: their last Legendre coefficient over the step, and at the
/// start the difference to the true weights, which lasts as long as a weight takes to respond (1 over p K).
double RadauStep::error(const Expansion& expansion, double step) {
    if (is_turning_) return turning_error(expansion, step);
    double smooth = 0.0;
    layer_ = 0.0;
    // Errors respond together, at rates that sum up over the samples: what explicit steps leave near the limit of their
    // stability lasts for a far shorter time than any sample of its own would say.
    const bool together = is_steady_ && is_linear_;
    if (together) {
        start_change_ = coefficients_.row(0).transpose();
        steady_->settle(start_change_);
    }
    std::size_t next_active = 0;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!live_[i]) continue;
        double last = 0.0;
        for (int node = 0; node < kStages; ++node) last += nodes_.to_legendre(kStages - 1, node) * change_(node, i);
        const double norm = data_.X().row(i).norm();
        smooth += std::max(0.0, std::abs(last) - rounding_of_[i]) * norm * step;
        double width = step;
        if (together) {
            layer_ += std::max(0.0, start_change_[i] - rounding_of_[i]) * norm * step;
            continue;
        }
        if (is_steady_) {
            // A saturated weight does not respond itself; its share follows those that do.
            const double own = steady_->own(i) > 0.0 ? steady_->own(i) : square_ * norm * norm;
            const double rate = response(i) * own;
            if (rate > 0.0) width = std::min(width, 1.0 / rate);
        } else if (next_active < active_.size() && active_[next_active] == i) {
            const double rate = response(i) * kernels_->own()[next_active];
            width = std::min(width, 1.0 / rate);
            ++next_active;
        }
        layer_ += std::max(0.0, std::abs(coefficients_(0, i)) - rounding_of_[i]) * norm * width;
    }
    layer_ = std::max(0.0, layer_ - left_);
    return kErrorPart * smooth + layer_;
}

/// The largest part of a gradient of a group that changes of the signed weights make up.
double RadauStep::driven(const Expansion& expansion, const VectorView& weights) {
    double largest = 0.0;
    for (Index group = 0; group < expansion.groups().count(); ++group) {
        direction_.setZero();
        for (Index i = 0; i < data_.n(); ++i) {
            const double factor = expansion.slope(i, group) * data_.signs()[i] * weights[i];
            if (live_[i] && factor != 0.0) direction_ += factor * data_.X().row(i).transpose();
        }
        expansion.project(group, direction_.data());
        largest = std::max(largest, direction_.squaredNorm());
    }
    return std::sqrt(largest);
}

double RadauStep::mean_rate(const Expansion& expansion) {
    driven_ = start_weights_;
    driven_.noalias() += change_.transpose() * nodes_.integration.row(kStages - 1).transpose();
    return driven(expansion, driven_);
}

/// Where the loss stalls, weights of order one cancel in what moves the neurons, and so do the terms of what is missed
/// of them: that is not summed up by samples but by the groups that it moves.
double RadauStep::turning_error(const Expansion& expansion, double step) {
    driven_ = coefficients_.row(0).transpose();
    turning_->settle(driven_);
    layer_ = std::max(0.0, driven(expansion, driven_) * step - left_);
    driven_.noalias() = change_.transpose() * nodes_.to_legendre.row(kStages - 1).transpose();
    return kErrorPart * driven(expansion, driven_) * step + layer_;
}

}  // namespace reluflow
