#include "layered/dual_series.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "problem/loss.hpp"

namespace reluflow::layered {
namespace {

/// A dual is known to this part of itself, of the squared loss to this part of the terms that it is the sum of: the
/// rounding of dot products.
constexpr double kDualRounding = 8 * 2.2e-16;

/// Within this many e-foldings of where it counts a weight shows in the terms of its series, at any tolerance.
constexpr double kSaturated = 12.0;
/// The part of the way to where one counts that a step may go.
constexpr double kSaturatedPart = 0.5;
/// Logarithms of weights below this are raised, none to less than twice this.
constexpr double kLeastSeen = -300.0;

LossKind margin_loss(Loss loss) noexcept {
    return loss == Loss::logistic ? LossKind::logistic : LossKind::exponential;
}

/// The logarithm of a weight that no double holds, raised to one that a double holds, in the order of them: a weight of
/// zero pulls at nothing, and what it holds or lets go would not be known to be there. Samples that count nothing weigh
/// nothing.
double seen(double log_weight) noexcept {
    if (log_weight >= kLeastSeen || std::isinf(log_weight)) return log_weight;
    return kLeastSeen * (2.0 - kLeastSeen / log_weight);
}

/// What the clock of weights runs on by where these are nothing beside weight decay, in e-foldings below the rate of
/// that: weights so small move nothing.
constexpr double kLogIdle = 60.0;

/// Softmax of each row.
void softmax(const Matrix& F, Matrix& out) {
    for (Index i = 0; i < F.rows(); ++i) {
        const double top = F.row(i).maxCoeff();
        out.row(i) = (F.row(i).array() - top).exp();
        out.row(i) /= out.row(i).sum();
    }
}

}  // namespace

Loss layered_loss(std::string_view name) {
    if (name == "exponential") return Loss::exponential;
    if (name == "logistic") return Loss::logistic;
    if (name == "squared") return Loss::squared;
    if (name == "cross_entropy") return Loss::cross_entropy;
    throw InvalidArgument("loss", "'" + std::string(name) + "'",
                          "'logistic', 'exponential', 'squared' or 'cross_entropy'");
}

DualSeries::DualSeries(Loss loss, Matrix targets, double factor, Vector counts, Vector decay)
    : loss_(loss), targets_(std::move(targets)), factor_(factor), counts_(std::move(counts)), decay_(std::move(decay)) {
    if (counts_.size() == 0) counts_ = Vector::Ones(targets_.rows());
    if (counts_.size() != targets_.rows())
        throw InvalidArgument("counts", std::to_string(counts_.size()), "one for each sample");
    if (has_own_clock() && targets_.cols() != 1)
        throw InvalidArgument("net", std::to_string(targets_.cols()) + " outputs",
                              "a network of one output for this loss");
    const auto make = [&] {
        return std::vector<Matrix>(kMaxOrder + 1, Matrix::Zero(targets_.rows(), targets_.cols()));
    };
    duals_ = p_ = q_ = kappa_ = rate_ = make();
}

void DualSeries::start(const Matrix& F, double span, const std::vector<char>& idle) {
    span_ = span;
    idle_ = idle;
    prescribed_ = false;
    log_d_ = 0.0;
    time_.fill(0.0);
    if (has_own_clock()) {
        start_clocked(F);
    } else if (loss_ == Loss::squared) {
        duals_[0] = counts_.asDiagonal() * (targets_ - F);
    } else {
        q_[0] = F;
        softmax(F, p_[0]);
        softmax_duals(0);
    }
    log_unit_ = -std::log(factor_) - log_d_;
    time_[1] = span;
}

void DualSeries::start_from(const DualSeries& other, double span) {
    span_ = span;
    prescribed_ = false;
    idle_ = other.idle_;
    time_.fill(0.0);
    time_[1] = span;
    log_d_ = other.log_d_;
    log_unit_ = other.log_unit_;
    d_[0] = inverse_[0] = 1.0;
    duals_[0] = other.duals_[0];
    p_[0] = other.p_[0];
    q_[0] = other.q_[0];
    kappa_[0] = other.kappa_[0];
}

// D is more than the sum of the weights by that. It stays what it is over the step, so that D' is as without it.
double DualSeries::log_least_mass() const noexcept {
    return decays() ? std::log(decay_.maxCoeff() / factor_) - kLogIdle : -INFINITY;
}

void DualSeries::start_clocked(const Matrix& F) {
    const LossKind kind = margin_loss(loss_);
    q_[0] = targets_.cwiseProduct(F);
    double top = -INFINITY;
    for (Index i = 0; i < samples(); ++i) {
        p_[0](i, 0) = log_weight(kind, q_[0](i, 0)) + std::log(counts_[i]);
        kappa_[0](i, 0) = weight_decay_rate(kind, q_[0](i, 0));
        if (!is_idle(i)) top = std::max(top, p_[0](i, 0));
    }
    const double least = log_least_mass();
    top = std::max(top, least);
    if (std::isinf(top)) top = p_[0].maxCoeff();  // nothing moves anything
    double sum = std::exp(least - top);
    const double largest = decays() ? kLargestIdle * std::exp(kLogIdle) : kLargestIdle;  // D may be so far below decay
    for (Index i = 0; i < samples(); ++i) {
        p_[0](i, 0) = std::min(std::exp(seen(p_[0](i, 0) - top)), largest);
        if (!is_idle(i)) sum += p_[0](i, 0);
    }
    if (sum == 0.0) sum = p_[0].sum();
    p_[0] /= sum;
    log_d_ = top + std::log(sum);
    duals_[0] = targets_.cwiseProduct(p_[0]);
    d_[0] = inverse_[0] = 1.0;
}

void DualSeries::next(int k, const Matrix& F) {
    if (prescribed_) {
        q_[k] = targets_.cwiseProduct(F);
        return;
    }
    if (has_own_clock()) {
        next_clocked(k, F);
        return;
    }
    if (loss_ == Loss::squared)
        duals_[k] = -(counts_.asDiagonal() * F);
    else
        next_softmax(k, F);
    time_[k + 1] = 0.0;
}

void DualSeries::prescribe(const Matrix& weights) {
    prescribed_ = true;
    for (int k = 0; k <= kMaxOrder; ++k) {
        if (k < weights.rows())
            duals_[k] = targets_.cwiseProduct(weights.row(k).transpose());
        else
            duals_[k].setZero();
    }
}

void DualSeries::prescribe_duals(const std::vector<Matrix>& orders) {
    prescribed_ = true;
    for (std::size_t k = 0; k < duals_.size(); ++k) {
        if (k < orders.size())
            duals_[k] = orders[k];
        else
            duals_[k].setZero();
    }
}

double DualSeries::largest_dual(int k) const noexcept {
    double most = 0.0;
    for (Index i = 0; i < samples(); ++i)
        if (!is_idle(i)) most = std::max(most, duals_[k].row(i).cwiseAbs().maxCoeff());
    return most;
}

Matrix DualSeries::rounding(const Matrix& sizes) const {
    if (loss_ != Loss::squared) {
        Matrix all = kDualRounding * duals_[0].cwiseAbs();
        const double most = largest_dual(0);
        for (Index i = 0; i < samples() && most > 0.0; ++i)  // an idle sample pulls at nothing, and may weigh far more
            if (is_idle(i)) all.row(i) = all.row(i).cwiseMin(kDualRounding * most);
        return all;
    }
    return counts_.asDiagonal() * (kDualRounding * (targets_.cwiseAbs() + sizes));
}

Matrix DualSeries::curvature() const {
    Matrix all = counts_.replicate(1, outputs());
    if (has_own_clock()) all = kappa_[0].cwiseProduct(p_[0]);
    if (loss_ == Loss::cross_entropy) all.array() *= p_[0].array() * (1.0 - p_[0].array());
    for (Index i = 0; i < samples(); ++i)
        if (is_idle(i)) all.row(i).setZero();
    return all;
}

double DualSeries::log_weight_of(Index i, double margin) const noexcept {
    return log_weight(margin_loss(loss_), margin) + std::log(counts_[i]);
}

double DualSeries::log_weight_change_of(double margin, double change) const noexcept {
    return log_weight_change(margin_loss(loss_), margin, change);
}

double DualSeries::answer_of(double margin) const noexcept {
    return weight_decay_rate(margin_loss(loss_), margin);
}

double DualSeries::log_factor() const noexcept {
    return -std::log(factor_);
}

// With r = κ q' and c = Σ p r:  p' = p (c - r),  D' = -D c,  (1/D)' = c/D.
void DualSeries::next_clocked(int k, const Matrix& F) {
    q_[k] = targets_.cwiseProduct(F);
    Matrix& r = rate_[k - 1];
    r.setZero();
    for (int j = 0; j < k; ++j) r.array() += (k - j) * kappa_[j].array() * q_[k - j].array();
    double c = 0.0;
    for (int j = 0; j < k; ++j) c += p_[j].cwiseProduct(rate_[k - 1 - j]).sum();
    fall_[k - 1] = c;
    p_[k].setZero();
    d_[k] = inverse_[k] = 0.0;
    for (int j = 0; j < k; ++j) {
        p_[k].array() += p_[j].array() * (fall_[k - 1 - j] - rate_[k - 1 - j].array());
        d_[k] -= d_[j] * fall_[k - 1 - j];
        inverse_[k] += inverse_[j] * fall_[k - 1 - j];
    }
    p_[k] /= k;
    d_[k] /= k;
    inverse_[k] /= k;
    time_[k + 1] = span_ * inverse_[k] / (k + 1);
    duals_[k] = targets_.cwiseProduct(p_[k]);
    kappa_[k].setZero();
    if (loss_ == Loss::logistic) {
        const double scale = std::exp(log_d_);
        for (int j = 0; j <= k; ++j) kappa_[k] -= (scale * d_[j]) * p_[k - j];
        for (Index i = 0; i < samples(); ++i) kappa_[k](i, 0) = counts_[i] > 0.0 ? kappa_[k](i, 0) / counts_[i] : 0.0;
    }
}

double DualSeries::unsaturated_length() const noexcept {
    double length = kNoRoot;
    if (loss_ == Loss::squared || prescribed_) return length;
    for (Index i = 0; i < samples(); ++i)
        if (counts_[i] > 0.0) length = std::min(length, has_own_clock() ? length_of_margin(i) : length_of_classes(i));
    return length;
}

// A logistic weight has poles at q = ±iπ, and p where the sum of the weights is zero. What moves away from them needs
// no bound: what its series does not show gets smaller.
double DualSeries::length_of_margin(Index i) const noexcept {
    const double q = q_[0](i, 0);
    double length = kNoRoot;
    if (loss_ == Loss::logistic && q < -kSaturated && q_[1](i, 0) > 0.0) length = kSaturatedPart * -q / q_[1](i, 0);
    const double closing = fall_[0] - rate_[0](i, 0);
    if (p_[0](i, 0) >= std::exp(-kSaturated) || !(closing > 0.0)) return length;
    return std::min(length, kSaturatedPart * (log_d_ - log_weight_of(i, q)) / closing);
}

// A softmax has them where the sum over the classes is zero.
double DualSeries::length_of_classes(Index i) const noexcept {
    const double top = q_[0].row(i).maxCoeff();
    const double mean = rate_[0](i, 0);
    double length = kNoRoot;
    for (Index c = 0; c < outputs(); ++c) {
        const double gap = top - q_[0](i, c);
        const double closing = q_[1](i, c) - mean;
        if (gap > kSaturated && closing > 0.0) length = std::min(length, kSaturatedPart * gap / closing);
    }
    return length;
}

// P' = P (F' - Σ_c P_c F'_c)
void DualSeries::next_softmax(int k, const Matrix& F) {
    q_[k] = F;
    auto mean = rate_[k - 1].col(0);
    mean.setZero();
    for (int j = 0; j < k; ++j) mean += (k - j) * p_[j].cwiseProduct(q_[k - j]).rowwise().sum();
    p_[k].setZero();
    for (int j = 0; j < k; ++j)
        p_[k] += p_[j].cwiseProduct((k - j) * q_[k - j] - rate_[k - 1 - j].col(0).replicate(1, outputs()));
    p_[k] /= k;
    softmax_duals(k);
}

// The dual of the sample's own class is minus the sum of the others, which are exact however close to 1 its softmax is.
void DualSeries::softmax_duals(int k) {
    for (Index i = 0; i < samples(); ++i) {
        const double* p = &p_[k](i, 0);
        const double* target = &targets_(i, 0);
        double* dual = &duals_[k](i, 0);
        double others = 0.0;
        for (Index c = 0; c < outputs(); ++c) others += dual[c] = -counts_[i] * p[c] * (1.0 - target[c]);
        for (Index c = 0; c < outputs(); ++c)
            if (target[c] == 1.0) dual[c] = -others;
    }
}

double DualSeries::cross_entropy(const Matrix& F, Index i) const {
    const double own = targets_.row(i).dot(F.row(i));
    double others = 0.0;  // Σ_{c ≠ y} e^{f_c - f_y}
    double top = 0.0;
    for (Index c = 0; c < outputs(); ++c) top = std::max(top, F(i, c) - own);
    for (Index c = 0; c < outputs(); ++c)
        if (targets_(i, c) == 0.0) others += std::exp(F(i, c) - own - top);
    return top == 0.0 ? std::log1p(others) : top + std::log(others + std::exp(-top));
}

double DualSeries::log_loss(const Matrix& F) const {
    const double log_factor = std::log(factor_);
    if (has_own_clock()) {
        const Vector q = targets_.cwiseProduct(F).col(0);
        return log_loss_sum(margin_loss(loss_), span_of(q), span_of(counts_)) + log_factor;
    }
    if (loss_ == Loss::squared) return std::log(0.5 * counts_.dot((targets_ - F).rowwise().squaredNorm())) + log_factor;
    double sum = 0.0;
    for (Index i = 0; i < samples(); ++i)
        if (counts_[i] > 0.0) sum += counts_[i] * cross_entropy(F, i);
    return std::log(sum) + log_factor;
}

// θ' = ... - γ θ in t, and dt/du has the orders (j + 1) t_{j + 1}.
void DualSeries::add_decay(const std::vector<Vector>& theta, int k, Vector& rate) const {
    if (!decays()) return;
    const double unit = std::exp(log_unit_);
    for (int j = 0; j <= k; ++j)
        if (time_[j + 1] != 0.0) rate -= (unit * (j + 1) * time_[j + 1]) * decay_.cwiseProduct(theta[k - j]);
}

double DualSeries::rise(double log_before, const Vector& before, double log_after, const Vector& after) const {
    if (!decays()) return log_after - log_before;
    const auto total = [&](double log_loss, const Vector& theta) {
        const double log_norms = std::log(0.5 * decay_.dot(theta.cwiseAbs2()));
        const double top = std::max(log_loss, log_norms);
        return std::isfinite(top) ? top + std::log(std::exp(log_loss - top) + std::exp(log_norms - top)) : top;
    };
    return total(log_after, after) - total(log_before, before);
}

}  // namespace reluflow::layered
