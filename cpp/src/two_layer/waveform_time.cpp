/// Time on a step as an integral over the margins, where it is no polynomial: dt/du = H / D with log D from the
/// margins.
#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/bracket.hpp"
#include "numeric/log_integral.hpp"
#include "problem/loss_of_all.hpp"
#include "two_layer/waveform.hpp"

namespace reluflow {

namespace {

/// Samples that weigh this many e-foldings less than the heaviest add less than rounding to the mass.
constexpr double kNoShare = 60.0;
/// Samples whose exponentials are taken together.
constexpr Index kAtOnce = 64;
/// A decay by this part is rounding.
constexpr double kUnfelt = 1e-18;
/// The mass may fall by so many e-foldings until it is more.
constexpr double kLogFar = 10.0;

}  // namespace

void Waveform::prescribe_margins(const Matrix& margins, int count) {
    margin_order_ = count - 1;
    q_.topRows(count) = margins.topRows(count);
    if (!keeps_mass()) keep_time_by_margins();
}

void Waveform::list_heavy() {
    // Lists the samples whose weight comes near the largest somewhere on the step: only they have a share in the mass.
    constexpr int kProbes = 16;
    std::fill(near_.begin(), near_.end(), char{0});
    for (int probe = 0; probe <= kProbes; ++probe) {
        margins_at(static_cast<double>(probe) / kProbes, margins_now_);
        // Below zero logistic weights are all about what the samples count.
        if (saturates(objective_.loss)) margins_now_ = margins_now_.cwiseMax(0.0);
        double heaviest = -std::numeric_limits<double>::infinity();
        for (Index i = 0; i < margins_now_.size(); ++i)
            if (is_tail(i)) heaviest = std::max(heaviest, log_counts_[i] - margins_now_[i]);
        for (Index i = 0; i < margins_now_.size(); ++i)
            if (is_tail(i) && log_counts_[i] - margins_now_[i] > heaviest - kNoShare) near_[i] = 1;
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

/// Called by several threads at once. The sum is kept relative to the largest term so far.
double Waveform::log_mass_at(double u) const noexcept {
    Eigen::Array<double, kAtOnce, 1> margins;
    Eigen::Array<double, kAtOnce, 1> logs;
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0.0;
    for (Index begin = 0; begin < std::ssize(heavy_); begin += kAtOnce) {
        const Index count = std::min(kAtOnce, std::ssize(heavy_) - begin);
        const int* samples = heavy_.data() + begin;
        for (Index n = 0; n < count; ++n) margins[n] = q_(margin_order_, samples[n]);
        for (int k = margin_order_ - 1; k >= 0; --k) {
            const double* q = q_.row(k).data();
            for (Index n = 0; n < count; ++n) margins[n] = margins[n] * u + q[samples[n]];
        }
        log_weights_of(objective_.loss, margins.head(count), logs.head(count));
        double heaviest = largest;
        for (Index n = 0; n < count; ++n) heaviest = std::max(heaviest, logs[n] += log_counts_[samples[n]]);
        if (heaviest > largest) sum *= std::exp(largest - heaviest);
        largest = heaviest;
        logs.head(count) -= largest;
        if (logs.head(count).hasNaN()) return std::numeric_limits<double>::quiet_NaN();
        exponentiate(logs.head(count));
        sum += logs.head(count).sum();
    }
    return largest + std::log(sum / share());
}

/// The weight of a sample that stands still at its margin of the start.
double Waveform::idle_weight(Index sample, double log_mass) const noexcept {
    return std::exp(std::min(log_weight(objective_.loss, q_(0, sample)) + log_counts_[sample] - log_mass, kLargestLog));
}

double Waveform::log_weight_from(Index sample, double u) const noexcept {
    double q = q_(margin_order_, sample);
    for (int k = margin_order_ - 1; k >= 0; --k) q = q * u + q_(k, sample);
    return log_weight(objective_.loss, q) + log_counts_[sample] - (time_by_margins_ ? log_mass_at(1.0) : log_mass_);
}

double Waveform::weight_from(Index sample, double u) const noexcept {
    const bool is_idle = drives_nobody(sample);
    return is_idle && time_by_margins_ ? idle_weight(sample, log_mass_at(1.0)) : std::abs(signed_weight_at(sample, u));
}

/// log of ∫_0^u H e^factor / D: the mass cannot grow along the flow.
double Waveform::log_time_at(double u) const {
    const LogIntegral time = log_integral([this](double v) { return -log_mass_at(v); }, u);
    return std::log(time.sum * step_) + log_factor_ + time.log_unit;
}

double Waveform::fall_by_decay() const noexcept {
    if (!decays() || is_linear_ || is_idle_) return 0.0;
    double sum = 0.0;
    for (Index i = 0; i < norms_.size(); ++i)
        if (is_tail(i)) sum += p_(0, i) * (saturates(objective_.loss) ? 1.0 - l_(0, i) : 1.0) * q_(0, i);
    return 2.0 * decay_ * std::exp(log_time_unit_) * std::abs(sum / share());
}

bool Waveform::is_decay_far(double step) const noexcept {
    return std::log(decay_ * step) + log_factor_ - log_mass_ < std::log(kUnfelt) - kLogFar;
}

bool Waveform::feels_decay(double u) const {
    const double log_time = time_by_margins_ ? log_time_at(u) : log_time_unit_ + std::log(time_at(u));
    return !(std::log(decay_) + log_time < std::log(kUnfelt));
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

/// Those of samples that drive nobody grow like an exponential as the mass falls.
void Waveform::mean_signed_weights(double u, Vector& weights) const {
    signed_weights_at(u, weights);
    for (Index i = 0; i < weights.size(); ++i) {
        const double start = signed_(0, i);
        const double end = weights[i];
        if (has_values_alone(i)) {
            const double growth = start != 0.0 && end / start > 0.0 ? std::log(end / start) : 0.0;
            weights[i] = growth != 0.0 ? start * std::expm1(growth) / growth : start;
            continue;
        }
        double sum = 0.0;
        for (int k = order_; k >= 0; --k) sum = sum * u + signed_(k, i) / (k + 1);
        weights[i] = sum;
    }
}

}  // namespace reluflow
