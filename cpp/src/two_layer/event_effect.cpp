#include "two_layer/event_effect.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

namespace {

/// From this part of |w| on an output weight is as large as it stays in a step, within what the estimate allows for.
constexpr double kGrownOutput = 0.5;
/// What an output weight that grows from zero adds by its own growth, 1 + ½ of what it does by its size; a square root.
constexpr double kGrowingPart = 1.23;

/// A sample of this part of all weights shows what an event does to it.
constexpr double kWeighs = 1e-5;
/// A weight of 1e100 ends the step at the event whatever else.
constexpr double kMostLogWeight = 230.0;

/// The part of the bound with Σ p |x|² in place of the largest eigenvalue that is counted, where that is less: in few
/// dimensions, where the two are about the same, events did no harm in steps of twice the budget.
constexpr double kTracePart = 0.49;

}  // namespace

/// Let e be the direction in which the neuron's gradient jumps. Margin i of the others then starts to change by H a_j²
/// jump x_i·e, where it is active. This drives another by the sum of p_i x_i (x_i·e) over the samples active on both,
/// at most √(eᵀ C e) times √ of the largest eigenvalue of C = Σ p_i x_i x_iᵀ; and by as much again through Σ p = 1. For
/// a loss of errors a weight responds by what its sample counts, and not to the others. ½ (U - u)² H times this is
/// their relative error if the event is left out of λ (docs/design/mathematics.md, section 8).
double EventEffect::coupling(int piece, const Hit& hit) const {
    if (hit.rests) return 0.0;  // what was left of the distance is within the tolerance
    const double output = largest_output(piece, hit);
    const Waveform& waveform = motion_.waveform();
    const double woken = woken_square(piece, hit);
    const auto with_woken = [woken](double known) {
        return woken == 0.0 ? known : std::hypot(known, std::sqrt(woken));
    };
    const double size = with_woken(spread_.largest());
    double jump = waveform.mean_norm();
    double reach = size;
    if (hit.kind == HitKind::release) {
        jump = hit.jump == kUnknownJump ? 0.0 : hit.jump;  // counted when the sides are known
    } else if (hit.kind == HitKind::boundary) {
        jump = 0.0;
        for (const int sample : data_.samples_of(hit.boundary))
            jump += (1.0 - motion_.leak()) * std::abs(data_.coefficient(sample)) * largest_weight(piece, hit, sample);
        if (mode_.held(motion_.piece(piece).neuron).empty())
            reach = std::min(size, with_woken(spread_.along(hit.boundary)));
    }
    const double step = motion_.step();
    const double trace = std::sqrt(waveform.mean_square() + woken);
    const double others = std::min(size + std::min(size, waveform.shared_norm()),
                                   kTracePart * (trace + std::min(trace, waveform.shared_norm())));
    const double by_gradient = step * step * output * output * jump * reach * others;
    return by_gradient + (waveform.is_linear() && hit.kind == HitKind::boundary ? by_output(piece, hit) : 0.0);
}

/// The weight of a sample that is met, or what it may come to by what the event adds to its margin until the end of the
/// step. Of a sample that weighs something the budget leaves no room for that; one that weighs nothing may come to
/// outweigh all others. Late steps look at the margins again (LateEvents).
double EventEffect::largest_weight(int piece, const Hit& hit, int sample) const {
    const Waveform& waveform = motion_.waveform();
    const double weight = waveform.weight_from(sample, hit.u);
    if (waveform.is_linear() || waveform.is_prescribed() || weight > kWeighs * waveform.share()) return weight;
    const double v = hit.u - motion_.piece(piece).begin;
    const double rest = std::max(0.0, 1.0 - hit.u);
    Coefficients z{};
    motion_.boundary_series(piece, data_.normals().row(hit.boundary).data(), z);
    const double rate = std::max(std::abs(evaluate_derivative(z, motion_.order(), v)),
                                 std::abs(evaluate_derivative(z, motion_.order(), v + rest)));
    const double change = std::abs(data_.coefficient(sample)) * largest_output(piece, hit) * rate * rest;
    const bool falls = (evaluate(motion_.a(piece), motion_.order(), v) > 0.0) != (data_.signs()[sample] > 0.0);
    const double growth = change * (falls ? 1.0 - motion_.leak() : motion_.leak());
    return std::max(weight, std::exp(std::min(kMostLogWeight, waveform.log_weight_from(sample, hit.u) + growth)));
}

/// The output weight with which the event acts until the end of the step: that at the event, unless it is small beside
/// |w|. Then it grows whatever it is, at a rate of |w|, and its present size says nothing of what the event does later.
double EventEffect::largest_output(int piece, const Hit& hit) const {
    const double v = hit.u - motion_.piece(piece).begin;
    const double output = std::abs(evaluate(motion_.a(piece), motion_.order(), v));
    if (output >= kGrownOutput * motion_.size(piece)) return output;
    const double rest = std::max(0.0, 1.0 - hit.u);
    const double rate = std::max(std::abs(evaluate_derivative(motion_.a(piece), motion_.order(), v)),
                                 std::abs(evaluate_derivative(motion_.a(piece), motion_.order(), v + rest)));
    return kGrowingPart * (output + rate * rest);
}

/// Σ response |x|² of the samples that may begin to drive the neuron with the event. Until then they drive nobody, so
/// that the waveform leaves out that they respond; from then on a neuron beside their boundary may be held there by
/// their response alone.
double EventEffect::woken_square(int piece, const Hit& hit) const {
    const Waveform& waveform = motion_.waveform();
    if (waveform.is_linear()) return 0.0;  // there all samples respond
    double sum = 0.0;
    const auto add = [&](int boundary) {
        for (const int sample : data_.samples_of(boundary))
            if (!waveform.is_live(sample))
                sum += std::max(waveform.response(sample), waveform.weight_from(sample, hit.u)) *
                       data_.coefficient(sample) * data_.coefficient(sample);
    };
    if (hit.kind == HitKind::boundary) add(hit.boundary);
    const SlidingSet& held = mode_.held(motion_.piece(piece).neuron);
    for (const int boundary : held.boundaries()) add(boundary);
    for (const int boundary : held.dependent()) add(boundary);
    return sum;
}

/// The output at the samples of the boundary itself changes its rate by |a z'|: for a loss of errors their weights
/// answer to that by what they count, even where they are zero and the gradient does not jump.
double EventEffect::by_output(int piece, const Hit& hit) const {
    const double v = hit.u - motion_.piece(piece).begin;
    Coefficients z{};
    motion_.boundary_series(piece, data_.normals().row(hit.boundary).data(), z);
    const double output = evaluate(motion_.a(piece), motion_.order(), v);
    double size = 0.0;
    for (const int sample : data_.samples_of(hit.boundary))
        size += data_.counts()[sample] * data_.coefficient(sample) * data_.coefficient(sample);
    return (1.0 - motion_.leak()) * motion_.step() * size *
           std::abs(output * evaluate_derivative(z, motion_.order(), v));
}

}  // namespace reluflow
