/// Time on a step as an integral over the margins, where it is no polynomial: dt/du = H / D with log D from the
/// margins.
#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/bracket.hpp"
#include "two_layer/waveform.hpp"

namespace reluflow {

namespace {

/// Samples with margins this much above the smallest add less than rounding to the mass; below zero logistic weights
/// are all about 1.
constexpr double kNoShare = 60.0;

}  // namespace

void Waveform::list_heavy() {
    // Lists the samples whose weight comes near the largest somewhere on the step: only they have a share in the mass.
    constexpr int kProbes = 16;
    std::fill(near_.begin(), near_.end(), char{0});
    for (int probe = 0; probe <= kProbes; ++probe) {
        margins_at(static_cast<double>(probe) / kProbes, margins_now_);
        double smallest = std::numeric_limits<double>::infinity();
        for (Index i = 0; i < margins_now_.size(); ++i)
            if (live_[i]) smallest = std::min(smallest, margins_now_[i]);
        if (saturates(objective_.loss)) smallest = std::max(smallest, 0.0);
        for (Index i = 0; i < margins_now_.size(); ++i)
            if (live_[i] && margins_now_[i] < smallest + kNoShare) near_[i] = 1;
    }
    heavy_.clear();
    for (Index i = 0; i < margins_now_.size(); ++i)
        if (near_[i]) heavy_.push_back(static_cast<int>(i));
    last_clock_u_ = -1.0;
}

Clock Waveform::clock_at(const Clock& start, double u) const {
    if (u == 0.0) return start;
    if (!time_by_margins_) return start.later(time_at(u), log_time_unit_);
    if (last_clock_u_ != u) {  // cached: the end of a step is asked for several times
        last_log_time_ = log_time_at(u);
        last_clock_u_ = u;
    }
    return start.later_by_log(last_log_time_);
}

double Waveform::reach(const Clock& start, const Clock& target, double end) const {
    if (!start.is_before(target)) return 0.0;
    if (time_by_margins_) return reach_by_margins(start, target, end);
    const double amount = start.amount_to(target, log_time_unit_);
    return amount > time_at(end) ? kNoRoot : u_at_time(amount, end);
}

double Waveform::log_mass_at(double u) const {
    double largest = -std::numeric_limits<double>::infinity();
    for (const int i : heavy_) {
        double q = q_(margin_order_, i);
        for (int k = margin_order_ - 1; k >= 0; --k) q = q * u + q_(k, i);
        margins_now_[i] = log_weight(objective_.loss, q) + log_counts_[i];
        largest = std::max(largest, margins_now_[i]);
    }
    double sum = 0.0;
    for (const int i : heavy_) sum += std::exp(margins_now_[i] - largest);
    return largest + std::log(sum);
}

namespace {

/// Gauss-Legendre of 8 points on [0, 1]: exact to rounding for e^x over panels on which x grows by at most kPanel.
constexpr double kNodes[8] = {0.019855071751231884, 0.10166676129318664, 0.2372337950418355, 0.4082826787521751,
                              0.5917173212478249,   0.7627662049581645,  0.8983332387068134, 0.9801449282487681};
constexpr double kWeights[8] = {0.05061426814518813, 0.11119051722668724, 0.15685332293894363, 0.18134189168918100,
                                0.18134189168918100, 0.15685332293894363, 0.11119051722668724, 0.05061426814518813};
constexpr double kPanel = 3.0;
/// Widest panel, as a part of the step: over a wider one the exponent is not nearly linear.
constexpr double kWidestPanel = 0.125;
constexpr double kLeastPanel = 1e-12;  // of the step, about 1e4 times the spacing of doubles
/// Panels more than this many e-foldings before the end contribute less than rounding.
constexpr double kForgotten = 42.0;

}  // namespace

/// log of ∫_0^u H e^factor / D: the mass D falls by thousands of e-foldings in a step, so only the end counts.
double Waveform::log_time_at(double u) const {
    double end_value = -log_mass_at(u);
    double sum = 0.0;
    double right = u;
    double right_value = end_value;
    const double probe = 1e-4 * u;  // a first guess of the slope, to which the panels adapt
    double width = kPanel * probe / std::max(end_value + log_mass_at(u - probe), kPanel * 1e-4);
    while (right > 0.0 && end_value - right_value < kForgotten) {
        width = std::min({width, right, kWidestPanel});
        const double left = right - width;
        const double left_value = -log_mass_at(left);
        if (left_value > right_value + kPanel) {
            // The mass cannot grow along the flow, so beyond its minimum the step is too long and will be cut. Up to
            // there time is the integral to the minimum.
            sum = 0.0;
            end_value = left_value;
            right = left;
            right_value = left_value;
            continue;
        }
        // Margins that are rounding can jump at any width, so a panel of the least width is accepted as it is.
        if (right_value - left_value > 2.0 * kPanel && width > kLeastPanel * u) {
            width *= 0.5;
            continue;
        }
        for (int i = 0; i < 8; ++i)
            sum += width * kWeights[i] * std::exp(-log_mass_at(left + width * kNodes[i]) - end_value);
        right = left;
        right_value = left_value;
        width *= 1.5;
    }
    return std::log(sum * step_) + log_factor_ + end_value;
}

double Waveform::reach_by_margins(const Clock& start, const Clock& target, double end) const {
    if (clock_at(start, end).log_t() < target.log_t()) return kNoRoot;
    const auto miss = [&](double u) {  // d log t / du = H e^factor / (D t)
        const double now = clock_at(start, u).log_t();
        return std::pair{now - target.log_t(), std::exp(std::log(step_) + log_factor_ - log_mass_at(u) - now)};
    };
    const double rounding = 4.0 * std::numeric_limits<double>::epsilon() * end;
    return newton_inside({0.0, end}, 0.5 * end, miss, [=](double) { return rounding; });
}

}  // namespace reluflow
