/// The messages of runs that end early: what happened and where, then what to do.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "run/flow.hpp"

namespace reluflow {

namespace {

/// Samples that a message lists by number; it only counts further ones.
constexpr std::size_t kListed = 12;
/// Last events that name the neurons and samples of a run without progress.
constexpr std::int64_t kLastEvents = 16;

std::string number(double value, const char* format = "%.6g") {
    char text[32];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

/// "sample 3", "samples 3, 5, 8" or "neurons 1, 2, ... and 40 more".
template <class Numbers>
std::string list(const char* what, const Numbers& numbers) {
    std::string text = what;
    if (numbers.size() > 1) text += "s";
    std::size_t count = 0;
    for (const auto value : numbers) {
        if (count == kListed) return text + " and " + std::to_string(numbers.size() - kListed) + " more";
        text += (count++ == 0 ? " " : ", ") + std::to_string(value);
    }
    return text;
}

}  // namespace

std::string Flow::name_corner(const UnresolvedEvent& unresolved) const {
    std::vector<int> samples;
    for (const int boundary : unresolved.boundaries)
        for (const int sample : data_.samples_of(boundary)) samples.push_back(sample);
    return "neuron " + std::to_string(unresolved.neuron) + ", " + list("sample", samples);
}

double Flow::log_gradient_norm() const {
    return std::log(stepper_->speed()) + std::log(scale()) / 2.0 + stepper_->waveform().log_mass() * scale() +
           log_factor_;
}

/// Written as a power of e outside the range of doubles.
std::string Flow::gradient_message() const {
    const double log_norm = log_gradient_norm();
    const bool fits = log_norm == -std::numeric_limits<double>::infinity() ||
                      std::abs(log_norm) < -std::log(std::numeric_limits<double>::min());
    return "the norm of the gradient is " + (fits ? number(std::exp(log_norm), "%.2g") : "e^" + number(log_norm));
}

std::string Flow::at_rest_message() const {
    return "no neuron moves any more; " + gradient_message();
}

/// The neuron with the largest rate relative to its size.
int Flow::fastest_neuron() const {
    int fastest = 0;
    double most = -1.0;
    for (Index j = 0; j < state_.neurons(); ++j) {
        if (state_.parameters.a[j] == 0.0 && state_.parameters.w.col(j).isZero(0.0)) continue;
        double square = 0.0;
        for (Index x = 0; x < state_.parameters.rank(); ++x) {
            const double part = stepper_->expansion().start_rate(j, Vector::Unit(state_.parameters.rank(), x));
            square += part * part;
        }
        if (!(square <= most)) {
            most = square;
            fastest = static_cast<int>(j);
        }
    }
    return fastest;
}

void Flow::finish_undecided(const UnresolvedEvent& unresolved) {
    if (unresolved.is_branch)
        return finish(Status::branch, "the flow branches " + at_log_time() + ", here: " + name_corner(unresolved) +
                                          "; choose a continuation with on_branch");
    finish(Status::undecided_event, "cannot determine the continuation " + at_log_time() +
                                        " where these surfaces meet: " + name_corner(unresolved) +
                                        "; continue from the solution with that neuron moved by a part in 1e9");
}

void Flow::finish_without_progress() {
    const EventList& events = recorder_.event_list();
    std::set<int> neurons;
    std::set<int> samples;
    for (std::int64_t i = std::max<std::int64_t>(0, events.count() - kLastEvents); i < events.count(); ++i) {
        neurons.insert(events.neuron[i]);
        samples.insert(events.sample[i]);
    }
    std::string who =
        neurons.empty() ? "" : ", the last ones of " + list("neuron", neurons) + " with " + list("sample", samples);
    finish(Status::undecided_event, "no progress " + at_log_time() + ": " + std::to_string(still_) +
                                        " steps in a row took no time, for their events follow each other at once" +
                                        who + "; another rtol, or a start moved by a part in 1e9, may pass");
}

/// The pre-activation that is farthest on the wrong side of its boundary, at either end of the step.
void Flow::finish_wrong_side() {
    double worst = 0.0;
    int neuron = -1;
    int sample = -1;
    for (const double u : {stepper_->end(), 0.0}) {
        if (u == 0.0) stepper_->cut(0.0);
        stepper_->state_at(u, w_, a_);
        for (Index j = 0; j < state_.neurons(); ++j)
            for (Index boundary = 0; boundary < data_.n_boundaries(); ++boundary) {
                const double z = data_.normals().row(boundary).dot(w_.col(j)) / (w_.col(j).norm() + std::abs(a_[j]));
                if (!(-z * state_.mode.side(j, boundary) > worst)) continue;
                worst = -z * state_.mode.side(j, boundary);
                neuron = static_cast<int>(j);
                sample = data_.samples_of(static_cast<int>(boundary))[0];
            }
    }
    std::string who = "a pre-activation";
    if (neuron >= 0) who += " of neuron " + std::to_string(neuron) + " at sample " + std::to_string(sample);
    finish(Status::accuracy_not_reached, who + " was found on the wrong side of its boundary " + at_log_time() +
                                             ", by " + number(stepper_->worst_inconsistency(), "%.2g") +
                                             " of the neuron's size: an event was missed; try a smaller rtol");
}

void Flow::finish_non_finite() {
    finish(Status::non_finite, "neuron " + std::to_string(fastest_neuron()) + " or its derivative is not finite " +
                                   at_log_time() + ", however short the step; scale the start or the samples down");
}

/// The weight of an active sample has underflowed and would move something by now.
void Flow::finish_underflow() {
    const Vector& q = stepper_->expansion().margins();
    const double loss_of_smallest = stepper_->waveform().smallest_margin();
    int sample = -1;
    for (Index i = 0; i < data_.n(); ++i)
        if (stepper_->waveform().is_live(i) && stepper_->waveform().signed_weights(0)[i] == 0.0 &&
            (sample < 0 || q[i] < q[sample]))
            sample = static_cast<int>(i);
    std::string who = sample < 0 ? "" : " (sample " + std::to_string(sample) + ", margin " + number(q[sample]) + ")";
    finish(Status::stalled, "the loss stalls " + at_log_time() +
                                " while neurons still move, driven by weights below the smallest double" + who +
                                ", beside others of margin " + number(loss_of_smallest) +
                                "; ask for an earlier time, or leave out the samples that stall; " +
                                gradient_message());
}

void Flow::finish_lost_in_rounding() {
    finish(Status::stalled, "the loss stalls " + at_log_time() + " while neurons still move, neuron " +
                                std::to_string(fastest_neuron()) +
                                " fastest: the residual gradient is below the rounding error of the sample weights "
                                "that cancel in it; ask for an earlier time; " +
                                gradient_message());
}

void Flow::finish_unseen(Index sample) {
    finish(Status::stalled, "the loss stalls " + at_log_time() + " while sample " + std::to_string(sample) +
                                " (margin " + number(stepper_->expansion().margins()[sample]) +
                                ") still moves neurons, by less than the rounding error of the weights of others that "
                                "cancel; ask for an earlier time; " +
                                gradient_message());
}

void Flow::finish_hidden_decay(Index neuron) {
    finish(Status::stalled, "the loss stalls " + at_log_time() + " while weight decay still moves neuron " +
                                std::to_string(neuron) +
                                ", by less than the rounding error of the sample weights that hold it; ask for an "
                                "earlier time, or for more weight decay; " +
                                gradient_message());
}

void Flow::finish_hidden_outputs(double most) {
    finish(Status::stalled, "the loss stalls " + at_log_time() + " while outputs of at most " + number(most, "%.2g") +
                                " still move neurons, by less than the rounding error of the sample weights that "
                                "cancel; ask for an earlier time, or begin with a larger scale; " +
                                gradient_message());
}

void Flow::finish_out_of_reach() {
    std::vector<Index> unseen;
    for (Index i = 0; i < data_.n(); ++i)
        if (!stepper_->waveform().is_live(i)) unseen.push_back(i);
    finish(Status::stalled, "the loss that was asked for is out of reach: it stays at e^" + number(log_loss_) +
                                ", the loss of " + list("sample", unseen) + ", which drive" +
                                (unseen.size() == 1 ? "s" : "") + " no neuron " + at_log_time() +
                                "; take more neurons, another start, or a larger loss; " + gradient_message());
}

/// The roles of the samples do not tell any more who is at rest.
void Flow::finish_roles() {
    const bool is_leg = std::isinf(stall_log_t_);
    finish(Status::stalled, std::string(is_leg ? "" : "the loss stalls " + at_log_time() + ": ") +
                                "samples at rest have begun to move, or others have come to rest" +
                                (is_leg ? "" : "; ask for an earlier time; " + gradient_message()));
}

/// The margins of the others are so large that the rounding of those at rest hides what these pull.
void Flow::finish_hidden_tails() {
    finish(Status::stalled, "the loss stalls " + at_log_time() +
                                " over samples at rest, beside margins so large that rounding of those at rest hides "
                                "what the others pull; ask for an earlier time, or for the limit itself "
                                "(Stop(limit=True)); " +
                                gradient_message());
}

/// A neuron meets the boundary of a sample at rest where the digits do not tell on which side the sample holds it.
void Flow::finish_unsure_side(Index sample) {
    finish(Status::stalled, "the loss stalls " + at_log_time() + " over samples at rest, sample " +
                                std::to_string(sample) +
                                " among them: below the digits of the run is on which side of it a neuron stays; ask "
                                "for an earlier time; " +
                                gradient_message());
}

/// What a run beside samples at rest says of its end; empty for others.
std::string Flow::beside_message() const {
    if (std::isinf(stall_log_t_)) return {};
    const std::string from = std::string(status_sentence(pending_)) + "; from log t = " + number(stall_log_t_);
    if (!is_beside_rest()) return from + " to " + number(free_log_t_) + " beside samples at rest, which then came free";
    const Index rests = (plan_.objective.resting.scales.array() > 0.0).count();
    return from + " on beside " + std::to_string(rests) + (rests == 1 ? " sample" : " samples") +
           " at rest, where the loss stalls";
}

std::string Flow::beyond_range_message() const {
    return "the weights leave the range of doubles: log |θ| = " + number(kLargestLogNorm) + " " + at_log_time() +
           "; ask for an earlier time, or for the limit itself (Solution.limit)";
}

void Flow::finish_coarse_margins() {
    const Vector& q = stepper_->expansion().margins();
    Index sample = 0;
    while (sample + 1 < data_.n() &&
           !(stepper_->waveform().is_live(sample) && q[sample] == stepper_->waveform().smallest_margin()))
        ++sample;
    finish(Status::accuracy_not_reached,
           "the margins are so large that rounding hides their differences: " + number(q[sample]) + " of sample " +
               std::to_string(sample) + ", the smallest, " + at_log_time() +
               "; ask for an earlier time, or for the limit itself (Solution.limit)");
}

}  // namespace reluflow
