#include "reluflow/horizon.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "horizon_kernel.hpp"
#include "reluflow/products.hpp"
#include "steady_response.hpp"

namespace reluflow {

namespace {

/// Weights that answer to their own margin by more than this, H p K, are unknowns of Newton's method; the rest follow
/// by substitution, which gains at least so much an iteration.
constexpr double kActiveResponse = 0.1;
/// A step with more unknowns than this at a node is left to the plain series: the support is not yet known.
constexpr Index kMaxActive = 100;
/// Simplified Newton gains about a digit an iteration; a step that needs more is too long.
constexpr int kMaxIterations = 14;
/// The Jacobian is made anew when an iteration gains less than this: the weights have left those it was made for.
constexpr double kSlow = 0.15;
/// The first guess changes no weight by more than this factor, e^1.
constexpr double kFarthestGuess = 1.0;
/// The rate of a smaller weight, which may be a few bits, says nothing; nor does it matter.
constexpr double kLeastFollowed = 1e-280;
/// One correction changes no weight by more than this factor, e^2.
constexpr double kLargestLogChange = 2.0;
/// Over a step of so many time constants of the fastest neuron the kernel hardly changes.
constexpr double kSteady = 0.1;
/// Newton stops at this part of the tolerance of a step.
constexpr double kNewtonPart = 0.02;
/// After two iterations the error of the weights themselves shows: beyond so many tolerances the step is too long.
constexpr double kHopeless = 1e3;
/// The last Legendre coefficient of the weights overstates the error of θ, whose order at Radau nodes is about twice as
/// high.
constexpr double kErrorPart = 0.1;
/// Given the weights, the neurons' series goes on until its terms are this part of the tolerance.
constexpr double kSeriesPart = 1e-2;
/// The defect of the weights between the nodes counts by what it does to θ, whose order is higher.
constexpr double kDefectShare = 0.01;
constexpr double kShrink = 0.4;
constexpr double kLargestGrowth = 6.0;

double legendre(int degree, double x) noexcept {
    double before = 1.0;
    double value = x;
    if (degree == 0) return 1.0;
    for (int k = 1; k < degree; ++k) {
        const double next = ((2 * k + 1) * x * value - k * before) / (k + 1);
        before = value;
        value = next;
    }
    return value;
}

}  // namespace

/// Radau nodes: the roots of P_s - P_{s-1} on [-1, 1], moved to (0, 1]; the last one is 1.
struct Horizon::Nodes {
    double at[kStages] = {};
    Matrix to_monomial = Matrix(kStages, kStages);  // node values to coefficients
    Matrix integration = Matrix(kStages, kStages);  // ∫_0^{c_k} of the Lagrange polynomials
    Matrix to_legendre = Matrix(kStages, kStages);  // node values to Legendre coefficients on [0, 1]

    Nodes() {
        const auto radau = [](double x) { return legendre(kStages, x) - legendre(kStages - 1, x); };
        constexpr int kScan = 400;  // the gaps between six nodes are far wider than 1/200
        int found = 0;
        for (int i = 0; i < kScan && found < kStages - 1; ++i) {
            double low = -1.0 + 2.0 * i / kScan;
            double high = -1.0 + 2.0 * (i + 1) / kScan;
            if (radau(low) * radau(high) > 0.0) continue;
            for (int pass = 0; pass < 60; ++pass) {
                const double middle = 0.5 * (low + high);
                (radau(low) * radau(middle) <= 0.0 ? high : low) = middle;
            }
            at[found++] = 0.5 * (1.0 + 0.5 * (low + high));
        }
        at[kStages - 1] = 1.0;
        Matrix powers(kStages, kStages);
        Matrix integrals(kStages, kStages);
        Matrix values(kStages, kStages);
        for (int k = 0; k < kStages; ++k)
            for (int j = 0; j < kStages; ++j) {
                powers(k, j) = std::pow(at[k], j);
                integrals(k, j) = std::pow(at[k], j + 1) / (j + 1);
                values(k, j) = legendre(j, 2.0 * at[k] - 1.0);
            }
        to_monomial = powers.inverse();
        integration = integrals * to_monomial;
        to_legendre = values.inverse();
    }

    static const Nodes& get() {
        static const Nodes nodes;
        return nodes;
    }
};

Horizon::Horizon(const Dataset& data, Objective objective, const Settings& settings, Index neurons)
    : data_(data),
      objective_(objective),
      tolerance_(kLatePart * settings.rtol),
      nodes_(Nodes::get()),
      change_(kStages, data.n()),
      log_change_(kStages, data.n()),
      margin_change_(kStages, data.n()),
      mass_change_(kStages),
      coefficients_(kStages, data.n()),
      margins_(kMaxOrder + 1, data.n()),
      moments_of_order_(kMaxOrder + 1, Matrix(data.rank(), neurons)),
      node_moments_(data.rank(), neurons),
      q_now_(data.n()),
      start_weights_(data.n()),
      start_margins_(data.n()),
      live_(data.n(), 1) {
    const Index most = std::min(kMaxActive, data.n());
    active_.reserve(data.n());
    residual_.resize(kStages * (most + 1));
    mean_weights_.resize(most);
    lu_.reserve(kStages * (most + 1));
    kernels_ = std::make_unique<NodeKernels>(data, neurons, kStages, most);
    steady_ = std::make_unique<SteadyResponse>(data, neurons, nodes_.integration);
    steady_residual_.resize(kStages, data.n());
    steady_mass_.resize(kStages);
    answers_.resize(data.n());
    mean_over_step_.resize(data.n());
}

Horizon::~Horizon() = default;

bool Horizon::expand(Expansion& expansion, double step) {
    expansion.waveform().set_step(step);
    guess(expansion, step);
    factorisations_ = 0;
    iterations_ = 0;
    order_ = kMaxOrder;  // what a series would have taken
    is_steady_ = !expansion.is_by_sector() && step * expansion.fastest() < kSteady;
    if (!is_steady_ && !choose_active(expansion.series().square(), step)) return refuse(step);
    const double norm = data_.X().rowwise().norm().maxCoeff();
    double change = 0.0;
    bool slow = true;
    for (; iterations_ < kMaxIterations; ++iterations_) {
        run_series(expansion, step);
        if (iterations_ == 0) guess_mass();
        if (slow && !prepare(expansion, step)) return refuse(step);
        const double before = change;
        change = is_steady_ ? correct_steady() : correct();
        if (!std::isfinite(change)) break;
        if (iterations_ > 0 && error(step) > kHopeless * tolerance_) break;
        slow = change > kSlow * before;
        if (change * step * norm > kNewtonPart * tolerance_) continue;
        run_series(expansion, step);
        keep_margins(expansion);
        const double miss = std::max(error(step), kDefectShare * expansion.defect(1.0)) / tolerance_;
        if (!std::isfinite(miss)) break;
        const double ratio = miss > 0.0 ? std::pow(miss, -1.0 / kStages) : kLargestGrowth;
        next_step_ = step * std::clamp(0.9 * ratio, kShrink, kLargestGrowth);
        last_step_ = miss <= 1.0 ? step : 0.0;
        return miss <= 1.0;
    }
    return refuse(step);
}

bool Horizon::refuse(double step) noexcept {
    next_step_ = kShrink * step;
    last_step_ = 0.0;
    return false;
}

/// The weights of the start, moved on at the logarithmic rates at which the last step left them.
void Horizon::guess(const Expansion& expansion, double step) {
    start_margins_ = expansion.margins();
    for (Index i = 0; i < data_.n(); ++i) {
        start_weights_[i] = data_.y()[i] * expansion.waveform().signed_weights(0)[i];
        live_[i] = expansion.waveform().is_live(i);
        double rate = 0.0;
        if (last_step_ > 0.0 && start_weights_[i] >= kLeastFollowed && live_[i])
            for (int k = 1; k < kStages; ++k) rate += k * coefficients_(k, i) / (start_weights_[i] * last_step_);
        for (int node = 0; node < kStages; ++node)
            set_log_change(node, i, std::clamp(rate * nodes_.at[node] * step, -kFarthestGuess, kFarthestGuess));
    }
}

/// The weight of a sample that drives nothing stands still, and is not followed.
void Horizon::set_log_change(int node, Index sample, double log_change) {
    log_change_(node, sample) = log_change;
    const double start = start_weights_[sample];
    const double next = start > 0.0 ? start * std::exp(log_change) : 0.0;  // not 0 ∞
    change_(node, sample) =
        !live_[sample] || start == 0.0 ? 0.0 : (next > 1.0 ? 1.0 - start : start * std::expm1(log_change));
}

double Horizon::relative_work(const Expansion& expansion) const noexcept {
    const double groups = static_cast<double>(expansion.groups().count());
    const double drive =
        4.0 * static_cast<double>(data_.n() * data_.rank()) * groups;  // gradient and margins of one order
    const double plain = kMaxOrder * drive + expansion.series().work(kMaxOrder);
    const double series = kStages * drive + expansion.series().work(order_);
    const double unknowns = kStages * (static_cast<double>(active_.size()) + 1.0);
    // Factorisations run about three times as fast as the rest, and each comes with kernels of about the same cost.
    const double factorisation = is_steady_ ? steady_->work() : 2.0 * 2.0 / 3.0 / 3.0 * unknowns * unknowns * unknowns;
    return ((iterations_ + 2) * series + order_ * drive + factorisations_ * factorisation) / plain;
}

/// Weights at the nodes -> neurons' series, until its terms vanish -> margins at the nodes.
void Horizon::run_series(Expansion& expansion, double step) {
    multiply(nodes_.to_monomial, change_, coefficients_);
    expansion.restart();
    expansion.waveform().set_step(step);
    expansion.waveform().prescribe_weights(coefficients_, kStages);
    const Index groups = expansion.groups().count();
    order_ = 0;
    for (int k = 0; k <= kMaxOrder; ++k) {
        if (k > 0) drive(expansion, k - 1, step);
        moments_of_order_[k].leftCols(groups) = expansion.moments().leftCols(groups);
        order_ = k;
        if (k > kStages && expansion.series().relative_size(k) < kSeriesPart * tolerance_) break;
    }
    for (int node = 0; node < kStages; ++node) {
        node_moments_.leftCols(groups) = moments_of_order_[order_].leftCols(groups);
        for (int k = order_ - 1; k >= 1; --k)
            node_moments_.leftCols(groups) =
                nodes_.at[node] * node_moments_.leftCols(groups) + moments_of_order_[k].leftCols(groups);
        node_moments_.leftCols(groups) *= nodes_.at[node];
        expansion.margins_of(node_moments_, q_now_);
        margin_change_.row(node) = q_now_.transpose();
    }
}

/// One order of the neurons. The weights of the start and their changes drive apart: where the former balance, their
/// sum is a gradient far below the rounding of a weight.
void Horizon::drive(Expansion& expansion, int order, double step) {
    if (order >= kStages) return expansion.drive(nullptr, step);
    q_now_ = coefficients_.row(order).transpose().cwiseProduct(data_.y());
    expansion.drive(q_now_.data(), step, order == 0);
}

/// The margins as polynomials over the step, for the clock.
void Horizon::keep_margins(Expansion& expansion) {
    margins_.row(0) = start_margins_.transpose();
    for (int k = 1; k <= order_; ++k) {
        expansion.margins_of(moments_of_order_[k], q_now_);
        margins_.row(k) = q_now_.transpose();
    }
    expansion.waveform().prescribe_margins(margins_, order_ + 1);
}

bool Horizon::choose_active(double square, double step) {
    active_.clear();
    for (Index i = 0; i < data_.n(); ++i)
        if (live_[i] && start_weights_[i] * step * square * data_.X().row(i).squaredNorm() > kActiveResponse)
            active_.push_back(static_cast<int>(i));
    return !active_.empty() && std::ssize(active_) <= kMaxActive;
}

/// A first value of log D: what the weights say on average.
void Horizon::guess_mass() {
    for (int node = 0; node < kStages; ++node) {
        double sum = 0.0;
        double share = 0.0;
        for (Index i = 0; i < data_.n(); ++i) {
            if (!live_[i] || start_weights_[i] == 0.0) continue;
            const double follows = log_weight_change(objective_.loss, start_margins_[i], margin_change_(node, i));
            sum += weight_at(node, i) * (follows - log_change_(node, i));
            share += weight_at(node, i);
        }
        mass_change_[node] = sum / share;
    }
}

/// Where the kernel stands still all samples are solved for at once, unless too many directions of it count.
bool Horizon::prepare(Expansion& expansion, double step) {
    if (is_steady_ && prepare_steady(expansion, step)) return true;
    is_steady_ = false;
    if (!choose_active(expansion.series().square(), step)) return false;
    factor_jacobian(expansion, step);
    return true;
}

bool Horizon::prepare_steady(Expansion& expansion, double step) {
    for (Index i = 0; i < data_.n(); ++i) {
        double mean = 0.0;
        for (int node = 0; node < kStages; ++node) mean += nodes_.integration(kStages - 1, node) * weight_at(node, i);
        mean_over_step_[i] = live_[i] ? std::max(mean, 0.0) : 0.0;
        const double margin = start_margins_[i] + margin_change_(kStages / 2, i);
        answers_[i] = objective_.loss == LossKind::logistic ? 1.0 - weight(objective_.loss, margin) : 1.0;
    }
    ++factorisations_;
    return steady_->prepare(expansion, mean_over_step_, answers_, step);
}

void Horizon::factor_jacobian(Expansion& expansion, double step) {
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
        kernels_->add_group(expansion, group, mean_weights_, step, nodes_.integration, jacobian);
    scale_jacobian(jacobian);
    lu_.factor();
    ++factorisations_;
}

/// From kernels to the derivatives of the equations: rows times d log|ℓ'| / dq, columns times p (the unknowns are
/// log p), and the rows and columns of log D and Σ p = 1.
void Horizon::scale_jacobian(Eigen::Map<Matrix>& jacobian) const {
    const Index count = static_cast<Index>(active_.size());
    for (int node = 0; node < kStages; ++node) {
        const Index row = node * (count + 1);
        for (Index k = 0; k < count; ++k)
            if (objective_.loss == LossKind::logistic)
                jacobian.row(row + k) *=
                    1.0 - weight(objective_.loss, start_margins_[active_[k]] + margin_change_(node, active_[k]));
    }
    for (int node = 0; node < kStages; ++node) {
        const Index row = node * (count + 1);
        for (Index k = 0; k < count; ++k) {
            const double weight_now = weight_at(node, active_[k]);
            jacobian.col(row + k) *= weight_now;
            jacobian(row + k, row + k) += 1.0;
            jacobian(row + k, row + count) = 1.0;
            jacobian(row + count, row + k) = weight_now;
        }
    }
}

/// One correction of the weights at the nodes; returns the largest change.
double Horizon::correct() {
    const Index count = static_cast<Index>(active_.size());
    auto residual = residual_.head(kStages * (count + 1));
    double change = 0.0;
    for (int node = 0; node < kStages; ++node) {
        const Index row = node * (count + 1);
        std::size_t next_active = 0;
        double sum = 0.0;
        for (Index i = 0; i < data_.n(); ++i) {
            const double follows =
                log_weight_change(objective_.loss, start_margins_[i], margin_change_(node, i)) - mass_change_[node];
            const double before = change_(node, i);
            if (next_active < active_.size() && active_[next_active] == i)
                residual[row + static_cast<Index>(next_active++)] = follows - log_change_(node, i);
            else
                set_log_change(node, i, follows);
            if (!live_[i]) continue;
            change = std::max(change, std::abs(change_(node, i) - before));
            sum += change_(node, i);
        }
        residual[row + count] = -sum;
    }
    lu_.solve(residual);
    if (!residual.allFinite()) return std::numeric_limits<double>::quiet_NaN();
    for (int node = 0; node < kStages; ++node) {
        const Index row = node * (count + 1);
        for (Index k = 0; k < count; ++k) {
            const double before = change_(node, active_[k]);
            const double step = std::clamp(residual[row + k], -kLargestLogChange, kLargestLogChange);
            set_log_change(node, active_[k], log_change_(node, active_[k]) + step);
            change = std::max(change, std::abs(change_(node, active_[k]) - before));
        }
        mass_change_[node] += residual[row + count];
    }
    return change;
}

/// The same for all samples together.
double Horizon::correct_steady() {
    for (int node = 0; node < kStages; ++node) {
        double sum = 0.0;
        for (Index i = 0; i < data_.n(); ++i) {
            const double follows =
                log_weight_change(objective_.loss, start_margins_[i], margin_change_(node, i)) - mass_change_[node];
            steady_residual_(node, i) = live_[i] && start_weights_[i] > 0.0 ? follows - log_change_(node, i) : 0.0;
            if (live_[i]) sum += change_(node, i);
        }
        steady_mass_[node] = -sum;
    }
    steady_->solve(steady_residual_, steady_mass_);
    if (!steady_residual_.allFinite()) return std::numeric_limits<double>::quiet_NaN();
    double change = 0.0;
    for (int node = 0; node < kStages; ++node) {
        for (Index i = 0; i < data_.n(); ++i) {
            const double before = change_(node, i);
            const double step = std::clamp(steady_residual_(node, i), -kLargestLogChange, kLargestLogChange);
            set_log_change(node, i, log_change_(node, i) + step);
            change = std::max(change, std::abs(change_(node, i) - before));
        }
        mass_change_[node] += steady_mass_[node];
    }
    return change;
}

/// What the polynomials of the weights may miss: their last Legendre coefficient over the step, and at the start the
/// difference to the true weights, which lasts as long as a sample's weight needs to follow (1 over p K).
double Horizon::error(double step) const {
    double smooth = 0.0;
    double layer = 0.0;
    std::size_t next_active = 0;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!live_[i]) continue;
        double last = 0.0;
        for (int node = 0; node < kStages; ++node) last += nodes_.to_legendre(kStages - 1, node) * change_(node, i);
        const double norm = data_.X().row(i).norm();
        smooth += std::abs(last) * norm * step;
        double width = step;
        if (is_steady_) {
            const double rate = start_weights_[i] * steady_->own(i);
            if (rate > 0.0) width = std::min(width, 1.0 / rate);
        } else if (next_active < active_.size() && active_[next_active] == i) {
            const double rate = start_weights_[i] * kernels_->own()[next_active];
            width = std::min(width, 1.0 / rate);
            ++next_active;
        }
        layer += std::abs(coefficients_(0, i)) * norm * width;
    }
    return kErrorPart * smooth + layer;
}

}  // namespace reluflow
