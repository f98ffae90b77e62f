/// Newton's method for the weights at the nodes of a late step.
#include <algorithm>
#include <cmath>
#include <limits>

#include "layered/late_step.hpp"

namespace reluflow::layered {
namespace {

/// A weight whose answer to its own margin, H p |∇q|², exceeds this is an unknown; the others follow by substitution.
constexpr double kActiveResponse = 0.1;
/// With more unknowns than this at a node the step is left to explicit series: the support is not yet known.
constexpr Index kMostActive = 100;
/// One correction changes no weight that answers by more than this factor, e^2.
constexpr double kLargestLogChange = 2.0;
/// The response is read off differences that move θ by this part: rounding and what is not linear are as large then.
constexpr double kDifference = 1e-8;

}  // namespace

bool LateStep::choose_active() {
    active_.clear();
    for (Index i = 0; i < weights_.cols(); ++i)
        if (live_[i] && weights_.col(i).maxCoeff() * span() * own_[i] > kActiveResponse) active_.push_back(i);
    return !active_.empty() && std::ssize(active_) <= kMostActive;
}

// A first value of log D: a weighted mean over the samples.
void LateStep::guess_mass() {
    for (int node = 0; node < kStages; ++node) {
        double sum = 0.0;
        double share = 0.0;
        for (Index i = 0; i < weights_.cols(); ++i) {
            if (!live_[i] || weights_(node, i) == 0.0) continue;
            const double follows = duals_->log_weight_change_of(start_margins_[i], margin_changes_(node, i));
            sum += weights_(node, i) * (follows - changes_(node, i));
            share += weights_(node, i);
        }
        mass_changes_[node] = sum / share;
    }
}

// In a short step the tangent kernel hardly changes: column j is the rate of all margins with the weight of j alone,
// with what slides held.
bool LateStep::find_steady_response(Jet& jet) {
    const Index count = std::ssize(active_);
    response_.resize(kStages * count, kStages * count);
    Matrix one = Matrix::Zero(1, weights_.cols());
    for (Index j = 0; j < count; ++j) {
        one(0, active_[j]) = 1.0;
        jet.start(*theta_, *activity_, span());
        jet.prescribe(one);
        if (!jet.advance()) return false;
        one(0, active_[j]) = 0.0;
        work_ += 1.0;
        for (int node = 0; node < kStages; ++node)
            for (int l = 0; l < kStages; ++l)
                for (Index i = 0; i < count; ++i)
                    response_(node * count + i, l * count + j) =
                        nodes_.integration(node, l) * jet.duals().margin(1)(active_[i], 0);
    }
    return true;
}

bool LateStep::find_response(Jet& jet, Interrupt& interrupt) {
    const Index count = std::ssize(active_);
    const int order = response_order_;
    response_.resize(kStages * count, kStages * count);
    Matrix base(kStages, count);
    for (int node = 0; node < kStages; ++node)
        for (Index i = 0; i < count; ++i) base(node, i) = margin_change(nodes_.at[node], active_[i], order);
    for (Index j = 0; j < count; ++j)
        for (int l = 0; l < kStages; ++l) {
            if (interrupt.is_wanted()) throw Abandoned{};
            const double difference = kDifference * size_ / (std::sqrt(own_[active_[j]]) * span());
            Matrix changed = coefficients_;
            changed.col(active_[j]) += difference * nodes_.to_monomial.col(l);
            jet.start(*theta_, *activity_, span());
            jet.prescribe(changed);
            while (jet.order() < order)
                if (!jet.advance()) return false;
            work_ += order * order;
            for (int node = 0; node < kStages; ++node)
                for (Index i = 0; i < count; ++i) {
                    double sum = 0.0;
                    for (int k = order; k >= 1; --k)
                        sum = (sum + jet.duals().margin(k)(active_[i], 0)) * nodes_.at[node];
                    response_(node * count + i, l * count + j) = (sum - base(node, i)) / difference;
                }
        }
    return true;
}

void LateStep::factor() {
    const Index count = std::ssize(active_);
    Eigen::Map<Matrix> jacobian = lu_.matrix(kStages * (count + 1));
    jacobian.setZero();
    for (int node = 0; node < kStages; ++node)
        for (Index i = 0; i < count; ++i) {
            const Index row = node * (count + 1) + i;
            const double margin = start_margins_[active_[i]] + margin_changes_(node, active_[i]);
            const double answer = duals_->answer_of(margin);
            for (int l = 0; l < kStages; ++l)
                for (Index j = 0; j < count; ++j)
                    jacobian(row, l * (count + 1) + j) =
                        answer * response_(node * count + i, l * count + j) * weights_(l, active_[j]);
            jacobian(row, row) += 1.0;
            jacobian(row, node * (count + 1) + count) = 1.0;
            jacobian(node * (count + 1) + count, row) = weights_(node, active_[i]);
        }
    lu_.factor();
    work_ += std::pow(static_cast<double>(kStages * (count + 1)), 3) /
             static_cast<double>(10 * margins_.cols() * graph_->parameters());
}

// One correction of the weights at the nodes; returns the largest change of θ that it means.
double LateStep::correct() {
    const Index count = std::ssize(active_);
    residual_.resize(kStages * (count + 1));
    double largest = 0.0;
    const auto moves = [&](Index i, double before, int node) {
        const double change = std::abs(weights_(node, i) - before) * std::sqrt(own_[i]) * span() / size_;
        largest = std::isfinite(change) ? std::max(largest, change) : std::numeric_limits<double>::quiet_NaN();
    };
    for (int node = 0; node < kStages; ++node) {
        const Index row = node * (count + 1);
        std::size_t next = 0;
        double sum = 0.0;
        for (Index i = 0; i < weights_.cols(); ++i) {
            if (!live_[i]) continue;
            const double follows =
                duals_->log_weight_change_of(start_margins_[i], margin_changes_(node, i)) - mass_changes_[node];
            const double before = weights_(node, i);
            if (next < active_.size() && active_[next] == i)
                residual_[row + static_cast<Index>(next++)] = follows - changes_(node, i);
            else
                set(node, i, follows);
            moves(i, before, node);
            sum += weights_(node, i) - std::exp(start_logs_[i]);
        }
        residual_[row + count] = -sum;
    }
    lu_.solve(residual_);
    if (!residual_.allFinite()) return std::numeric_limits<double>::quiet_NaN();
    for (int node = 0; node < kStages; ++node) {
        const Index row = node * (count + 1);
        for (Index k = 0; k < count; ++k) {
            const Index i = active_[k];
            const double before = weights_(node, i);
            const bool answers = before * span() * own_[i] > kActiveResponse;
            const double lowest = answers ? -kLargestLogChange : -std::numeric_limits<double>::infinity();
            set(node, i, changes_(node, i) + std::clamp(residual_[row + k], lowest, kLargestLogChange));
            moves(i, before, node);
        }
        mass_changes_[node] += residual_[row + count];
    }
    return largest;
}

}  // namespace reluflow::layered
