/// What the polynomials of a Radau step miss.
#include <algorithm>
#include <cmath>
#include <limits>

#include "two_layer/radau_kernel.hpp"
#include "two_layer/radau_steady.hpp"
#include "two_layer/radau_step.hpp"
#include "two_layer/radau_turning.hpp"

namespace reluflow {

namespace {

/// Parts of the largest weight, or change of one, below this are left out where they are summed up: rounding of the
/// sum. It was 1e-6, and a flow whose tails weigh less beside samples that hold each other was taken for one at rest.
constexpr double kLight = 1e-16;
/// What is missed cancels in the groups where the sum over the samples is above it by this factor. It is so on data of
/// which samples in many directions hold each other, such as breast cancer in raw units (10⁴ and more).
constexpr double kCancels = 1e3;
/// A layer of which the neurons feel this part of the tolerance at most need not be known better.
constexpr double kSeenLayer = 1e-2;
/// From this part of what they are held to be unknown by beside a boundary weights are known as well as need be.
constexpr double kHeldPart = 0.1;

}  // namespace

/// What the next iteration of Newton's method would change, as a part of θ, by a correction of this size: as much. With
/// positive margins the neurons move by less, once weights are known as well as neurons beside their boundaries need
/// them. A change δp at a node moves θ by H Jᵀ δp, J the gradient of the margins, and these by δq = H K δp, K = J Jᵀ:
/// by the square root of H δp·δq, where δq is what the equations of log p missed less what was changed. Of multipliers
/// that are not unique, and of rounding where weights answer to margins by 10⁸, that is next to nothing.
double RadauStep::left_after(const Expansion& expansion, double change, double step) const noexcept {
    const double all = change * step * largest_norm_;
    if (is_turning_) return std::max(all, moved_ * step);
    if (!is_growing_ || change > kHeldPart * expansion.weight_error()) return all;
    return std::min(all, std::sqrt(step * moved_square_.maxCoeff()));
}

/// Estimates the error of the polynomials of the weights: their last Legendre coefficient over the step, and at the
/// start the difference to the true weights, which lasts as long as the weights take to respond.
double RadauStep::error(const Expansion& expansion, double step) {
    if (is_turning_) return turning_error(expansion, step);
    if (!is_growing_) return error_of_samples(step);
    const double missed = is_steady_ ? growing_error(expansion, step) : error_between_nodes(expansion, step);
    layer_ /= growing_part_;
    return missed / growing_part_;
}

/// Summed up by samples. A weight takes 1 over p K to respond.
double RadauStep::error_of_samples(double step) {
    double smooth = 0.0;
    layer_ = 0.0;
    // Errors respond together, at rates that sum up over the samples: what explicit steps leave near the limit of their
    // stability lasts for a far shorter time than any sample of its own would say.
    const bool together = is_steady_ && is_linear_;
    if (together) {
        start_change_ = coefficients_.row(0).transpose();
        steady_->settle(start_change_, settled_);
        start_change_ = (start_change_.array().square() + settled_.array().square()).sqrt();
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

/// Summed up by samples where the kernels between the nodes are solved with and all margins are positive, unless what
/// is missed cancels, or is rounding which no margin answers to. Neurons that slide count as free ones there: they feel
/// what is missed of the weights beside their boundaries, and leave for it.
double RadauStep::error_between_nodes(const Expansion& expansion, double step) {
    const double of_samples = error_of_samples(step);
    const double of_groups = smooth_error_of_groups(expansion, step, true) + layer_;
    const bool is_rounding = driven_.cwiseAbs().maxCoeff() <= rounding_of_margins();
    return is_rounding || of_samples > kCancels * of_groups ? of_groups : of_samples;
}

/// The same where all margins are positive and respond together: not summed up by samples, of which the most opposite
/// ones cancel, but by the groups that it moves.
///
/// In a direction to which the margins respond at a rate far above 1/H, what the weights do in the layer at the start
/// is not lost: the margins at the end of the step ask for it, and the polynomials have it in their mean. It only comes
/// later in the step than it should, and neurons that turn by H times their rate notice that part of it. Not beside
/// samples at rest: some directions are held by less than all tails pull, and the margins at rest moved in them.
double RadauStep::growing_error(const Expansion& expansion, double step) {
    for (Index i = 0; i < data_.n(); ++i)
        start_change_[i] = mean_over_step_[i] > 0.0 ? coefficients_(0, i) / mean_over_step_[i] : 0.0;
    steady_->settle(start_change_, settled_);
    double moved = moved_by(expansion, start_change_, settled_);
    if (moved * step > kSeenLayer * tolerance_ && objective_.resting.is_empty()) {
        settle_again();
        const double left = moved_by(expansion, start_change_, settled_);
        moved = std::min(moved, left + std::min(1.0, step * expansion.fastest()) * moved);
    }
    layer_ = std::max(0.0, moved * step - left_);
    return smooth_error_of_groups(expansion, step) + layer_;
}

/// What settle() has left of changes of log p, real and imaginary parts, once more.
void RadauStep::settle_again() {
    settle_of_imaginary_ = settled_;
    steady_->settle(start_change_, settled_);
    steady_->settle(settle_of_imaginary_, settle_imaginary_);
    start_change_ -= settle_imaginary_;
    settled_ += settle_of_imaginary_;
}

/// The largest part of a gradient of a group that changes of log p make up, which have an imaginary part.
double RadauStep::moved_by(const Expansion& expansion, const Vector& real, const Vector& imaginary) {
    driven_ = real.cwiseProduct(mean_over_step_);
    const double of_real = driven(expansion, driven_);
    driven_ = imaginary.cwiseProduct(mean_over_step_);
    return std::hypot(of_real, driven(expansion, driven_));
}

/// What the last Legendre coefficients of the weights move of the groups.
double RadauStep::smooth_error_of_groups(const Expansion& expansion, double step, bool with_held) {
    driven_.noalias() = change_.transpose() * nodes_.to_legendre.row(kStages - 1).transpose();
    return kErrorPart * driven(expansion, driven_, with_held) * step;
}

/// The largest part of a gradient of a group that changes of the signed weights make up; `with_held`: as if no neuron
/// slid.
double RadauStep::driven(const Expansion& expansion, const VectorView& weights, bool with_held) {
    double largest = 0.0;
    heavy_.clear();
    double least = 0.0;  // samples that drive nobody may outweigh all others by far
    for (Index i = 0; i < data_.n(); ++i)
        if (live_[i]) least = std::max(least, kLight * std::abs(weights[i]));
    for (Index i = 0; i < data_.n(); ++i)
        if (live_[i] && std::abs(weights[i]) > least) heavy_.push_back(static_cast<int>(i));
    for (Index group = 0; group < expansion.groups().count(); ++group) {
        direction_.setZero();
        for (const int i : heavy_) {
            const double factor = expansion.slope(i, group) * data_.signs()[i] * weights[i];
            if (factor != 0.0) direction_ += factor * data_.X().row(i).transpose();
        }
        if (!with_held) expansion.project(group, direction_.data());
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
    return smooth_error_of_groups(expansion, step) + layer_;
}

/// What multipliers are told that this step misses of the weights, as a part of their sum: the last correction of
/// Newton's method, the last Legendre coefficients, and at the start what the polynomials begin with beside the
/// weights.
double RadauStep::missed_of_weights(double mean_norm) const {
    double missed = 0.0;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!live_[i]) continue;
        double last = 0.0;
        for (int node = 0; node < kStages; ++node) last += nodes_.to_legendre(kStages - 1, node) * change_(node, i);
        const double corrected = (change_.col(i) - uncorrected_.col(i)).cwiseAbs().maxCoeff();
        missed += (corrected + std::abs(last) + std::abs(coefficients_(0, i))) * data_.X().row(i).norm();
    }
    return missed / mean_norm;
}

/// Whether what an iteration over a constant kernel has changed is rounding, which says nothing of the kernel.
bool RadauStep::is_resolved(double change) const noexcept {
    return change <= rounding_of_margins() && is_solved();
}

/// How well weights are known where multipliers are not unique: no margin answers to them there, so that the rounding
/// of the change of margins stays in them. Where margins answer it does not, and neurons feel of it next to nothing;
/// but what holds a neuron beside a boundary feels all of it, and has to be told from zero.
double RadauStep::rounding_of_margins() const noexcept {
    const double rounding = std::numeric_limits<double>::epsilon() * margin_change_.cwiseAbs().maxCoeff();
    return std::min(rounding, kHeldPart * Waveform::kFineWeightError);
}

/// The rounding of margins, and what it leaves of the weights, grows with the step. A step that stopped at that is not
/// followed by one for which it would be too much: none of the iterations of such steps gains anything.
void RadauStep::leave_room_for_rounding(double step, double change) noexcept {
    const double most = step * std::max(1.0, kHeldPart * Waveform::kFineWeightError / change);
    lacks_digits_ = most < next_step_;
    next_step_ = std::min(next_step_, most);
}

}  // namespace reluflow
