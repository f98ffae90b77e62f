#include "two_layer/waveform.hpp"

#include <algorithm>
#include <cmath>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

/// log of the smallest weight that a double represents with all digits.
constexpr double kSmallestLog = -700.0;
/// A sample that drives nothing may outweigh the others by more than doubles can represent; at a boundary a factor of
/// e^230 = 1e100 decides as infinity would.
constexpr double kLargestLog = 230.0;
/// Samples with margins this much above the smallest add less than rounding to the mass; below zero logistic weights
/// are all about 1.
constexpr double kNoShare = 60.0;
/// Within this many e-foldings of where it counts a weight shows in the terms of its series, at any tolerance.
constexpr double kSaturated = 12.0;
/// Part of the way there that one step may go: from |q| = 1e8 it takes 23 steps.
constexpr double kSaturatedPart = 0.5;
/// From this x on the series of e^{x u} has terms above 1e-4 at the highest order.
constexpr double kOutrun = 7.0;

}  // namespace

Waveform::Waveform(const Dataset& data, Objective objective)
    : objective_(objective),
      y_(data.y()),
      norms_(data.X().rowwise().norm()),
      log_factor_(-std::log(reduction_factor(objective.reduction, data.n()))),
      q_(kMaxOrder + 2, data.n()),
      l_(kMaxOrder + 2, data.n()),
      p_(kMaxOrder + 2, data.n()),
      c_(kMaxOrder + 2, data.n()),
      signed_(kMaxOrder + 2, data.n()),
      weighted_(data.n()) {
    margins_now_.resize(data.n());
    near_.resize(data.n());
    heavy_.reserve(data.n());
    largest_norm_ = norms_.maxCoeff();
}

void Waveform::start(const Vector& q, const std::vector<char>& live) {
    order_ = 0;
    margin_order_ = 0;
    prescribed_ = false;
    with_others_ = true;
    live_.assign(live.begin(), live.end());
    q_.row(0) = q.transpose();
    log_loss_ = log_loss_sum(objective_.loss, {q.data(), static_cast<std::size_t>(q.size())});
    start_weights(q);
    signed_.row(0) = p_.row(0).cwiseProduct(y_.transpose());
    mean_norm_ = 0.0;
    mean_square_ = 0.0;
    for (Index i = 0; i < q.size(); ++i) {
        if (!live_[i]) continue;
        mean_norm_ += p_(0, i) * norms_[i];
        mean_square_ += p_(0, i) * norms_[i] * norms_[i];
    }
    time_by_margins_ = false;
    time_rate_[0] = 1.0;
    time_[0] = 0.0;
    time_[1] = 1.0;
}

/// Order 0 of the weights and the mass, and the loss of the active samples.
void Waveform::start_weights(const Vector& q) {
    const Index n = q.size();
    double largest = -std::numeric_limits<double>::infinity();
    double largest_loss = -std::numeric_limits<double>::infinity();
    smallest_margin_ = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < n; ++i) {
        p_(0, i) = log_weight(objective_.loss, q[i]);
        if (!live_[i]) continue;
        largest = std::max(largest, p_(0, i));
        largest_loss = std::max(largest_loss, reluflow::log_loss(objective_.loss, q[i]));
        smallest_margin_ = std::min(smallest_margin_, q[i]);
    }
    double sum = 0.0;
    double loss_sum = 0.0;
    lost_ = -std::numeric_limits<double>::infinity();
    for (Index i = 0; i < n; ++i) {
        l_(0, i) = weight(objective_.loss, q[i]);
        const double relative = p_(0, i) - largest;
        p_(0, i) = std::exp(std::min(relative, kLargestLog));
        if (!live_[i]) continue;
        if (relative < kSmallestLog) lost_ = std::max(lost_, relative);
        sum += p_(0, i);
        loss_sum += std::exp(reluflow::log_loss(objective_.loss, q[i]) - largest_loss);
    }
    p_.row(0) /= sum;
    log_mass_ = largest + std::log(sum);
    live_log_loss_ = largest_loss + std::log(loss_sum);
}

void Waveform::set_step(double step) noexcept {
    step_ = step;
    log_time_unit_ = std::log(step) + log_factor_ - log_mass_;
}

void Waveform::push(const Vector& q_next) {
    q_.row(order_ + 1) = q_next.transpose();
    margin_order_ = order_ + 1;
    next_weights();
    ++order_;
}

void Waveform::next_weights() {
    const int k = order_;
    const double factor = 1.0 / (k + 1);
    auto c = c_.row(k);
    c = (k + 1) * q_.row(k + 1);
    if (saturates(objective_.loss)) {
        for (int a = 0; a <= k; ++a) c.array() -= (k + 1 - a) * l_.row(a).array() * q_.row(k + 1 - a).array();
        l_.row(k + 1).setZero();
        for (int a = 0; a <= k; ++a) l_.row(k + 1).array() -= factor * l_.row(a).array() * c_.row(k - a).array();
    }
    weighted_.setZero();
    for (int a = 0; a <= k; ++a) weighted_.transpose().array() += p_.row(a).array() * c_.row(k - a).array();
    rate_[k] = weighted_.sum();
    auto next = p_.row(k + 1);
    next = -factor * weighted_.transpose();
    for (int a = 0; a <= k; ++a) next += factor * rate_[k - a] * p_.row(a);
    signed_.row(k + 1) = next.cwiseProduct(y_.transpose());
    double rate = 0.0;
    for (int a = 0; a <= k; ++a) rate += time_rate_[a] * rate_[k - a];
    time_rate_[k + 1] = factor * rate;
    if (k + 2 <= kMaxOrder + 1) time_[k + 2] = time_rate_[k + 1] / (k + 2);
}

void Waveform::signed_weight_series(Index sample, double* c) const noexcept {
    for (int k = 0; k <= order_; ++k) c[k] = signed_(k, sample);
}

double Waveform::signed_weight_at(Index sample, double u) const noexcept {
    if (!with_others_ && !live_[sample]) {  // its weight stands still while the mass falls by many e-foldings
        const double q = q_(0, sample);
        return y_[sample] * std::exp(std::min(log_weight(objective_.loss, q) - log_mass_at(u), kLargestLog));
    }
    double value = signed_(order_, sample);
    for (int k = order_ - 1; k >= 0; --k) value = value * u + signed_(k, sample);
    return value;
}

double Waveform::largest_mean_norm() const noexcept {
    double sum = 0.0;
    for (Index i = 0; i < norms_.size(); ++i) {
        double weight = 0.0;
        for (int k = 0; live_[i] && k <= order_; ++k) weight += std::abs(signed_(k, i));
        sum += weight * norms_[i];
    }
    return sum;
}

void Waveform::signed_weights_at(double u, Vector& weights) const {
    weights = signed_.row(order_).transpose();
    for (int k = order_ - 1; k >= 0; --k) weights = weights * u + signed_.row(k).transpose();
    for (Index i = 0; !with_others_ && i < weights.size(); ++i)
        if (!live_[i]) weights[i] = signed_weight_at(i, u);
}

void Waveform::margins_at(double u, Vector& q) const {
    q = q_.row(margin_order_).transpose();
    for (int k = margin_order_ - 1; k >= 0; --k) q = q * u + q_.row(k).transpose();
}

double Waveform::margin_rate() const noexcept {
    double sum = 0.0;
    for (Index i = 0; i < norms_.size(); ++i)
        if (live_[i]) sum += p_(0, i) * q_(1, i);
    return sum;
}

double Waveform::time_at(double u) const noexcept {
    return evaluate(time_, std::min(order_ + 1, kMaxOrder + 1), u);
}

double Waveform::time_rate_at(double u) const noexcept {
    return evaluate(time_rate_, order_, u);
}

double Waveform::relative_time_term() const noexcept {
    return std::abs(time_[order_ + 1]) / std::abs(time_at(1.0));
}

/// λ has its poles at q = ±iπ (logistic), and p where the sum of the weights is zero: both at a distance of |q| or |log
/// p| ahead and π to the side. A margin that moves away from them needs no bound, since what its series does not show
/// gets smaller.
double Waveform::saturated_part() const noexcept {
    const double seen = std::exp(-kSaturated);
    double part = 1.0;
    for (Index i = 0; i < norms_.size(); ++i) {
        if (!live_[i]) continue;
        const double q = q_(0, i);
        if (saturates(objective_.loss) && q < -kSaturated && part * q_(1, i) > -kSaturatedPart * q)
            part = kSaturatedPart * -q / q_(1, i);
        const double closing = rate_[0] - c_(0, i);
        if (p_(0, i) >= seen || part * closing < kSaturatedPart * kSaturated) continue;
        const double gap = log_mass_ - log_weight(objective_.loss, q);
        part = std::min(part, kSaturatedPart * gap / closing);
    }
    return part;
}

bool Waveform::outruns_time() const noexcept {
    return rate_[0] > kOutrun;
}

void Waveform::keep_time_by_margins() {
    time_by_margins_ = true;
    list_heavy();
}

double Waveform::u_at_time(double target, double end) const noexcept {
    double low = 0.0;
    double high = end;
    double u = std::clamp(target, low, high);
    for (int pass = 0; pass < 100; ++pass) {  // Newton inside a bracket: time is increasing
        const double miss = time_at(u) - target;
        if (miss == 0.0) return u;
        (miss < 0.0 ? low : high) = u;
        double next = u - miss / time_rate_at(u);
        if (!(next >= low && next <= high)) next = 0.5 * (low + high);
        if (std::abs(next - u) <= std::numeric_limits<double>::epsilon() * next) return next;
        u = next;
    }
    return u;
}

void Waveform::prescribe_weights(const Matrix& changes, int count, bool with_others) {
    prescribed_ = true;
    with_others_ = with_others;
    order_ = kMaxOrder - 1;
    for (int k = 0; k <= order_ + 1; ++k) {
        if (k < count)
            signed_.row(k) = changes.row(k).cwiseProduct(y_.transpose());
        else
            signed_.row(k).setZero();
    }
    signed_.row(0) += p_.row(0).cwiseProduct(y_.transpose());
}

void Waveform::prescribe_margins(const Matrix& margins, int count) {
    margin_order_ = count - 1;
    q_.topRows(count) = margins.topRows(count);
    keep_time_by_margins();
}

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
        margins_now_[i] = log_weight(objective_.loss, q);
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
    double low = 0.0;
    double high = end;
    double u = 0.5 * end;
    for (int pass = 0; pass < 100; ++pass) {  // d log t / du = H e^factor / (D t), inside a bracket
        const double now = clock_at(start, u).log_t();
        const double miss = now - target.log_t();
        (miss < 0.0 ? low : high) = u;
        const double slope = std::exp(std::log(step_) + log_factor_ - log_mass_at(u) - now);
        double next = u - miss / slope;
        if (!(next > low && next < high)) next = 0.5 * (low + high);
        if (std::abs(next - u) <= 4.0 * std::numeric_limits<double>::epsilon() * end) return next;
        u = next;
    }
    return u;
}

}  // namespace reluflow
