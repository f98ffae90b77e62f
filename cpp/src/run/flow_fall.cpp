/// The loss decreases along the flow: a step on which it rises is wrong and is not taken.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "run/flow.hpp"

namespace reluflow {

namespace {

/// Rounding of log L, a sum over samples of sums over neurons, in ulp of its largest terms.
constexpr double kLossUlps = 256.0;
/// The loss is evaluated before a step is taken if its expected decrease is below this many times what the tolerance of
/// the step allows it to change; otherwise it cannot rise.
constexpr double kSafeFall = 10.0;
/// Above this log loss it is evaluated before every step: one sample of negative margin has all the weight, and another
/// can take over within a step, which no term of a series shows.
constexpr double kHeavyLoss = 60.0;
/// Largest number of halvings of a step on which the loss rises. The truncation error falls with the 25th power of the
/// length, the decrease with the first: one or two suffice.
constexpr int kShorter = 30;
/// Margins that are known no better than this, since they are such a part of their terms, are what a step lacks,
/// whatever its tolerance.
constexpr double kCoarseMargins = 1e-3;
constexpr double kCancelled = 1e-5;
/// Where all targets are zero, decay leaves nothing of the network: squares of what is left leave the range of doubles.
constexpr double kNothing = -500.0;

}  // namespace

/// What rounding can do to the log loss at the present state: |∂ log L / ∂q_i| is |ℓ'(q_i)| / L.
double Flow::loss_rounding() const {
    const Waveform& waveform = stepper_->waveform();
    if (waveform.is_linear()) return rounding_of_errors();
    const double slope = std::exp(std::min(0.0, waveform.log_mass() - waveform.live_log_loss()));
    const double norm = slope * waveform.mean_norm() / waveform.share() + idle_norm();
    return kLossUlps * std::numeric_limits<double>::epsilon() * (1.0 + std::abs(log_loss_) + norm * stepper_->square());
}

/// Σ |x_i| |ℓ'(q_i)| / L over the samples that drive no neuron: neurons that have died on them leave rounding there.
double Flow::idle_norm() const {
    const Waveform& waveform = stepper_->waveform();
    double sum = 0.0;
    for (Index i = 0; i < data_.n(); ++i) {
        if (waveform.is_live(i) || data_.counts()[i] == 0.0) continue;
        const double log_weight_of = log_weight(plan_.objective.loss, waveform.margins(0)[i]);
        sum += data_.counts()[i] * data_.X().row(i).norm() * std::exp(log_weight_of + log_factor_ - log_loss_);
    }
    return sum;
}

/// What the log loss may rise by where neurons that truncation has left beyond a boundary are put on it.
double Flow::rise_of_placing() const {
    return 2.0 * stepper_->worst_inconsistency() * stepper_->square() * stepper_->waveform().mean_norm() /
           stepper_->waveform().share();
}

/// The errors of a loss that tends to zero are rounding in the end, and so is then all of the loss.
double Flow::rounding_of_errors() const {
    const double output =
        stepper_->square() * stepper_->waveform().largest_norm() + data_.targets().cwiseAbs().maxCoeff();
    const double unknown = kLossUlps * std::numeric_limits<double>::epsilon() * output;
    const double root = std::exp(0.5 * (std::log(2.0) + log_loss_ - log_factor_ - std::log(data_.counts().sum())));
    return root > 0.0 ? 2.0 * std::log1p(unknown / root) : std::numeric_limits<double>::infinity();
}

/// Neurons that tolerance has left beyond boundaries count as on the side that their pattern says where a step begins.
/// In raw units that is up to a hundredth of a margin; so this may be above zero at u = 0 already, and as much of it as
/// late steps may move margins by is accepted.
double Flow::rise_until(double u) {
    stepper_->state_at(u, w_, a_);
    return log_objective(log_loss_of(w_, a_), w_.squaredNorm() + a_.squaredNorm()) -
           log_objective(log_loss_, stepper_->square());
}

/// log (L + γ/2 |θ|²), which falls along the flow, or the floor of it.
double Flow::log_objective(double log_loss, double square) const {
    if (plan_.objective.decay == 0.0) return log_loss;
    const double log_decay = std::log(0.5 * plan_.objective.decay * square);
    const double larger = std::max(log_loss, log_decay);
    if (std::isinf(larger)) return std::max(larger, kNothing);
    return std::max(larger + std::log1p(std::exp(std::min(log_loss, log_decay) - larger)), kNothing);
}

/// Shortens the step until the loss does not rise. False if it rises however short the step: then the error of the
/// state exceeds its motion.
bool Flow::shorten_to_fall() {
    const double end = stepper_->end();
    const double fall = stepper_->waveform().margin_rate() * end;
    const bool is_safe =
        plan_.objective.decay == 0.0 && log_loss_ < kHeavyLoss && fall > kSafeFall * stepper_->margin_error();
    if (is_safe || end == 0.0) return true;
    double allowed = loss_rounding() + rise_of_placing();
    double u = end;
    double rise = rise_until(u);
    if (rise > allowed) {
        const double left = 2.0 * kLatePart * kFineEnough * stepper_->square() * stepper_->waveform().mean_norm();
        allowed += std::clamp(rise_until(0.0), 0.0, std::max(kMostMoved, left));
    }
    for (int pass = 0; rise > allowed && pass < kShorter; ++pass) {
        if (stepper_->is_late() && stepper_->retry_plain(largest_step())) {
            u = std::min(end_by_rules(), stepper_->end());
        } else {
            u *= 0.5;
        }
        rise = rise_until(u);
    }
    if (u < stepper_->end()) stepper_->cut(u);
    if (u < end) pending_ = Status::running;
    return rise <= allowed;
}

/// Checks the rise of the log loss in the step; false, with the status set, if it rose.
bool Flow::has_fallen(double rise, double rounding) {
    if (rise <= std::max(rounding, loss_rounding())) return true;
    finish_risen(rise);
    return false;
}

void Flow::finish_risen(double rise) {
    const Waveform& waveform = stepper_->waveform();
    const double margin =
        stepper_->is_separated() ? waveform.smallest_margin() : std::numeric_limits<double>::infinity();
    finish(Status::accuracy_not_reached,
           message_of_rise(state_.clock.log_t(), rise, stepper_->square() * waveform.mean_norm(), margin));
}

std::string message_of_rise(double log_t, double rise, double terms, double margin) {
    const double coarse = std::numeric_limits<double>::epsilon() * terms;
    char reason[120] = "the state is not known well enough; try a smaller rtol";
    if (margin < kCancelled * terms && coarse > kCoarseMargins)
        std::snprintf(
            reason, sizeof reason,
            "margins are known to %.1g, the rounding of their terms; bring the columns of the data to one scale",
            coarse);
    char text[240];
    std::snprintf(text, sizeof text, "the loss rises along the step at log t = %.10g, its logarithm by %.2g: %s", log_t,
                  rise, reason);
    return text;
}

}  // namespace reluflow
