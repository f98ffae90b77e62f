#include "two_layer/defect.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reluflow {

namespace {

/// Where an explicit step is checked, as parts of it; each point costs two polynomials and two exponentials per sample.
/// Three suffice, because the bound on saturated weights keeps any weight from rising and falling again between two.
constexpr double kPlainPoints[] = {0.4, 0.75, 1.0};
/// The same for a Radau step: between its nodes, since its equations hold at the nodes.
constexpr double kLatePoints[] = {0.11, 0.31, 0.57, 0.81, 0.96, 1.0};
/// A margin q computed from its polynomial has a rounding error of about this many ulp, and so has log p.
constexpr double kMarginUlps = 64.0;

}  // namespace

Defect::Defect(const Dataset& data, const Objective& objective)
    : loss_(objective.loss),
      resting_(objective.resting),
      signs_(data.signs()),
      counts_(data.counts()),
      least_(is_of_margins(loss_) ? Vector::Ones(data.n()) : Vector(data.targets().cwiseAbs())),
      unknown_(least_),
      norms_(data.X().rowwise().norm()),
      live_(data.n()),
      tails_(data.n()),
      width_(data.n()),
      start_(data.n()),
      q_(data.n()),
      used_(data.n()),
      asked_(data.n()),
      scale_(data.n()) {}

double Defect::measure(const Waveform& waveform, double end, double square, double terms) {
    const double step = waveform.step();
    start_ = Eigen::Map<const Vector>(waveform.margins(0), start_.size());
    for (Index i = 0; i < live_.size(); ++i) {
        live_[i] = waveform.is_live(i) ? 1.0 : 0.0;
        tails_[i] = waveform.is_tail(i) ? 1.0 : 0.0;
        width_[i] = live_[i] * step * norms_[i];
        if (waveform.is_prescribed()) {
            width_[i] /= 1.0 + step * waveform.response(i) * square * norms_[i] * norms_[i];
        }
    }
    unknown_ = least_;
    if (waveform.is_linear())
        for (Index i = 0; i < unknown_.size(); ++i) unknown_[i] = std::max(least_[i], waveform.size_of_terms(i, terms));
    double worst = 0.0;
    const auto look = [&](double part) {
        const double missed = weights_at(waveform, part * end);
        if (!(missed <= worst)) worst = missed;  // also keeps a NaN
    };
    if (waveform.is_prescribed())
        for (const double part : kLatePoints) look(part);
    else
        for (const double part : kPlainPoints) look(part);
    return worst;
}

double Defect::weights_at(const Waveform& waveform, double u) {
    if (waveform.is_idle()) return 0.0;
    read(waveform, u);
    ask();
    const double ulp = kMarginUlps * std::numeric_limits<double>::epsilon();
    const auto rounding = ulp * (unknown_.array() + q_.array().abs().max(start_.array().abs()));
    const bool keeps_mass = waveform.is_prescribed() && waveform.keeps_mass();
    if (keeps_mass && !waveform.is_linear()) asked_ *= std::exp(log_mass_ - waveform.log_mass());
    if (waveform.is_linear())
        scale_ = counts_;
    else
        scale_ = asked_.cwiseMax(used_.cwiseAbs());
    const auto missed = (asked_ - used_).array().abs() - rounding * scale_.array();
    double sum = (width_.array() * missed.max(0.0)).sum();
    if (waveform.keeps_time_by_margins() || waveform.is_linear() || keeps_mass) return sum;
    // Time uses the mass through D(0)/D, a series of its own, so that is checked as well.
    const double mass = std::exp(log_mass_ - waveform.log_mass()) * waveform.time_rate_at(u);
    const auto sizes = tails_.array() * asked_.array() * q_.array().abs().max(start_.array().abs());
    const double known = ulp * (1.0 + sizes.sum() / resting_.share);
    return std::max(sum, std::abs(std::log(mass)) - known);
}

/// Margins and signed weights at u; margins of samples that are not active are not used.
void Defect::read(const Waveform& waveform, double u) {
    const auto row = [this](const double* values) { return Eigen::Map<const Vector>(values, q_.size()); };
    const int order = waveform.order();
    q_ = row(waveform.margins(waveform.margin_order()));
    for (int k = waveform.margin_order() - 1; k >= 0; --k) q_ = q_ * u + row(waveform.margins(k));
    used_ = row(waveform.signed_weights(order));
    for (int k = order - 1; k >= 0; --k) used_ = used_ * u + row(waveform.signed_weights(k));
    used_.array() *= signs_.array() * live_.array();
}

/// Weights from margins, relative to that of the smallest margin, because ℓ' itself can overflow.
void Defect::ask() {
    if (!is_of_margins(loss_)) {
        log_mass_ = 0.0;
        asked_ = -live_.array() * counts_.array() * q_.array();
        return;
    }
    double smallest = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < q_.size(); ++i)
        if (tails_[i] != 0.0) smallest = std::min(smallest, q_[i]);
    if (saturates(loss_)) {
        const double shift = std::max(smallest, 0.0);
        log_mass_ = -shift;
        asked_ = tails_.array() * counts_.array() * (shift - q_.array().max(0.0)).min(0.0).exp() /
                 (1.0 + (-q_.array().abs()).exp());
    } else {
        log_mass_ = -smallest;
        asked_ = tails_.array() * counts_.array() * (smallest - q_.array()).min(0.0).exp();
    }
    const double sum = asked_.sum() / resting_.share;
    log_mass_ += std::log(sum);
    asked_ /= sum;
    for (Index i = 0; i < resting_.scales.size(); ++i)
        if (resting_.rests(i)) asked_[i] = live_[i] * resting_.scales[i] * counts_[i] * weight(loss_, q_[i]);
}

}  // namespace reluflow
