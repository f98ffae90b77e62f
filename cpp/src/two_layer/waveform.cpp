#include "two_layer/waveform.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/tolerances.hpp"
#include "numeric/bracket.hpp"
#include "problem/loss_of_all.hpp"

namespace reluflow {

namespace {

/// log of the smallest weight that a double represents with all digits.
constexpr double kSmallestLog = -700.0;
/// Within this many e-foldings of where it counts a weight shows in the terms of its series, at any tolerance.
constexpr double kSaturated = 12.0;
/// Part of the way there that one step may go: from |q| = 1e8 it takes 23 steps.
constexpr double kSaturatedPart = 0.5;
/// Errors below this many ulp of the largest target are rounding: the sample is fitted and drives nobody.
constexpr double kFittedUlps = 16.0;
/// From this x on the series of e^{x u} has terms above 1e-4 at the highest order.
constexpr double kOutrun = 7.0;
/// A mass that is less than the rate of the decay by so many e-foldings moves no neuron.
constexpr double kLogIdle = 60.0;

/// One order of the weights of `Count` samples that go through registers together; orders are `n` apart.
template <int Count>
struct Strip {
    using Row = Eigen::Array<double, Count, 1>;
    Index n;
    Index first;
    int k;
    double factor;  // 1 / (k + 1)

    Eigen::Map<const Row> order(const double* series, int a) const noexcept {
        return Eigen::Map<const Row>(series + a * n + first);
    }
    void put(double* series, int a, const Row& values) const noexcept {
        Eigen::Map<Row>(series + a * n + first) = values;
    }
    /// Order k of c = q', or of c = (1 - l) q' and order k + 1 of l.
    void drive(const double* q, double* l, double* c, bool saturates) const noexcept {
        Row change = static_cast<double>(k + 1) * order(q, k + 1);
        if (saturates)
            for (int a = 0; a <= k; ++a) change -= static_cast<double>(k + 1 - a) * order(l, a) * order(q, k + 1 - a);
        put(c, k, change);
        if (!saturates) return;
        Row next = Row::Zero();
        for (int a = 0; a <= k; ++a) next -= factor * order(l, a) * order(c, k - a);
        put(l, k + 1, next);
    }
    /// Order k of p c.
    void weigh(const double* p, const double* c, double* weighted) const noexcept {
        Row sum = Row::Zero();
        for (int a = 0; a <= k; ++a) sum += order(p, a) * order(c, k - a);
        put(weighted, 0, sum);
    }
    /// Order k + 1 of p, and of it with its signs.
    void move(const double* weighted, const double* rate, const double* signs, double* p, double* with_signs) const {
        Row next = -factor * order(weighted, 0);
        for (int a = 0; a <= k; ++a) next += factor * rate[k - a] * order(p, a);
        put(p, k + 1, next);
        put(with_signs, k + 1, next * order(signs, 0));
    }
};

/// Calls body(strip) for strips of all samples.
template <class Body>
void in_strips(Index n, int k, const Body& body) {
    const double factor = 1.0 / (k + 1);
    Index i = 0;
    for (; i + 16 <= n; i += 16) body(Strip<16>{n, i, k, factor});
    for (; i + 4 <= n; i += 4) body(Strip<4>{n, i, k, factor});
    for (; i + 2 <= n; i += 2) body(Strip<2>{n, i, k, factor});
    for (; i < n; ++i) body(Strip<1>{n, i, k, factor});
}

}  // namespace

Waveform::Waveform(const Dataset& data, Objective objective)
    : objective_(objective),
      is_linear_(!is_of_margins(objective.loss)),
      decay_(objective.decay),
      signs_(data.signs()),
      targets_(data.targets()),
      counts_(data.counts()),
      log_counts_(data.counts().array().log()),
      norms_(data.X().rowwise().norm()),
      log_factor_(-std::log(reduction_factor(objective.reduction, data.n()))),
      q_(kMaxOrder + 2, data.n()),
      l_(kMaxOrder + 2, data.n()),
      p_(kMaxOrder + 2, data.n()),
      c_(kMaxOrder + 2, data.n()),
      signed_(kMaxOrder + 2, data.n()),
      weighted_(data.n()) {
    if (decay_ > 0.0) outputs_.resize(kMaxOrder + 2, data.n());
    margins_now_.resize(data.n());
    near_.resize(data.n());
    heavy_.reserve(data.n());
    largest_norm_ = norms_.maxCoeff();
    largest_target_ = data.targets().cwiseAbs().maxCoeff();
    target_norm_ = counts_.cwiseProduct(norms_).dot(data.targets().cwiseAbs());
    rounding_of_errors_ = kFittedUlps * std::numeric_limits<double>::epsilon() * largest_target_;
    for (Index i = 0; i < data.n(); ++i)
        if (objective_.resting.rests(i)) rests_.push_back(static_cast<int>(i));
}

void Waveform::start(const Vector& q, const std::vector<char>& live) {
    live_.assign(live.begin(), live.end());
    leaves_out_decay_ = false;
    if (is_linear_)
        start_errors(q);
    else
        start_weights(q);
    mean_norm_ = 0.0;
    mean_square_ = 0.0;
    restart(q);
    for (Index i = 0; i < q.size(); ++i) {
        if (live_[i] || is_linear_) mean_square_ += response(i) * norms_[i] * norms_[i];
        if (live_[i]) mean_norm_ += std::abs(p_(0, i)) * norms_[i];
    }
    largest_mean_norm_so_far_ = std::max(largest_mean_norm_so_far_, mean_norm_);
}

void Waveform::restart(const Vector& q) {
    order_ = 0;
    margin_order_ = 0;
    prescribed_ = false;
    with_others_ = true;
    q_.row(0) = q.transpose();
    signed_.row(0) = p_.row(0).cwiseProduct(signs_.transpose());
    time_by_margins_ = false;
    time_rate_[0] = 1.0;
    time_[0] = 0.0;
    time_[1] = 1.0;
}

/// Order 0 of the weights and the mass, and the loss of all samples and of the active ones.
void Waveform::start_weights(const Vector& q) {
    const Index n = q.size();
    Eigen::Map<Eigen::ArrayXd> weights(p_.row(0).data(), n);
    Eigen::Map<Eigen::ArrayXd> losses(weighted_.data(), n);
    losses_of(objective_.loss, q.array(), weights, Eigen::Map<Eigen::ArrayXd>(l_.row(0).data(), n), losses);
    weights += log_counts_.array();
    double largest = -std::numeric_limits<double>::infinity();
    double largest_loss = -std::numeric_limits<double>::infinity();
    smallest_margin_ = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < n; ++i) {
        if (!is_tail(i)) continue;
        largest = std::max(largest, weights[i]);
        largest_loss = std::max(largest_loss, losses[i]);
        smallest_margin_ = std::min(smallest_margin_, q[i]);
    }
    is_idle_ = largest < least_mass() - 2.0 * kSaturated;
    if (is_idle_) largest = least_mass();
    lost_ = -std::numeric_limits<double>::infinity();
    for (Index i = 0; i < n; ++i) {
        weights[i] -= largest;
        if (is_tail(i) && weights[i] < kSmallestLog) lost_ = std::max(lost_, weights[i]);
        weights[i] = std::min(weights[i], kLargestLog);
    }
    exponentiate(weights);
    const double excess = losses.maxCoeff() - largest_loss;
    losses -= largest_loss;
    exponentiate(losses);
    double sum = 0.0;
    double live_loss = 0.0;
    double loss = 0.0;
    for (Index i = 0; i < n; ++i) {
        loss += counts_[i] * losses[i];
        if (!is_tail(i)) continue;
        sum += weights[i];
        live_loss += counts_[i] * losses[i];
    }
    if (is_idle_) sum = share();
    weights /= sum > 0.0 ? sum / share() : std::numeric_limits<double>::infinity();
    log_mass_ = largest + std::log(sum / share());
    for (const int i : rests_) weights[i] = counts_[i] * objective_.resting.scales[i] * weight(objective_.loss, q[i]);
    live_log_loss_ = largest_loss + std::log(live_loss);
    const auto size = static_cast<std::size_t>(n);
    log_loss_ = excess < kLargestLog && q.allFinite() && rests_.empty()
                    ? largest_loss + std::log(loss)
                    : log_loss_sum(objective_.resting, objective_.loss, {q.data(), size}, {counts_.data(), size});
}

/// The logarithm of a mass that moves no neuron while the decay does: the clock follows none below it.
double Waveform::least_mass() const noexcept {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    return decays() && rests_.empty() ? std::log(decay_) + log_factor_ - kLogIdle : kNone;
}

/// The same for a loss of errors, whose weights have no mass.
void Waveform::start_errors(const Vector& q) {
    const auto size = static_cast<std::size_t>(q.size());
    log_loss_ = log_loss_sum(objective_.loss, {q.data(), size}, {counts_.data(), size});
    for (Index i = 0; i < q.size(); ++i) p_(0, i) = std::abs(q[i]) <= rounding_of_errors_ ? 0.0 : -counts_[i] * q[i];
    log_mass_ = 0.0;
    lost_ = -std::numeric_limits<double>::infinity();
    smallest_margin_ = lost_;
    double sum = 0.0;
    for (Index i = 0; i < q.size(); ++i)
        if (live_[i]) sum += counts_[i] * loss(objective_.loss, q[i]);
    live_log_loss_ = std::log(sum);
}

void Waveform::set_step(double step) noexcept {
    step_ = step;
    log_time_unit_ = std::log(step) + log_factor_ - log_mass_;
}

void Waveform::push(const Vector& q_next) {
    take_margins(q_next);
    margin_order_ = order_ + 1;
    next_weights();
    ++order_;
}

void Waveform::take_margins(const Vector& q_next) {
    const int k = order_ + 1;
    if (!decays()) {
        q_.row(k) = q_next.transpose();
        return;
    }
    if (k == 1) outputs_.row(0) = q_.row(0) + targets_.transpose();
    outputs_.row(k) = q_next.transpose();
    const double unit = -2.0 * decay_ * std::exp(log_time_unit_);
    shrinks_[0] = 1.0;
    shrinks_[k] = 0.0;
    for (int a = 0; a < k; ++a) shrinks_[k] += unit * time_rate_[a] * shrinks_[k - 1 - a] / k;
    q_.row(k).setZero();
    for (int a = 0; a <= k; ++a) q_.row(k) += shrinks_[a] * outputs_.row(k - a);
}

void Waveform::decay_margins(Matrix& outputs, int order) const {
    if (!decays()) return;
    Coefficients shrinks{};
    shrinks[0] = 1.0;
    for (int k = 1; k <= order; ++k) shrinks[k] = -2.0 * decay_ * std::exp(log_time_unit_) * shrinks[k - 1] / k;
    outputs.row(0) += targets_.transpose();
    for (int k = order; k >= 0; --k) {
        outputs.row(k) *= shrinks[0];
        for (int a = 1; a <= k; ++a) outputs.row(k) += shrinks[a] * outputs.row(k - a);
    }
    outputs.row(0) -= targets_.transpose();
}

double Waveform::decay_rate() const noexcept {
    return decays() ? decay_ * std::exp(log_factor_ - log_mass_) : 0.0;
}

double Waveform::decay_at(double u) const noexcept {
    return decays() ? std::exp(-decay_ * std::exp(log_time_unit_) * time_at(u)) : 1.0;
}

void Waveform::next_weights() {
    if (is_linear_) return next_errors();
    const int k = order_;
    const bool with_l = saturates(objective_.loss);
    in_strips(q_.cols(), k, [&](const auto& strip) {
        strip.drive(q_.data(), l_.data(), c_.data(), with_l);
        strip.weigh(p_.data(), c_.data(), weighted_.data());
    });
    rate_[k] = weighted_.sum();
    for (const int i : rests_) rate_[k] -= weighted_[i];
    rate_[k] = is_idle_ ? 0.0 : rate_[k] / share();
    in_strips(q_.cols(), k, [&](const auto& strip) {
        strip.move(weighted_.data(), rate_, signs_.data(), p_.data(), signed_.data());
    });
    for (const int i : rests_) {
        p_(k + 1, i) = -weighted_[i] / (k + 1);
        signed_(k + 1, i) = signs_[i] * p_(k + 1, i);
    }
    double rate = 0.0;
    for (int a = 0; a <= k; ++a) rate += time_rate_[a] * rate_[k - a];
    time_rate_[k + 1] = 1.0 / (k + 1) * rate;
    if (k + 2 <= kMaxOrder + 1) time_[k + 2] = time_rate_[k + 1] / (k + 2);
}

void Waveform::next_errors() {
    const int k = order_;
    p_.row(k + 1) = -counts_.transpose().cwiseProduct(q_.row(k + 1));
    signed_.row(k + 1) = p_.row(k + 1).cwiseProduct(signs_.transpose());
    rate_[k] = 0.0;
    time_rate_[k + 1] = 0.0;
    if (k + 2 <= kMaxOrder + 1) time_[k + 2] = 0.0;
}

void Waveform::signed_weight_series(Index sample, double u, double* c) const noexcept {
    const bool is_constant = u > 0.0 && has_values_alone(sample);
    for (int k = 0; k <= order_; ++k) c[k] = is_constant ? 0.0 : signed_(k, sample);
    if (is_constant) c[0] = signed_weight_at(sample, u);
}

double Waveform::signed_weight_at(Index sample, double u) const noexcept {
    if (has_values_alone(sample)) return signs_[sample] * idle_weight(sample, log_mass_at(u));
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
    weights = signed_.row(u == 0.0 ? 0 : order_).transpose();
    for (int k = u == 0.0 ? -1 : order_ - 1; k >= 0; --k) weights = weights * u + signed_.row(k).transpose();
    if (with_others_ || std::find(live_.begin(), live_.end(), char{0}) == live_.end()) return;
    const double log_mass = log_mass_at(u);  // once: it takes as long as all these weights
    for (Index i = 0; i < weights.size(); ++i)
        if (drives_nobody(i)) weights[i] = signs_[i] * idle_weight(i, log_mass);
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

double Waveform::relative_time_term(double u) const noexcept {
    return std::abs(time_[order_ + 1]) * std::pow(u, order_ + 1) / std::abs(time_at(u));
}

/// λ has its poles at q = ±iπ (logistic), and p where the sum of the weights is zero: both at a distance of |q| or |log
/// p| ahead and π to the side. A margin that moves away from them needs no bound, since what its series does not show
/// gets smaller.
double Waveform::saturated_part() const noexcept {
    if (is_linear_) return 1.0;
    const double seen = share() * std::exp(-kSaturated);
    double part = 1.0;
    for (Index i = 0; i < norms_.size(); ++i) {
        if (!live_[i]) continue;
        const double q = q_(0, i);
        if (saturates(objective_.loss) && q < -kSaturated && part * q_(1, i) > -kSaturatedPart * q)
            part = kSaturatedPart * -q / q_(1, i);
        const bool rests = objective_.resting.rests(i);
        const double closing = (rests ? 0.0 : rate_[0]) - c_(0, i);
        if (p_(0, i) >= seen || part * closing < kSaturatedPart * kSaturated) continue;
        const double gap = rests ? -std::log(p_(0, i)) : log_mass_ - log_weight(objective_.loss, q) - log_counts_[i];
        part = std::min(part, kSaturatedPart * gap / closing);
    }
    return part;
}

bool Waveform::outruns_time() const noexcept {
    return rate_[0] > kOutrun;
}

void Waveform::keep_time_by_margins() {
    time_by_margins_ = true;
    if (!prescribed_) with_others_ = false;
    list_heavy();
}

double Waveform::u_at_time(double target, double end) const noexcept {
    const auto miss = [&](double u) { return std::pair{time_at(u) - target, time_rate_at(u)}; };
    const auto rounding = [](double u) { return std::numeric_limits<double>::epsilon() * u; };
    return newton_inside({0.0, end}, std::clamp(target, 0.0, end), miss, rounding);
}

void Waveform::prescribe_weights(const Matrix& changes, int count, bool with_others) {
    prescribed_ = true;
    with_others_ = with_others;
    order_ = kMaxOrder - 1;
    for (int k = 0; k <= order_ + 1; ++k) {
        if (k < count)
            signed_.row(k) = changes.row(k).cwiseProduct(signs_.transpose());
        else
            signed_.row(k).setZero();
    }
    signed_.row(0) += p_.row(0).cwiseProduct(signs_.transpose());
    if (!keeps_mass()) return;
    std::fill(std::begin(time_rate_) + 1, std::end(time_rate_), 0.0);
    std::fill(std::begin(time_) + 2, std::end(time_), 0.0);
}

}  // namespace reluflow
