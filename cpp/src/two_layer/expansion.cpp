#include "two_layer/expansion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "two_layer/let_go.hpp"

namespace reluflow {

namespace {

/// The term before the last may exceed the tolerance by this factor: if both are this small, so is the tail.
constexpr double kTermBeforeLast = 30.0;
/// Initial reserve, in groups that slide; grows geometrically.
constexpr std::size_t kHoldingGroups = 64;
/// Bound of what truncation does to margins, |θ|² |x| times a term: the weights and the loss of the next step follow
/// from margins, whatever rtol allows for θ. At rtol 1e-9 it matters from |θ|² = 1e5 on.
constexpr double kMarginTol = 1e-6;
/// No tolerance is below this, since terms are only known to rounding.
constexpr double kFinest = 4.0 * std::numeric_limits<double>::epsilon();
/// With weight decay large margins shrink by many e-foldings of the mass in a time in which neurons hardly move. The
/// weights of samples that neurons slide on follow it, although no neuron shows it: their series has to hold, too.
constexpr double kMassFall = 2.0;
/// Where its time is not known a step is looked at shorter by this factor.
constexpr double kShorter = 0.8;
/// A step is far too long if its last terms are this many times the state.
constexpr double kOverlong = 1e40;
/// The order that the first step is expected to need.
constexpr int kFirstOrder = 12;
/// Outputs below this part of the targets, or of a margin of 1, change no weight.
constexpr double kNoOutput = 1e-20;
/// A neuron whose direction is this near to one that stands still has turned: it is known to no more than that.
constexpr double kTurned = 1e-10;
/// A gradient of this many times the rate of the decay makes a neuron grow; that of a live neuron at a critical point
/// is one times that rate, to what the errors that are left make of it.
constexpr double kGrows = 1.0 + 1e-6;
/// A gradient below this part of the decay turns a neuron so slowly that nothing is left of it when it has turned.
constexpr double kHardly = 1e-3;

/// Where |w| is tiny beside |a|, boundaries are met one after the other in a tiny part of the time that outputs allow
/// for a step, and no state in it is known to less than its rounding: in one step w may grow by this factor.
constexpr double kOutgrown = 1e4;
/// Gradients below this part of the largest may be rounding.
constexpr double kNoGradient = 1e-8;

/// Marks the samples on which a group of these slopes is active. A sample on which all its neurons slide is not marked:
/// its margin is zero for ever, and it acts through multipliers alone.
void mark_live(std::span<const std::int8_t> slopes, bool leaks, std::span<char> live) noexcept {
    if (leaks)
        for (std::size_t i = 0; i < live.size(); ++i) live[i] = static_cast<char>(live[i] | (slopes[i] != 0));
    else
        for (std::size_t i = 0; i < live.size(); ++i) live[i] = static_cast<char>(live[i] | (slopes[i] > 0));
}

}  // namespace

Expansion::Expansion(const Dataset& data, Objective objective, const Settings& settings, const State& state, Pool& pool)
    : data_(data),
      state_(state),
      tolerance_(kTruncationPart * settings.rtol),
      present_tolerance_(tolerance_),
      leaks_(state.parameters.leak() > 0.0),
      groups_(state.neurons()),
      coupling_(data, state.neurons(), state.parameters.leak(), pool),
      waveform_(data, objective),
      defect_(data, objective),
      by_neuron_(state, groups_, settings.atol / settings.rtol, pool),
      sectors_(state, groups_, settings.atol / settings.rtol, pool),
      gradients_(data.rank(), state.neurons()),
      moments_(data.rank(), state.neurons()),
      start_gradients_(data.rank(), state.neurons()),
      own_gradients_(state.neurons(), data.rank()),
      owed_rows_(state.neurons(), data.rank()),
      owed_gradients_(data.rank(), state.neurons()),
      q_(data.n()),
      q_next_(data.n()),
      column_(data.rank()),
      output_scale_(is_of_margins(objective.loss) ? 1.0 : data.targets().cwiseAbs().maxCoeff()),
      slot_of_group_(state.neurons(), -1),
      held_parts_(std::min(kHoldingGroups, static_cast<std::size_t>(state.neurons())),
                  Matrix(kMaxOrder + 2, data.rank())),
      start_held_(static_cast<Index>(held_parts_.size()), data.rank()),
      live_(data.n(), 1),
      moving_(state.neurons(), 1) {}

void Expansion::start() {
    const Pattern& pattern = state_.mode.pattern();
    if (groups_.update(pattern)) coupling_.set_slopes(pattern, groups_);
    find_live();
    int slots = 0;  // sliding sets can change while the pattern stays, so they are read in every step
    for (Index c = 0; c < groups_.count(); ++c) slot_of_group_[c] = held(c).empty() ? -1 : slots++;
    if (static_cast<int>(held_parts_.size()) < slots) {
        held_parts_.resize(2 * slots, Matrix(kMaxOrder + 2, data_.rank()));
        start_held_.resize(2 * slots, data_.rank());
    }
    if (state_.is_current()) {
        const int order = series_->order() > 0 ? series_->order() : kFirstOrder;
        if (sectors_.is_worth(order))
            series_ = &sectors_;
        else
            series_ = &by_neuron_;
        series_->start(moments_);
    } else {
        series_->restart(moments_);  // from the sums of the sectors, which have been carried here
    }
    coupling_.margins(moments_, q_);
    q_ -= state_.offsets;
    waveform_.start(q_, live_);
    missed_ = std::numeric_limits<double>::infinity();
    present_tolerance_ = std::min(tolerance_, std::max(kFinest, kMarginTol / waveform_.sensitivity(series_->square())));
    coupling_.gradients(waveform_.signed_weights(0), gradients_);
    project(0);
    if (waveform_.is_owed()) add_owed();
    start_gradients_.leftCols(groups_.count()) = gradients_.leftCols(groups_.count());
    for (int slot = 0; slot < slots; ++slot) start_held_.row(slot) = held_parts_[slot].row(0);
    fastest_ = 0.0;
    for (Index c = 0; c < groups_.count(); ++c)
        if (moving_[c]) fastest_ = std::max({fastest_, gradients_.col(c).stableNorm(), waveform_.decay_rate()});
}

/// A gradient that is hardly more than what is owed is one of weights that cancel, or of none that acts: such a neuron
/// decays, or is to rest.
void Expansion::add_owed() {
    coupling_.gradients(waveform_.owed().data(), owed_gradients_);
    own_gradients_.topRows(groups_.count()) = gradients_.leftCols(groups_.count()).transpose();
    for (Index c = 0; c < groups_.count(); ++c) {
        column_ = owed_gradients_.col(c);
        held(c).project(column_.data());
        if (!(column_.norm() <= kMostOwed * gradients_.col(c).norm())) column_.setZero();
        owed_rows_.row(c) = column_.transpose();
        gradients_.col(c) += column_;
    }
}

double Expansion::longest() const noexcept {
    double longest = std::numeric_limits<double>::infinity();
    for (Index j = 0; j < state_.neurons(); ++j) {
        const double size = kOutgrown * series_->size(j);
        const double output = std::abs(state_.parameters.a[j]);
        if (size == 0.0 || kMaxRate * output <= size) continue;
        const double gradient = start_gradients_.col(groups_.of(j)).stableNorm();
        if (gradient > kNoGradient * fastest_) longest = std::min(longest, size / (output * gradient));
    }
    return longest;
}

/// Truncation of θ moves margins, and they the weights, whose own series may end with terms larger by kTermBeforeLast.
/// It is what is allowed, not what a step shows: a neuron is held by one measure from step to step. The weights of late
/// steps follow from the neurons, so that what moved margins before is forgotten; they may be missed by what moves θ by
/// the tolerance over the step, but where the loss stalls they are known far better, and what is measured counts,
/// beside rounding of the margins: multipliers that pass their ends by less than the tolerance do so for ever.
double Expansion::weight_error() const noexcept {
    const double moved = kLatePart / kTruncationPart * tolerance_;
    const double half_of_sensitivity = 0.5 * waveform_.sensitivity(series_->square());
    const double measured = missed_ + kFinest * half_of_sensitivity;
    const double late = std::min({kMarginTol, moved / std::min(1.0, waveform_.step()), measured});
    const double of_margins = present_tolerance_ * half_of_sensitivity;
    // Errors that tend to zero are known to rounding only, so their weights may be known to no digit at all.
    const double plain = std::min(waveform_.is_linear() ? 1.0 : kMarginTol, kTermBeforeLast * of_margins);
    return std::max(waveform_.fine_weight_error(), waveform_.is_prescribed() ? late : plain);
}

/// A neuron that slides is held by weights, and these by margins. Where margins were known to more than some e-foldings
/// its multipliers would be others at each start, and it would leave and come back.
double Expansion::state_error() const noexcept {
    const double allowed = kLatePart / kTruncationPart * tolerance_;
    if (waveform_.is_linear() || waveform_.smallest_margin() <= 0.0) return allowed;
    const double margin_of_unit = series_->square() * waveform_.mean_norm();
    return std::min(allowed, std::max(kMostMoved / margin_of_unit, kLatePart * kFineEnough));
}

double Expansion::expand(double step, double fine) {
    waveform_.set_step(step);
    double before = 0.0;
    double last = 0.0;
    double part = 1.0;
    double let_go = -std::numeric_limits<double>::infinity();
    bool by_margins = false;
    const double enough = std::max(std::min(kFinest, present_tolerance_), fine * present_tolerance_);
    for (int k = 0; k < kMaxOrder; ++k) {
        if (k > 0) {
            coupling_.margins(moments_, q_next_);
            waveform_.push(q_next_);
        }
        if (k == 1) {
            part = waveform_.saturated_part();
            const double fall = waveform_.fall_by_decay();
            if (fall > kMassFall) part = std::min(part, kMassFall / fall);
            by_margins = waveform_.outruns_time();
            if (by_margins) let_go = log_let_go(data_, waveform_, state_);
            by_margins = by_margins && let_go < kUnseenWeight;
        }
        if (part < kLeastAllowed) return part;
        if (k == 0)
            drive(nullptr, step, true);  // the gradients of the start
        else
            drive(waveform_.signed_weights(k), step);
        before = last / kTermBeforeLast;
        last =
            std::max(series_->relative_size(k + 1), k == 0 ? 1.0 : (by_margins ? 0.0 : waveform_.relative_time_term()));
        if (k + 1 >= kMinOrder && std::max(last, before) <= enough) break;
    }
    // The squares of such terms overflow, and what came of that was taken for a size of zero.
    const double largest = moments_.leftCols(groups_.count()).cwiseAbs().sum();
    if (!(largest <= kOverlong * series_->square())) return std::numeric_limits<double>::quiet_NaN();
    if (by_margins) {
        waveform_.keep_time_by_margins();
        while (part >= kLeastAllowed && let_go + waveform_.fall_of_mass(part) > kUnseenWeight) part *= kShorter;
    }
    if (std::max(last, before) <= present_tolerance_) return known_time(part);
    return known_time(std::min({part, std::pow(present_tolerance_ / last, 1.0 / kMaxOrder),
                                std::pow(present_tolerance_ / before, 1.0 / (kMaxOrder - 1))}));
}

/// The part of a step up to which the series of time is known. Weight decay moves margins by it, and they the mass,
/// which time follows: where these outdo each other the series diverges, and its terms say nothing at its end.
double Expansion::known_time(double part) const {
    if (!waveform_.decays() || !waveform_.feels_decay(part)) return part;
    while (part >= kLeastAllowed && !(waveform_.relative_time_term(part) <= present_tolerance_)) part *= kShorter;
    return part;
}

void Expansion::restart() {
    series_->restart(moments_);
    waveform_.restart(q_);
}

void Expansion::give_up() {
    restart();
    gradients_.leftCols(groups_.count()) = start_gradients_.leftCols(groups_.count());
    for (Index c = 0; c < groups_.count(); ++c)
        if (slot_of_group_[c] >= 0) held_parts_[slot_of_group_[c]].row(0) = start_held_.row(slot_of_group_[c]);
}

/// Finds the active samples. Groups that cannot move do not count: with ReLU those that are inactive or slide on every
/// sample, and neurons at zero. Those have no sliding sets, whatever their pattern, and do not speak for their groups.
void Expansion::find_live() {
    if (live_version_ == state_.version()) return;
    live_version_ = state_.version();
    std::fill_n(moving_.begin(), groups_.count(), char{0});
    const Parameters& neurons = state_.parameters;
    for (Index j = 0; j < neurons.neurons(); ++j) {
        const int group = groups_.of(j);
        if (moving_[group] != 0 || (neurons.a[j] == 0.0 && neurons.w.col(j).isZero(0.0))) continue;
        moving_[group] = 1;
        groups_.lead(group, static_cast<int>(j));
    }
    std::fill(live_.begin(), live_.end(), char{0});
    for (Index c = 0; c < groups_.count(); ++c)
        if (moving_[c]) mark_live(coupling_.sides(c), leaks_, live_);
    for (Index i = 0; i < data_.n(); ++i)
        if (data_.counts()[i] == 0.0) live_[i] = 0;
    // If nothing moves, the weights do not matter; all samples are taken as active to avoid an empty sum.
    if (std::none_of(live_.begin(), live_.end(), [](char live) { return live != 0; }))
        std::fill(live_.begin(), live_.end(), char{1});
}

void Expansion::drive(const double* signed_weights, double step, bool beside_start) {
    const int order = series_->order();
    if (signed_weights) {
        coupling_.gradients(signed_weights, gradients_);
        project(order);
    } else {
        gradients_.leftCols(groups_.count()).setZero();
        for (Index c = 0; c < groups_.count(); ++c)
            if (slot_of_group_[c] >= 0) held_parts_[slot_of_group_[c]].row(order).setZero();
    }
    if (beside_start) {
        gradients_.leftCols(groups_.count()) += start_gradients_.leftCols(groups_.count());
        for (Index c = 0; c < groups_.count(); ++c)
            if (slot_of_group_[c] >= 0) held_parts_[slot_of_group_[c]].row(order) += start_held_.row(slot_of_group_[c]);
    }
    series_->push(gradients_, step, moments_);
}

void Expansion::project(Index group, double* v) const noexcept {
    held(group).project(v);
}

/// Where a loss stalls, 10⁻⁹ of the gradient at the start is left. A late step makes 10⁵ times as much of its rounding,
/// and is followed by one that begins with a layer where that is off the boundaries.
void Expansion::project(int order) {
    for (Index c = 0; c < groups_.count(); ++c) {
        if (slot_of_group_[c] < 0) continue;
        Matrix& taken = held_parts_[slot_of_group_[c]];
        column_ = gradients_.col(c);
        taken.row(order) = column_.transpose();
        if (order == 0)
            held(c).project_fully(column_.data());
        else
            held(c).project(column_.data());
        taken.row(order) -= column_.transpose();
        gradients_.col(c) = column_;
    }
}

const Matrix* Expansion::held_part(Index group) const noexcept {
    return slot_of_group_[group] < 0 ? nullptr : &held_parts_[slot_of_group_[group]];
}

double Expansion::speed_square() const noexcept {
    double sum = 0.0;
    if (sectors() && !waveform_.decays()) {
        for (Index c = 0; c < groups_.count(); ++c) sum += sectors_.sector(c).speed_square(start_gradients_.col(c));
        return sum;
    }
    const double rate = waveform_.decay_rate();
    const Parameters& neurons = state_.parameters;
    for (Index j = 0; j < neurons.neurons(); ++j) {
        const auto g = start_gradients_.col(groups_.of(j));
        const double output_rate = g.dot(neurons.w.col(j)) - rate * neurons.a[j];
        sum += (neurons.a[j] * g - rate * neurons.w.col(j)).squaredNorm() + output_rate * output_rate;
    }
    return sum;
}

bool Expansion::vanishes() const noexcept {
    const Parameters& neurons = state_.parameters;
    double square = series_->square();
    if (neurons.has_lifted()) {
        square = 0.0;
        for (int j = 0; j < static_cast<int>(neurons.neurons()); ++j) square += std::exp(2.0 * neurons.log_size(j));
    }
    return square * waveform_.largest_norm() < kNoOutput * output_scale_;
}

double Expansion::decaying_rate() const noexcept {
    const bool vanish = vanishes();
    double fastest = 0.0;
    if (!vanish && series_->square() > 0.0) fastest = std::sqrt(speed_square() / series_->square());
    for (Index j = 0; j < state_.parameters.neurons(); ++j) {
        const auto g = start_gradients_.col(groups_.of(j));
        fastest = std::max(fastest, rate_to_come(j, g, fastest));
        if (vanish) fastest = std::max(fastest, turn_of(j, g));
    }
    return fastest;
}

/// The rate at which a gradient turns a neuron.
double Expansion::turn_of(Index neuron, const GradientView& g) const noexcept {
    const auto w = state_.parameters.w.col(neuron);
    const double a = state_.parameters.a[neuron];
    const double square = a * a + w.squaredNorm();
    if (square == 0.0) return 0.0;
    const double output_rate = g.dot(w);
    const double growth = 2.0 * a * output_rate / square;
    const double turn_a = output_rate - growth * a;
    return std::sqrt(((a * g - growth * w).squaredNorm() + turn_a * turn_a) / square);
}

double Expansion::rate_to_come(Index neuron, const GradientView& g, double known) const noexcept {
    const double rate = waveform_.decay_rate();
    const auto w = state_.parameters.w.col(neuron);
    const double a = state_.parameters.a[neuron];
    const double square = a * a + w.squaredNorm();
    if (square == 0.0) return 0.0;
    const double grows = std::max(0.0, 2.0 * a * g.dot(w) / square - rate);
    const double turn = turn_of(neuron, g);
    const double most = g.norm();
    if (turn <= kTurned * most || most < kHardly * rate) return grows;
    if (most > kGrows * rate) return std::max(grows, most - rate);
    return turn > std::max(grows, known) && turns_out(neuron, g) ? turn : grows;
}

bool Expansion::turns_out(Index neuron, const GradientView& g) const noexcept {
    const Parameters& neurons = state_.parameters;
    const Pattern& pattern = state_.mode.pattern();
    const double most = g.norm();
    const bool along = g.dot(neurons.w.col(neuron)) / most + neurons.a[neuron] > 0.0;
    if (along != (neurons.a[neuron] > 0.0)) return true;
    const double way = along ? 1.0 : -1.0;
    for (Index boundary = 0; boundary < pattern.boundaries(); ++boundary)
        if (way * pattern.side(neuron, boundary) * data_.normals().row(boundary).dot(g) < -kTurned * most) return true;
    return false;
}

void Expansion::gradient_at_start(Index neuron, double* g) const noexcept {
    const Index group = groups_.of(neuron);
    const Matrix* taken = held_part(group);
    for (Index x = 0; x < data_.rank(); ++x) g[x] = gradients_(x, group) + (taken ? (*taken)(0, x) : 0.0);
}

}  // namespace reluflow
