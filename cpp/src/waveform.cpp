#include "reluflow/waveform.hpp"

#include <algorithm>
#include <cmath>


namespace reluflow {

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
      weighted_(data.n()) {}

void Waveform::start(const Vector& q) {
    const Index n = q.size();
    order_ = 0;
    q_.row(0) = q.transpose();
    log_loss_ = log_loss_sum(objective_.loss, {q.data(), static_cast<std::size_t>(n)});
    double largest = -std::numeric_limits<double>::infinity();
    for (Index i = 0; i < n; ++i) {
        p_(0, i) = log_weight(objective_.loss, q[i]);
        largest = std::max(largest, p_(0, i));
    }
    double sum = 0.0;
    for (Index i = 0; i < n; ++i) {
        l_(0, i) = weight(objective_.loss, q[i]);
        p_(0, i) = std::exp(p_(0, i) - largest);
        sum += p_(0, i);
    }
    p_.row(0) /= sum;
    log_mass_ = largest + std::log(sum);
    signed_.row(0) = p_.row(0).cwiseProduct(y_.transpose());
    mean_norm_ = p_.row(0).dot(norms_);
    mean_square_ = p_.row(0).dot(norms_.cwiseAbs2());
    time_rate_[0] = 1.0;
    time_[0] = 0.0;
    time_[1] = 1.0;
}

void Waveform::set_step(double step) noexcept {
    step_ = step;
    log_time_unit_ = std::log(step) + log_factor_ - log_mass_;
}

void Waveform::push(const Vector& q_next) {
    q_.row(order_ + 1) = q_next.transpose();
    next_weights();
    ++order_;
}

void Waveform::next_weights() {
    const int k = order_;
    const double factor = 1.0 / (k + 1);
    auto c = c_.row(k);
    c = (k + 1) * q_.row(k + 1);
    if (objective_.loss == LossKind::logistic) {
        for (int a = 0; a <= k; ++a)
            c.array() -= (k + 1 - a) * l_.row(a).array() * q_.row(k + 1 - a).array();
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
    double value = signed_(order_, sample);
    for (int k = order_ - 1; k >= 0; --k) value = value * u + signed_(k, sample);
    return value;
}

void Waveform::margins_at(double u, Vector& q) const {
    q = q_.row(order_).transpose();
    for (int k = order_ - 1; k >= 0; --k) q = q * u + q_.row(k).transpose();
}

double Waveform::time_at(double u) const noexcept { return evaluate(time_, std::min(order_ + 1, kMaxOrder + 1), u); }

double Waveform::time_rate_at(double u) const noexcept { return evaluate(time_rate_, order_, u); }

double Waveform::relative_time_term() const noexcept {
    return std::abs(time_[order_ + 1]) / std::abs(time_at(1.0));
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

}  // namespace reluflow
