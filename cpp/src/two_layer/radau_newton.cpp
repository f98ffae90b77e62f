/// Newton's method for the weights at the nodes of a Radau step.
#include <algorithm>
#include <cmath>
#include <limits>

#include "two_layer/radau_kernel.hpp"
#include "two_layer/radau_steady.hpp"
#include "two_layer/radau_step.hpp"
#include "two_layer/radau_turning.hpp"

namespace reluflow {

namespace {

/// A weight whose response to its own margin, H p K, exceeds this is an unknown of Newton's method; the others follow
/// by substitution, which converges at least by this factor per iteration.
constexpr double kActiveResponse = 0.1;
/// One correction changes no weight by more than this factor, e^2.
constexpr double kLargestLogChange = 2.0;
/// Where a weight moves its own margin by so many e-foldings, margins make up its equation, and they are linear in
/// weights: a correction is one of the weight itself, unless that takes away more than the second part of it.
constexpr double kLinearResponse = 100.0;
constexpr double kMostTaken = 0.6;
/// With positive margins no step is taken that leaves a weight of more than the first to follow its margin by more than
/// this many e-foldings, or by this many roundings of the margins if that is more. θ may be well within the tolerance
/// and the weights behind the step, which are read off its margins, mean nothing: neurons that slide left, all at once.
constexpr double kLeastSolved = 1e-12;
constexpr double kUnsolved = 0.1;
constexpr double kUnsolvedUlps = 256.0;

}  // namespace

bool RadauStep::choose_active(double square, double step) {
    active_.clear();
    for (Index i = 0; i < data_.n(); ++i)
        if (live_[i] && response(i) * step * square * data_.X().row(i).squaredNorm() > kActiveResponse)
            active_.push_back(static_cast<int>(i));
    return !active_.empty() && std::ssize(active_) <= kMaxActive;
}

/// Prepares the linear system. Where the kernel is constant over the step all samples are solved for at once, unless
/// its rank is too large.
bool RadauStep::prepare(Expansion& expansion, double step) {
    if (is_turning_ && prepare_turning(expansion, step)) return true;
    if (is_turning_) forget_turning();
    if (is_steady_ && prepare_steady(expansion, step)) return true;
    is_steady_ = false;
    if (!choose_active(expansion.series().square(), step)) return false;
    factor_jacobian(expansion, step);
    return true;
}

bool RadauStep::prepare_steady(Expansion& expansion, double step) {
    double growth = 0.0;  // of log |θ| over the step: the margins are of degree two
    for (Index i = 0; i < data_.n(); ++i) {
        double mean = 0.0;
        for (int node = 0; node < kStages; ++node) mean += nodes_.integration(kStages - 1, node) * weight_at(node, i);
        mean_over_step_[i] = live_[i] ? std::max(mean, 0.0) : 0.0;
        if (is_linear_) {
            mean_over_step_[i] = live_[i];
            answers_[i] = data_.counts()[i];
            continue;
        }
        const double margin = start_margins_[i] + margin_change_(kStages / 2, i);
        answers_[i] = weight_decay_rate(objective_.loss, margin);
        growth += 2.0 * step * mean_over_step_[i] * start_margins_[i] / square_;
    }
    if (!is_linear_) steady_->set_growth(is_growing_ ? growth : 0.0);
    steady_->share_mass(!keeps_mass_);
    const bool is_known = steady_->prepare(expansion, mean_over_step_, answers_, step);
    if (!steady_->is_old()) ++factorisations_;
    return is_known;
}

/// The weights that the margins at the nodes ask for, and what they are more than those that gave these margins. What
/// the start leaves of a layer moves margins so far in a long step that their weights say nothing: the first guess is
/// corrected as if weights were linear in margins.
void RadauStep::ask_weights() {
    const bool is_first = iterations_ == 0 && is_far_;
    for (int node = 0; node < kStages; ++node) {
        double gained = 0.0;
        double start = 0.0;
        for (Index i = 0; i < data_.n(); ++i) {
            asked_[i] = 0.0;
            if (!live_[i] || start_weights_[i] == 0.0) continue;
            const double answer = weight_decay_rate(objective_.loss, start_margins_[i]);
            const double change = margin_change_(node, i);
            asked_[i] =
                is_first ? -answer * change : std::expm1(log_weight_change(objective_.loss, start_margins_[i], change));
            if (!shares_mass(i)) continue;
            gained += start_weights_[i] * asked_[i];
            start += start_weights_[i];
        }
        const double mass = gained / start;
        mass_change_[node] = is_first ? 0.0 : std::log1p(mass);
        for (Index i = 0; i < data_.n(); ++i) {
            const bool counts = live_[i] && start_weights_[i] > 0.0;
            const double own = shares_mass(i) ? mass : 0.0;
            const double change = start_weights_[i] * (asked_[i] - own) / (is_first ? 1.0 : 1.0 + own);
            node_weights_(node, i) = counts ? start_weights_[i] + (is_first ? 0.0 : change) : 0.0;
            steady_residual_(node, i) = counts ? change - change_(node, i) : 0.0;
        }
    }
}

bool RadauStep::prepare_turning(Expansion& expansion, double step) {
    is_far_ = false;
    ask_weights();
    if (iterations_ == 0 && is_far_guess()) {
        is_far_ = true;
        ask_weights();
    }
    for (Index i = 0; i < data_.n(); ++i) {
        mean_over_step_[i] = live_[i] ? start_weights_[i] : 0.0;
        for (int node = 0; node < kStages; ++node) {
            mean_over_step_[i] += nodes_.integration(kStages - 1, node) * change_(node, i);
            const double change = iterations_ == 0 && is_far_ ? 0.0 : margin_change_(node, i);
            node_answers_(node, i) = weight_decay_rate(objective_.loss, start_margins_[i] + change);
        }
    }
    ++factorisations_;
    return turning_->prepare(expansion, node_weights_, node_answers_, mean_over_step_, step);
}

void RadauStep::factor_jacobian(Expansion& expansion, double step) {
    const Index count = static_cast<Index>(active_.size());
    Eigen::Map<Matrix> jacobian = lu_.matrix(kStages * (count + 1));
    jacobian.setZero();
    for (Index k = 0; k < count; ++k) {
        mean_weights_[k] = 0.0;
        for (int node = 0; node < kStages; ++node)
            mean_weights_[k] += nodes_.integration(kStages - 1, node) * weight_at(node, active_[k]);
    }
    kernels_->start(expansion, nodes_.at, active_);
    for (Index group = 0; group < expansion.groups().count(); ++group)
        kernels_->add_group(expansion, group, mean_weights_, step, jacobian);
    kernels_->integrate(jacobian);
    if (expansion.waveform().decays()) {
        for (int node = 0; node < kStages; ++node) {
            const double left = expansion.waveform().decay_at(nodes_.at[node]);
            jacobian.middleRows(node * (count + 1), count + 1) *= left * left;
        }
    }
    scale_jacobian(jacobian);
    lu_.factor();
    ++factorisations_;
}

/// Turns kernels into derivatives of the equations: rows times d log|ℓ'| / dq, columns times p (the unknowns are log
/// p), and the rows and columns of log D and Σ p = 1.
void RadauStep::scale_jacobian(Eigen::Map<Matrix>& jacobian) {
    const Index count = static_cast<Index>(active_.size());
    for (int node = 0; node < kStages; ++node) {
        const Index row = node * (count + 1);
        for (Index k = 0; k < count; ++k)
            jacobian.row(row + k) *=
                is_linear_
                    ? data_.counts()[active_[k]]
                    : weight_decay_rate(objective_.loss, start_margins_[active_[k]] + margin_change_(node, active_[k]));
    }
    for (int node = 0; node < kStages; ++node) {
        const Index row = node * (count + 1);
        for (Index k = 0; k < count; ++k) {
            const double weight_now = is_linear_ ? 1.0 : weight_at(node, active_[k]);
            factored_weights_(node, k) = weight_now;
            jacobian.col(row + k) *= weight_now;
            jacobian(row + k, row + k) += 1.0;
            if (is_linear_ || !shares_mass(active_[k])) continue;
            jacobian(row + k, row + count) = 1.0;
            jacobian(row + count, row + k) = weight_now;
        }
        if (keeps_mass_) jacobian(row + count, row + count) = 1.0;
    }
}

/// The change of log p, or of p for a loss of errors, that the margins at a node ask for.
double RadauStep::asked_change(int node, Index sample) const {
    const double change = margin_change_(node, sample);
    if (is_linear_) return live_[sample] ? -data_.counts()[sample] * change : 0.0;
    const double mass_change = objective_.resting.rests(sample) ? 0.0 : mass_change_[node];
    return log_weight_change(objective_.loss, start_margins_[sample], change) - mass_change;
}

void RadauStep::set_unknown(int node, Index sample, double value) {
    if (is_linear_)
        set_change(node, sample, value);
    else
        set_log_change(node, sample, value);
}

/// What to add to log p for the solution of a system that was made with another value of p. In logarithms it would be
/// too much or too little by the quotient of the two: each iteration left as much, behind events for all fourteen.
double RadauStep::log_correction(int node, Index sample, double solved, double factored, double response) const {
    const double part = solved * factored / weight_at(node, sample);
    const bool is_linear = response > kLinearResponse && part > -kMostTaken && part < std::expm1(kLargestLogChange);
    return is_linear ? std::log1p(part) : std::clamp(solved, -kLargestLogChange, kLargestLogChange);
}

/// Adds to an unknown; returns by how much that changes the weight.
double RadauStep::take_correction(int node, Index sample, double solved) {
    const double before = change_(node, sample);
    set_unknown(node, sample, log_change_(node, sample) + solved);
    const double changed = std::abs(change_(node, sample) - before);
    moved_square_[node] += changed * std::abs(missed_(node, sample) - solved) / square_;
    return changed;
}

/// One correction of the weights at the nodes; returns the largest change.
double RadauStep::correct(double step) {
    const Index count = static_cast<Index>(active_.size());
    auto residual = residual_.head(kStages * (count + 1));
    double change = 0.0;
    moved_square_.setZero();
    for (int node = 0; node < kStages; ++node) {
        const Index row = node * (count + 1);
        std::size_t next_active = 0;
        double sum = 0.0;
        for (Index i = 0; i < data_.n(); ++i) {
            const double follows = asked_change(node, i);
            const double before = change_(node, i);
            if (next_active < active_.size() && active_[next_active] == i)
                residual[row + static_cast<Index>(next_active++)] = missed_(node, i) = follows - log_change_(node, i);
            else
                set_unknown(node, i, follows);
            if (!live_[i]) continue;
            const double changed = std::abs(change_(node, i) - before);
            change = std::max(change, changed);
            moved_square_[node] += changed * changed * step * largest_norm_ * largest_norm_;
            if (shares_mass(i)) sum += change_(node, i);
        }
        residual[row + count] = keeps_mass_ ? 0.0 : -sum;
    }
    lu_.solve(residual);
    if (!residual.allFinite()) return std::numeric_limits<double>::quiet_NaN();
    for (int node = 0; node < kStages; ++node) {
        const Index row = node * (count + 1);
        for (Index k = 0; k < count; ++k) {
            const Index i = active_[k];
            double solved = residual[row + k];
            if (!is_linear_)
                solved = log_correction(node, i, solved, factored_weights_(node, k),
                                        response(i) * step * kernels_->own()[k]);
            change = std::max(change, take_correction(node, i, solved));
        }
        mass_change_[node] += residual[row + count];
    }
    return change;
}

/// The same where all samples are solved for.
double RadauStep::correct_steady(double step) {
    for (int node = 0; node < kStages; ++node) {
        double sum = 0.0;
        for (Index i = 0; i < data_.n(); ++i) {
            const bool counts = live_[i] && (is_linear_ || start_weights_[i] > 0.0);
            steady_residual_(node, i) = counts ? asked_change(node, i) - log_change_(node, i) : 0.0;
            if (shares_mass(i)) sum += change_(node, i);
        }
        steady_mass_[node] = -sum;
    }
    missed_ = steady_residual_;
    steady_->solve(steady_residual_, steady_mass_);
    if (!steady_residual_.allFinite()) return std::numeric_limits<double>::quiet_NaN();
    double change = 0.0;
    moved_square_.setZero();
    for (int node = 0; node < kStages; ++node) {
        for (Index i = 0; i < data_.n(); ++i) {
            double solved = steady_residual_(node, i);
            // Samples that simply follow know nothing yet of what the others change of their margins.
            const bool is_bounded = !is_linear_ && (steady_->own(i) > 0.0 || iterations_ == 0);
            if (is_bounded)
                solved = log_correction(node, i, solved, mean_over_step_[i], response(i) * step * steady_->own(i));
            change = std::max(change, take_correction(node, i, solved));
        }
        mass_change_[node] += steady_mass_[node];
    }
    return change;
}

/// The same where the gradients of the groups are solved for.
double RadauStep::correct_turning(const Expansion& expansion) {
    ask_weights();
    turning_->solve(steady_residual_);
    if (!steady_residual_.allFinite()) return std::numeric_limits<double>::quiet_NaN();
    moved_ = 0.0;
    for (int node = 0; node < kStages; ++node) {
        driven_ = steady_residual_.row(node).transpose();
        moved_ = std::max(moved_, driven(expansion, driven_));
    }
    change_ += steady_residual_;
    return steady_residual_.cwiseAbs().maxCoeff();
}

/// Whether the weights are those of the margins, at all nodes.
bool RadauStep::is_solved() const noexcept {
    double least = std::numeric_limits<double>::infinity();
    double miss = 0.0;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!live_[i]) continue;
        least = std::min(least, start_margins_[i]);
        for (int node = 0; node < kStages; ++node)
            if (weight_at(node, i) > kLeastSolved)
                miss = std::max(miss, std::abs(asked_change(node, i) - log_change_(node, i)));
    }
    return miss <= std::max(kUnsolved, kUnsolvedUlps * std::numeric_limits<double>::epsilon() * least);
}

/// Whether another sample takes over weight by the margins of the step, at any node, than the weights do. Margins far
/// below zero move by thousands in a step that moves no neuron by its tolerance, and the loss rose where in each step
/// another one of two samples had all the weight.
bool RadauStep::is_taken_over(const Waveform& waveform) const {
    const double rounding = std::numeric_limits<double>::epsilon() * square_ * largest_norm_;
    const double unsolved = std::max(kUnsolved, kUnsolvedUlps * rounding);
    const double least = std::log(kLeastSolved);
    for (Index i = 0; i < data_.n(); ++i) {
        if (!shares_mass(i) && !(keeps_mass_ && live_[i])) continue;
        for (int node = 0; node < kStages; ++node) {
            const double margin = start_margins_[i] + margin_change_(node, i);
            const double asked = log_weight(objective_.loss, margin) + std::log(data_.counts()[i]) -
                                 waveform.log_mass() - mass_change_[node];
            const double used = std::log(std::max(weight_at(node, i), std::numeric_limits<double>::min()));
            if (std::max(asked, used) > least && std::abs(asked - used) > unsolved) return true;
        }
    }
    return false;
}

}  // namespace reluflow
