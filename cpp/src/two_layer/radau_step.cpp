#include "two_layer/radau_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"
#include "numeric/products.hpp"
#include "two_layer/radau_kernel.hpp"
#include "two_layer/radau_steady.hpp"
#include "two_layer/radau_turning.hpp"

namespace reluflow {

namespace {

/// Simplified Newton gains about a digit per iteration; a step that needs more iterations than this is too long.
constexpr int kMaxIterations = 14;
/// What explicit steps leave of layers, in their tolerances: near the limit of their stability more than one. It is in
/// the state already, however long the first Radau step after them, which ends the layer; held against that step, it
/// would bar Radau steps for ever.
constexpr double kLeftByExplicit = 10.0;
/// The Jacobian is recomputed when an iteration reduces the change by less than this factor: the weights have moved
/// away from those it was computed for.
constexpr double kSlow = 0.15;
/// The same with positive margins, or with the kernels between the nodes. There it is seldom the weights: modes between
/// the nodes converge as slowly with a new one, and a factorisation is the work of several iterations.
constexpr double kSlowGrowing = 0.5;
/// And after the first iteration, if that changed a weight, of all that sum up to one, by more than this.
constexpr double kFarGuess = 1e-3;
/// In a step of less than this many time constants of the fastest neuron the kernel counts as constant, or, with
/// positive margins, as one that grows with the network.
constexpr double kSteady = 0.1;
constexpr double kSteadyGrowing = 0.2;
/// With weight decay neurons turn little where late steps are taken, and the kernel of the start serves for all
/// lengths: Newton's method takes some iterations more, each a hundredth of the work of kernels between the nodes.
constexpr double kSteadyDecaying = std::numeric_limits<double>::infinity();
/// With positive margins the kernels between the nodes replace a constant one when an iteration, not the first, reduces
/// the change by less than this factor: weights of samples that join or leave are not what they are in the mean.
constexpr double kSlowSteady = 0.15;
/// The constant kernel needs every neuron, also where whole sectors are expanded: that is little work beside the
/// systems for the kernels between the nodes in networks of so many neurons.
constexpr Index kFewNeurons = 1000;
/// Below this smallest margin weights are saturated or extremely steep: the few that respond are then solved for by
/// themselves.
constexpr double kSaturated = -100.0;
/// Newton stops at this part of the tolerance of a step.
constexpr double kNewtonPart = 0.02;
/// With positive margins it stops as well where an iteration changes the weights by more than this part of what the
/// last one did, while that is this part of the tolerance: late in a run the rounding of margins is all that it changes
/// then. With negative ones weights of order one cancel, and neurons left for what it had not resolved of them.
constexpr double kStands = 0.7;
constexpr double kStandsPart = 0.1;
/// Not after so few iterations: the first ones tell where weights are, and the next ones where they go.
constexpr int kFewIterations = 3;
/// The same where the kernel turns, and gradients stand. Their rounding grows with the step.
constexpr double kStandsTurning = 0.5;
/// Gradients say little of positive margins once what a step may miss of the neurons moves these by more than this.
constexpr double kMovedMargin = 0.02;
/// Where the kernel turns, gradients say when it stops; weights are resolved as elsewhere, or to some roundings: what
/// holds a neuron beside a boundary is more than gradients.
constexpr double kExact = 1e-15;
/// With positive margins the error of θ is far below what is estimated of it: it has about twice the order of the
/// weights, of whose errors the last coefficients are taken, and what these do within a step they mostly take back.
/// From log t = 30 to 1e5, wine, digits, cancer, circles and random labels come to errors below 1e-11 at rtol = 1e-9.
constexpr double kGrowingPart = 5.0;
/// Not beyond this tolerance: weights that are coarser say nothing of the sides of neurons that slide.
constexpr double kCoarsest = 1e-6;
/// If the error after two iterations exceeds this many tolerances, the step is too long and is given up.
constexpr double kHopeless = 1e3;
/// After this many more, where the kernel turns: the first correction is of a linear model.
constexpr int kSurelyHopeless = 2;
/// Given the weights, the neurons' series continues until its terms are this part of the tolerance.
constexpr double kSeriesPart = 1e-3;
/// The same for errors that tend to zero: a step may change what drives the neurons by this part by mistake.
constexpr double kFollowedPart = 1e-4;
/// No tolerance is below this, since terms are only known to rounding.
constexpr double kFinest = 4.0 * std::numeric_limits<double>::epsilon();
/// Roundings of a network's output, in ulp of the target: what is not known of the weight of an error.
constexpr double kErrorUlps = 64.0;
/// The defect of the weights between nodes overestimates the error of θ, which has a higher order.
constexpr double kDefectShare = 0.01;

}  // namespace

RadauStep::RadauStep(const Dataset& data, Objective objective, const Settings& settings, Index neurons)
    : data_(data),
      objective_(objective),
      is_linear_(!is_of_margins(objective.loss)),
      tolerance_(kLatePart * settings.rtol),
      late_tolerance_(tolerance_),
      largest_norm_(data.X().rowwise().norm().maxCoeff()),
      nodes_(RadauNodes::get()),
      change_(kStages, data.n()),
      log_change_(kStages, data.n()),
      margin_change_(kStages, data.n()),
      mass_change_(kStages),
      uncorrected_(kStages, data.n()),
      coefficients_(kStages, data.n()),
      margins_(kMaxOrder + 1, data.n()),
      moments_of_order_(kMaxOrder + 1, Matrix(data.rank(), neurons)),
      node_moments_(data.rank(), neurons),
      q_now_(data.n()),
      start_weights_(data.n()),
      start_margins_(data.n()),
      start_change_(data.n()),
      live_(data.n(), 1),
      rounding_of_(Vector::Zero(data.n())) {
    const Index most = std::min(kMaxActive, data.n());
    for (auto* list : {&active_, &heavy_, &weighing_}) list->reserve(data.n());
    residual_.resize(kStages * (most + 1));
    mean_weights_.resize(most);
    factored_weights_.resize(kStages, most);
    lu_.reserve(kStages * (most + 1));
    kernels_ = std::make_unique<NodeKernels>(data, neurons, kStages, most);
    steady_ = std::make_unique<SteadyResponse>(data, neurons, objective);
    turning_ = std::make_unique<TurningResponse>(data, neurons, is_linear_ ? 0 : most);
    node_weights_.resize(kStages, data.n());
    node_answers_.resize(kStages, data.n());
    kept_.resize(kStages, data.n());
    kept_end_.setZero(data.n());
    for (auto* of_samples :
         {&asked_, &driven_, &settled_, &settle_of_imaginary_, &settle_imaginary_, &answers_, &mean_over_step_})
        of_samples->resize(data.n());
    direction_.resize(data.rank());
    missed_.setZero(kStages, data.n());
    moved_square_.resize(kStages);
    steady_residual_.resize(kStages, data.n());
    steady_mass_.resize(kStages);
}

RadauStep::~RadauStep() = default;

/// What is known of a try before its first iteration.
void RadauStep::begin(Expansion& expansion, double step, bool quiet) {
    keeps_mass_ = expansion.waveform().keeps_mass();
    decays_ = expansion.waveform().decays();
    is_positive_ = !keeps_mass_ && expansion.waveform().smallest_margin() > 0.0;
    if (!is_linear_) tolerance_ = expansion.state_error();
    growing_part_ = std::clamp(kCoarsest / tolerance_, 1.0, kGrowingPart);
    const double moved = tolerance_ * expansion.series().square() * expansion.waveform().mean_norm();
    if (is_positive_ && moved > kMovedMargin) turns_ = false;
    is_growing_ = is_positive_ && !turns_;
    is_steep_ = !is_linear_ && expansion.waveform().smallest_margin() < kSteep;
    layer_ = 0.0;
    behind_ = kUnlimited;
    left_ = quiet && !is_linear_ ? kLeftByExplicit * expansion.tolerance() : 0.0;
    expansion.waveform().set_step(step);
    guess(expansion, step);
    square_ = expansion.series().square();
    if (is_linear_ || expansion.waveform().has_decay()) note_rounding(expansion.waveform(), expansion.series().terms());
    factorisations_ = 0;
    iterations_ = 0;
    order_ = kMaxOrder;  // the order that an explicit step would have taken
    // Errors that tend to zero are followed to a part of themselves, so that the end is an exponential approach.
    const double followed = std::max(kFinest, kFollowedPart / expansion.waveform().sensitivity(square_));
    if (is_linear_ && !expansion.waveform().decays()) tolerance_ = std::min(late_tolerance_, followed);
    is_steady_ = step < steady_length(expansion) && allows_steady(expansion);
    is_turning_ = turns_ && !keeps_mass_ && !is_growing_ && expansion.waveform().smallest_margin() > kSaturated;
}

bool RadauStep::allows_steady(const Expansion& expansion) const noexcept {
    return (!expansion.sectors() || node_moments_.cols() <= kFewNeurons) &&
           (is_linear_ || expansion.waveform().smallest_margin() > kSaturated);
}

/// The longest step over which the kernel is constant, about.
double RadauStep::steady_length(const Expansion& expansion) const noexcept {
    const double part = decays_ ? kSteadyDecaying : is_positive_ && !turns_ ? kSteadyGrowing : kSteady;
    return part / expansion.fastest();
}

/// Errors are known to the rounding of their targets and of the terms of their outputs. Margins that decay balances
/// stand still, and weights with them, which are then known to the rounding of margins.
void RadauStep::note_rounding(const Waveform& waveform, double terms) {
    const double part = keeps_mass_ ? kErrorUlps * std::numeric_limits<double>::epsilon() : 0.0;
    for (Index i = 0; i < data_.n(); ++i)
        rounding_of_[i] = part * (is_linear_ ? data_.counts()[i] * std::max(std::abs(data_.targets()[i]),
                                                                            waveform.size_of_terms(i, terms))
                                             : (1.0 + std::abs(waveform.margins(0)[i])) * start_weights_[i]);
    rounding_ = rounding_of_.maxCoeff();
}

bool RadauStep::expand(Expansion& expansion, double step, bool with_others, bool quiet) {
    with_others_ = with_others;
    begin(expansion, step, quiet);
    if (!is_steady_ && !is_turning_ && !choose_active(expansion.series().square(), step)) return refuse(step);
    double change = 0.0;
    double before = 0.0;
    bool slow = true;
    for (; iterations_ < kMaxIterations; ++iterations_) {
        run_series(expansion, step);
        if (iterations_ == 0 && !keeps_mass_) guess_mass();
        if (is_growing_ && is_steady_ && iterations_ > 1 && change > kSlowSteady * before && !is_resolved(change))
            slow |= leave_steady(expansion, step);
        if (needs_factors(slow) && !prepare(expansion, step)) return refuse(step);
        before = change;
        const double moved_before = moved_;
        uncorrected_ = change_;
        change = is_turning_ ? correct_turning(expansion) : is_steady_ ? correct_steady(step) : correct(step);
        if (!std::isfinite(change)) break;
        if (iterations_ > (is_turning_ ? kSurelyHopeless : 0) && error(expansion, step) > kHopeless * tolerance_) break;
        const bool is_rounding = is_turning_ && iterations_ > 0 && (change <= kExact || change > kStands * before);
        const double left = left_after(expansion, is_rounding ? 0.0 : change, step) / tolerance_;
        const bool is_tried = is_growing_ ? change > kStands * before : is_turning_ && moved_ > kStands * moved_before;
        const bool is_near = left <= (is_turning_ ? kStandsTurning : kStandsPart);
        const bool stands = iterations_ > 0 && is_tried && is_near;
        slow = is_slow(change, before);
        if (left > kNewtonPart && !stands && (change > rounding_ || still_gains(change, before))) continue;
        with_others_ = with_others;
        const double of_others = follow_others();
        if (!std::isfinite(of_others)) break;
        run_series(expansion, step);
        if (is_growing_ ? !is_solved() : is_steep_ && is_taken_over(expansion.waveform())) continue;
        keep_margins(expansion);
        const double own = std::max(of_others, error(expansion, step)) / tolerance_;
        const double miss = std::max(own, kDefectShare * expansion.defect(1.0) / tolerance_);
        if (!std::isfinite(miss)) break;
        const bool is_taken = conclude(expansion, step, miss, stands ? left : 0.0);
        if (is_taken && is_growing_ && change <= rounding_of_margins()) leave_room_for_rounding(step, change);
        note_moved(expansion, miss + left);
        if (is_taken) expansion.set_missed(missed_of_weights(expansion.waveform().mean_norm()));
        if (is_taken) kept_end_ = start_weights_ + coefficients_.colwise().sum().transpose();
        if (!is_taken && is_growing_) land_before_join(step, own <= 1.0);
        return is_taken;
    }
    refuse(step);
    if (!is_growing_ || !std::isfinite(change)) return false;
    keep_margins(expansion);
    land_before_join(step, false);
    return false;
}

/// How far the step may have moved a neuron, where it missed so many tolerances. With negative margins, and beside
/// samples at rest, pairs of both labels hold neurons at a distance of rounding, and the tolerance counts.
void RadauStep::note_moved(const Expansion& expansion, double missed) noexcept {
    known_to_ = expansion.state_error();
    if (is_growing_ && objective_.resting.is_empty())
        known_to_ = std::min(known_to_, std::max(kFinest, tolerance_ * missed));
}

/// What changes of errors are known to is less than what errors are, since outputs of the start cancel in them. A step
/// that is long beside what holds fitted samples feels that: it goes on as long as iterations gain.
bool RadauStep::still_gains(double change, double before) const noexcept {
    return is_linear_ && !decays_ && iterations_ + 1 < kMaxIterations && change > 0.0 &&
           (iterations_ < kFewIterations || change <= kStands * before);
}

/// Whether the next iteration needs another Jacobian.
bool RadauStep::is_slow(double change, double before) const noexcept {
    const bool is_dear = !is_linear_ && !is_turning_ && !is_steady_;
    if (!is_growing_ && !is_dear) return change > kSlow * before;
    return change > (iterations_ == 0 ? kFarGuess : kSlowGrowing * before);
}

/// Goes on with the kernels between the nodes, unless too many samples respond.
bool RadauStep::leave_steady(const Expansion& expansion, double step) {
    if (!choose_active(expansion.series().square(), step)) return false;
    is_steady_ = false;
    return true;
}

/// Whether the system has to be prepared (again). Errors respond as at the start of the step, whatever the iterate,
/// where the kernel is constant: only factors of an earlier step may be the reason of slow iterations.
bool RadauStep::needs_factors(bool slow) noexcept {
    const bool is_constant = is_linear_ && is_steady_ && iterations_ > 0;
    if (!is_constant) return slow;
    if (!slow || iterations_ < 2 || !steady_->is_old()) return false;
    steady_->forget();
    return true;
}

/// Weights of samples that drive nobody grow as the mass falls: an end of the interval of a multiplier moves with them.
/// Returns what their polynomials may miss of them, if the step is to know them; otherwise they have polynomials where
/// these are as good as the step, and stand still.
double RadauStep::follow_others() {
    const bool is_asked = with_others_;
    double last = 0.0;
    for (int node = 0; node < kStages; ++node)
        last += nodes_.to_legendre(kStages - 1, node) * std::expm1(-mass_change_[node]);
    const double missed = kErrorPart * std::abs(last);
    with_others_ = is_asked || missed <= tolerance_;
    for (int node = 0; node < kStages; ++node) {
        const double growth = with_others_ ? std::expm1(-mass_change_[node]) : 0.0;
        for (Index i = 0; i < data_.n(); ++i)
            if (!live_[i] && !objective_.resting.rests(i)) change_(node, i) = start_weights_[i] * growth;
    }
    return is_asked ? missed : 0.0;
}

/// Weights at the nodes -> series of the neurons, until its terms are negligible -> margins at the nodes.
void RadauStep::run_series(Expansion& expansion, double step) {
    multiply(nodes_.to_monomial, change_, coefficients_);
    expansion.restart();
    expansion.waveform().set_step(step);
    expansion.waveform().prescribe_weights(coefficients_, kStages, with_others_);
    const Index groups = expansion.groups().count();
    if (!weighing_.empty()) expansion.select(weighing_);
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
        if (!expansion.waveform().decays()) continue;
        const double left = expansion.waveform().decay_at(nodes_.at[node]);
        const auto output = (start_margins_ + data_.targets()).transpose();
        margin_change_.row(node) = left * left * (output + q_now_.transpose()) - output;
    }
    expansion.select_all();
}

/// One order of the neurons. The weights of the start and their changes drive separately: where the former cancel,
/// their sum is a gradient far below the rounding of a weight.
void RadauStep::drive(Expansion& expansion, int order, double step) {
    if (order >= kStages) return expansion.drive(nullptr, step);
    q_now_ = coefficients_.row(order).transpose().cwiseProduct(data_.signs());
    expansion.drive(q_now_.data(), step, order == 0);
}

/// Gives the waveform the margins as polynomials over the step, for the clock.
void RadauStep::keep_margins(Expansion& expansion) {
    margins_.row(0) = start_margins_.transpose();
    for (int k = 1; k <= order_; ++k) {
        expansion.margins_of(moments_of_order_[k], q_now_);
        margins_.row(k) = q_now_.transpose();
    }
    expansion.waveform().decay_margins(margins_, order_);
    expansion.waveform().prescribe_margins(margins_, order_ + 1);
}

}  // namespace reluflow
