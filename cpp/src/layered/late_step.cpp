#include "layered/late_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"
#include "numeric/log_integral.hpp"
#include "numeric/polynomial.hpp"

namespace reluflow::layered {
namespace {

/// A step that needs more iterations than this is too long.
constexpr int kMaxIterations = 14;
/// The response is found anew when an iteration reduces the change by less than this factor.
constexpr double kSlow = 0.15;
/// Newton stops at this part of the tolerance of a step.
constexpr double kNewtonPart = 0.02;
/// If the error after two iterations exceeds this many tolerances, the step is given up.
constexpr double kHopeless = 1e3;
/// The first guess changes no weight by more than this factor, e^1.
constexpr double kFarthestGuess = 1.0;
/// The last Legendre coefficient overestimates the error of θ, which has about twice the order at Radau nodes.
constexpr double kErrorPart = 0.1;
/// So does what the weights miss between the nodes.
constexpr double kDefectShare = 0.01;
/// Given the weights, the series goes on until its terms are this part of the tolerance.
constexpr double kSeriesPart = 1e-2;
/// No tolerance is below this: terms are only known to rounding.
constexpr double kFinest = 1e-13;
/// Newton's method gains nothing any more: below this its changes are rounding.
constexpr double kStalled = 0.3;
constexpr double kRounding = 3e-13;
/// Terms of the series below this part do not matter to Newton's method, as long as weights do not all but cancel.
constexpr double kResponseTerm = 1e-8;
/// In a step that moves θ by less than this part the tangent kernel is taken for constant at first.
constexpr double kSteady = 0.1;
constexpr double kShrink = 0.4;
constexpr double kLargestGrowth = 6.0;
/// What is missed below this part of the tolerance is what Newton's method leaves and says nothing of the length.
constexpr double kUnseen = 1e-3;
constexpr int kFewIterations = 2;
constexpr double kFastGrowth = 20.0;
/// With this many iterations a step is as long as it should be.
constexpr double kEnoughIterations = 8.0;
/// Weights that move θ by less than this part of the tolerance in the step stay as they are.
constexpr double kNegligible = 1e-3;
/// Samples with weights this much below the largest (in logarithms) have no share in the mass.
constexpr double kNoShare = 60.0;

}  // namespace

LateStep::LateStep(const Graph& graph, const DualSeries& duals, double rtol)
    : graph_(&graph),
      duals_(&duals),
      nodes_(RadauNodes::get()),
      rtol_(rtol),
      known_(rtol),
      tolerance_(std::max(kLatePart * rtol, kFinest)),
      changes_(Matrix::Zero(kStages, duals.samples())),
      weights_(Matrix::Zero(kStages, duals.samples())),
      margin_changes_(Matrix::Zero(kStages, duals.samples())),
      mass_changes_(Vector::Zero(kStages)),
      coefficients_(Matrix::Zero(kStages, duals.samples())),
      margins_(Matrix::Zero(kMaxOrder + 1, duals.samples())) {}

bool LateStep::start(Jet& jet, const Vector& theta, const Activity& activity) {
    const Index n = duals_->samples();
    theta_ = &theta;
    activity_ = &activity;
    size_ = theta.norm();
    jet.start(theta, activity, 1.0);
    start_margins_ = jet.duals().margin(0).col(0);
    std::vector<double> none(static_cast<std::size_t>(jet.sliding().count()), 0.0);
    jet.prescribe(Matrix::Ones(1, n));
    scratch_.resize(theta.size());
    jet.velocity(none.data(), scratch_);
    jet.squared_gradients(own_);
    live_.assign(static_cast<std::size_t>(n), 0);
    slides_.assign(static_cast<std::size_t>(n), 0);
    for (const Member& member : jet.sliding().members()) {
        slides_[member.place.sample] = 1;
        // Both ends of the interval of its multiplier move away as the others' mass falls.
        if (jet.is_idle(member.place.sample) && graph_->node(member.place.node).leak > 0.0) return false;
    }
    start_logs_.resize(n);
    double top = -std::numeric_limits<double>::infinity();
    double least = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < n; ++i) {
        start_logs_[i] = duals_->log_weight_of(i, start_margins_[i]);
        live_[i] = std::isfinite(start_logs_[i]) && !jet.is_idle(i);
        if (!live_[i]) continue;
        if (!(own_[i] > 0.0)) return false;  // a sample that moves nothing keeps its margin, and the clock
        top = std::max(top, start_logs_[i]);
        least = std::min(least, start_margins_[i]);
    }
    if (!(least > 0.0) || !std::isfinite(top)) return false;
    double sum = 0.0;
    for (Index i = 0; i < n; ++i)
        if (live_[i]) sum += std::exp(start_logs_[i] - top);
    start_logs_.array() -= top + std::log(sum);
    Matrix weights(1, n);
    stiffness_ = 0.0;
    for (Index i = 0; i < n; ++i) {
        weights(0, i) = live_[i] ? std::exp(start_logs_[i]) : 0.0;
        stiffness_ = std::max(stiffness_, weights(0, i) * own_[i]);
    }
    jet.start(theta, activity, 1.0);
    jet.prescribe(weights);
    jet.velocity(none.data(), scratch_);
    rate_ = scratch_.norm() / size_;
    if (!(rate_ > 0.0) || !std::isfinite(rate_)) return false;
    stiffness_ /= rate_;
    return true;
}

// A part δ of θ moves a margin by |∇q_i| |θ| δ.
void LateStep::set_tolerance() {
    double steepest = 0.0;
    for (Index i = 0; i < own_.size(); ++i)
        if (live_[i]) steepest = std::max(steepest, size_ * std::sqrt(own_[i]));
    known_ = std::min(rtol_, std::max(kMostMoved / (kLatePart * steepest), kFineEnough));
    tolerance_ = std::max(kLatePart * known_, kFinest);
}

bool LateStep::expand(Jet& jet, double length, Interrupt& interrupt) {
    set_tolerance();
    length_ = length;
    guess();
    return solve(jet, kNewtonPart * tolerance_, interrupt);
}

// What comes next decides by how weights and margins differ there, times |∇f|² once or twice: as little as rounding
// lets them.
bool LateStep::shorten(Jet& jet, double part, Interrupt& interrupt) {
    guess_from_polynomials(part);
    length_ *= part;
    return solve(jet, 0.0, interrupt);
}

bool LateStep::solve(Jet& jet, double enough, Interrupt& interrupt) {
    work_ = 0.0;
    double change = 0.0;
    bool slow = true;
    bool is_steady = length_ < kSteady;
    for (iterations_ = 0; iterations_ < kMaxIterations; ++iterations_) {
        if (interrupt.is_wanted()) throw Abandoned{};
        interpolate();
        if (!run_series(jet)) return refuse(kShrink);
        if (iterations_ == 0) guess_mass();
        if (slow) {
            if (!choose_active()) return refuse(kShrink);
            if (!(is_steady ? find_steady_response(jet) : find_response(jet, interrupt))) return refuse(kShrink);
            is_steady = false;
        }
        factor();
        const double before = change;
        change = correct();
        if (!std::isfinite(change)) return refuse(kShrink);
        interpolate();
        if (iterations_ > 0 && smooth_error() > kHopeless * tolerance_) return refuse(kShrink);
        slow = iterations_ > 0 && change > kSlow * before;
        const bool is_rounding = change > kStalled * before && change <= std::max(tolerance_, kRounding);
        if (change > enough && !(iterations_ > 0 && is_rounding)) continue;
        if (!run_series(jet)) return refuse(kShrink);
        const double miss = std::max(smooth_error(), kDefectShare * defect()) / tolerance_;
        if (!std::isfinite(miss) || !keeps_signs()) return refuse(kShrink);
        propose(miss);
        if (miss > 1.0) last_length_ = 0.0;
        return miss <= 1.0;
    }
    return refuse(kShrink);
}

bool LateStep::refuse(double part) noexcept {
    next_length_ = part * length_;
    last_length_ = 0.0;
    return false;
}

// The weights of the start, extrapolated with the logarithmic rates at the end of the last step.
void LateStep::guess() {
    mass_changes_.setZero();
    for (Index i = 0; i < changes_.cols(); ++i) {
        double rate = 0.0;
        const double last = weights_(kStages - 1, i);
        if (last_length_ > 0.0 && live_[i] && last > 0.0)
            for (int k = 1; k < kStages; ++k) rate += k * coefficients_(k, i) / (last * last_length_);
        for (int node = 0; node < kStages; ++node)
            set(node, i, std::clamp(rate * nodes_.at[node] * length_, -kFarthestGuess, kFarthestGuess));
    }
}

void LateStep::guess_from_polynomials(double part) {
    mass_changes_.setZero();
    for (Index i = 0; i < changes_.cols(); ++i) {
        double c[kStages];
        for (int k = 0; k < kStages; ++k) c[k] = coefficients_(k, i);
        for (int node = 0; node < kStages; ++node) {
            const double value = evaluate(c, kStages - 1, part * nodes_.at[node]);
            set(node, i, value > 0.0 && live_[i] ? std::log(value) - start_logs_[i] : 0.0);
        }
    }
}

// No weight is more than all of them.
void LateStep::set(int node, Index sample, double log_change) {
    changes_(node, sample) = log_change = std::min(log_change, -std::min(start_logs_[sample], 0.0));
    weights_(node, sample) = live_[sample] ? std::exp(start_logs_[sample] + log_change) : 0.0;
}

// What moves next to nothing keeps its weight: a polynomial would lose its sign, which the bounds of what slides are
// made of.
void LateStep::interpolate() {
    const double least = kNegligible * tolerance_;
    for (Index i = 0; i < weights_.cols(); ++i) {
        coefficients_.col(i).setZero();
        if (!live_[i]) {
            if (std::isfinite(start_logs_[i])) coefficients_(0, i) = std::min(std::exp(start_logs_[i]), kLargestIdle);
            continue;
        }
        const double start = std::exp(start_logs_[i]);
        const double most = std::max(start, weights_.col(i).maxCoeff());
        if (most * std::sqrt(own_[i]) * span() / size_ > least)
            coefficients_.col(i) = nodes_.to_monomial * Vector(weights_.col(i).array() - start);
        coefficients_(0, i) += start;
    }
}

// False if the series does not end within the tolerance, or cannot be made.
bool LateStep::run_series(Jet& jet) {
    jet.start(*theta_, *activity_, span());
    jet.prescribe(coefficients_);
    margins_.row(0) = jet.duals().margin(0).col(0).transpose();
    const double scale = largest(*theta_);
    const double margin_scale = start_margins_.cwiseAbs().maxCoeff();
    response_order_ = kStages;
    last_term_ = std::numeric_limits<double>::infinity();
    double term = last_term_;
    while (jet.order() < jet.top() && !(std::max(term, last_term_) < kSeriesPart * tolerance_)) {
        if (!jet.advance()) return false;
        order_ = jet.order();
        margins_.row(order_) = jet.duals().margin(order_).col(0).transpose();
        if (order_ < kStages) continue;
        last_term_ = term;
        term = std::max(largest(jet.theta(order_)) / scale, margins_.row(order_).cwiseAbs().maxCoeff() / margin_scale);
        if (!std::isfinite(term)) return false;
        if (term > kResponseTerm) response_order_ = order_ + 1;
    }
    response_order_ = std::min(response_order_, order_);
    work_ += order_ * order_;
    last_term_ = std::max(term, last_term_);
    if (last_term_ > tolerance_) return false;
    for (int node = 0; node < kStages; ++node)
        for (Index i = 0; i < margins_.cols(); ++i)
            margin_changes_(node, i) = margin_change(nodes_.at[node], i, order_);
    return true;
}

double LateStep::margin_change(double u, Index sample, int order) const noexcept {
    double sum = 0.0;
    for (int k = order; k >= 1; --k) sum = (sum + margins_(k, sample)) * u;
    return sum;
}

double LateStep::smooth_error() const {
    double smooth = 0.0;
    double layer = 0.0;
    for (Index i = 0; i < weights_.cols(); ++i) {
        if (!live_[i]) continue;
        double last = 0.0;
        for (int node = 0; node < kStages; ++node) last += nodes_.to_legendre(kStages - 1, node) * weights_(node, i);
        const double start = std::exp(start_logs_[i]);
        const double move = std::sqrt(own_[i]) / size_;
        // The difference at the begin lasts as long as a weight takes to answer.
        const double width = std::min(span(), 1.0 / (start * own_[i]));
        smooth += std::abs(last) * move * span();
        layer += std::abs(coefficients_(0, i) - start) * move * width;
    }
    return kErrorPart * smooth + layer;
}

// What the weights between the nodes miss of those that the margins have there. A miss of ε changes the margins by
// ε |∇q|² and thus the weights that they have by so much more.
double LateStep::defect() const {
    double worst = 0.0;
    Vector logs(weights_.cols());
    for (int node = -1; node + 1 < kStages; ++node) {
        const double u = 0.5 * ((node < 0 ? 0.0 : nodes_.at[node]) + nodes_.at[node + 1]);
        double top = -std::numeric_limits<double>::infinity();
        for (Index i = 0; i < logs.size(); ++i) {
            logs[i] = start_logs_[i] + duals_->log_weight_change_of(start_margins_[i], margin_change(u, i, order_));
            if (live_[i]) top = std::max(top, logs[i]);
        }
        double sum = 0.0;
        for (Index i = 0; i < logs.size(); ++i)
            if (live_[i]) sum += std::exp(logs[i] - top);
        double missed = 0.0;
        for (Index i = 0; i < logs.size(); ++i) {
            if (!live_[i]) continue;
            double c[kStages];
            for (int k = 0; k < kStages; ++k) c[k] = coefficients_(k, i);
            const double weight = std::exp(logs[i] - top) / sum;
            const double given = evaluate(c, kStages - 1, u);
            const double answer = 1.0 + span() * own_[i] * std::max(weight, given);
            missed += std::abs(weight - given) / answer * std::sqrt(own_[i]) / size_ * span();
        }
        worst = std::max(worst, missed);
    }
    return worst;
}

// The bounds of what slides on a sample have the sign of its weight.
bool LateStep::keeps_signs() const {
    for (Index i = 0; i < weights_.cols(); ++i) {
        if (!slides_[i]) continue;
        Coefficients c = {};
        for (int k = 0; k < kStages; ++k) c[k] = coefficients_(k, i);
        double low = 0.0;
        double high = 0.0;
        range_on_unit(c, kStages - 1, low, high);
        if (low < 0.0) return false;
    }
    return true;
}

void LateStep::propose(double miss) {
    const bool is_taken = miss <= 1.0;
    const double left = kEnoughIterations / std::max(iterations_, 1);
    double growth = iterations_ <= kFewIterations ? (miss < kUnseen ? kFastGrowth : kLargestGrowth)
                                                  : std::clamp(left * left, 1.0, kLargestGrowth);
    // At the highest order the terms may be longer.
    if (last_term_ > 0.0)
        growth = std::min(
            growth, 0.95 * std::pow(kSeriesPart * tolerance_, 1.0 / kMaxOrder) / std::pow(last_term_, 1.0 / order_));
    const double ratio = miss > kUnseen ? std::pow(miss, -1.0 / kStages) : kFastGrowth;
    next_length_ = length_ * std::max(std::min(0.9 * ratio, growth), kShrink);
    last_length_ = is_taken ? length_ : 0.0;
}

void LateStep::weights_at(double u, Matrix& weights) const {
    weights.resize(1, coefficients_.cols());
    for (Index i = 0; i < coefficients_.cols(); ++i) {
        double sum = 0.0;
        for (int k = kStages - 1; k >= 0; --k) sum = sum * u + coefficients_(k, i);
        weights(0, i) = sum;
    }
}

double LateStep::log_mass_at(double u) const {
    double top = -std::numeric_limits<double>::infinity();
    Vector logs(weights_.cols());
    for (Index i = 0; i < logs.size(); ++i) {
        if (!live_[i]) continue;
        logs[i] = duals_->log_weight_of(i, start_margins_[i] + margin_change(u, i, order_));
        top = std::max(top, logs[i]);
    }
    double sum = 0.0;
    for (Index i = 0; i < logs.size(); ++i)
        if (live_[i] && logs[i] > top - kNoShare) sum += std::exp(logs[i] - top);
    return top + std::log(sum);
}

double LateStep::log_time_at(double u) const {
    const LogIntegral time = log_integral([this](double v) { return -log_mass_at(v); }, u);
    return std::log(time.sum * span()) + time.log_unit + duals_->log_factor();
}

}  // namespace reluflow::layered
