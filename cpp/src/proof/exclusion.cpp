#include "proof/exclusion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "proof/combination.hpp"
#include "proof/rounding.hpp"
#include "proof/scalar_series.hpp"

namespace reluflow::proof {
namespace {

/// Halvings of the time until which a pair that leaves a boundary is watched by its rate.
constexpr int kHalvings = 30;

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

/// The pieces of one neuron, one after the other.
template <class Real>
class NeuronCheck {
  public:
    NeuronCheck(const Samples& samples, const Tube<Real>& tube, const PieceMaker<Real>& maker,
                const ProvedNeuron<Real>& neuron, double error, int order)
        : samples_(samples), tube_(tube), maker_(maker), neuron_(neuron), error_(error), order_(order) {}

    /// `last` is the piece before, null for the first; `opens` and `closes` are the events at both ends of the piece,
    /// null at the ends of the step.
    Failure piece(const Piece<Real>* last, const Piece<Real>& piece, const std::vector<std::int8_t>& signs,
                  const Crossing<Real>* opens, const Crossing<Real>* closes) const {
        const double begin = opens == nullptr ? 0.0 : opens->window;
        const double rest = closes == nullptr ? 0.0 : closes->window;
        if (!(begin + rest < rounded(piece.length) * (1.0 - 16 * kUnit))) {
            const Crossing<Real>* named = closes != nullptr ? closes : opens;
            return {Reason::order_in_neuron, piece.neuron, named->sample, rounded(piece.start)};
        }
        if (Failure failure = slides(piece, signs, begin, closes)) return failure;
        std::array<std::vector<double>, 3> z;  // the first coefficients of all pairs
        coefficients(piece, 0, z[0]);
        for (Index i = 0; i < samples_.n; ++i) {
            const double sign = signs[at(i)];
            if (sign == 0.0 && (piece.resting || piece.held.find(samples_.boundaries.first[at(i)]) >= 0)) continue;
            if (stays(piece, i, sign * z[0][at(i)])) continue;
            if (z[1].empty()) {
                coefficients(piece, 1, z[1]);
                coefficients(piece, 2, z[2]);
            }
            const double slope = sign * z[1][at(i)];
            if (stays_by_slope(piece, i, sign * z[0][at(i)], slope, sign * z[2][at(i)])) continue;
            const bool closed =
                closes != nullptr && !is_leave(closes->kind) && samples_.boundaries.same(closes->sample, i);
            const Span span{piece.length - rest, closed ? piece.length - rest : piece.length};
            if (!stays_on_side(last, piece, i, sign, opens, span))
                return {Reason::event_not_excluded, piece.neuron, i, rounded(piece.start)};
        }
        return {};
    }

  private:
    /// |x| e, with the rounding of the products.
    double bound(const Piece<Real>& piece, Index i) const {
        const double size = samples_.size[at(i)];
        const double roundings = static_cast<double>(samples_.d + 2 * order_ + 10);
        return (size * error_ + gamma<Real>(roundings) * size * piece.w_size) * kUp + kTiny;
    }

    /// More of it for what `coefficients` rounds to doubles.
    double coarse_bound(const Piece<Real>& piece, Index i) const {
        if constexpr (std::is_same_v<Real, double>) return bound(piece, i);
        const double rounding = gamma(static_cast<double>(samples_.d + 10)) * samples_.size[at(i)] * piece.w_size;
        return (bound(piece, i) + rounding) * kUp;
    }

    /// Whether the way from `z` at the start of the piece to zero is longer than the piece; so it is for nearly all.
    bool stays(const Piece<Real>& piece, Index i, double z) const {
        return z > (samples_.size[at(i)] * piece.motion + coarse_bound(piece, i)) * kUp;
    }

    /// The same for z + slope s + bend s², and a bound of the rest.
    bool stays_by_slope(const Piece<Real>& piece, Index i, double z, double slope, double bend) const {
        const double h = rounded(piece.length);
        const double rest = samples_.size[at(i)] * piece.late_motion + coarse_bound(piece, i);
        return std::min(z, z + slope * h) + std::min(0.0, bend) * h * h > rest * kUp;
    }

    /// w_k · x of all samples, in doubles.
    void coefficients(const Piece<Real>& piece, Index k, std::vector<double>& z) const {
        z.resize(at(samples_.n));
        std::vector<double> w(at(samples_.d));
        std::transform(piece.w_of(k, samples_.d), piece.w_of(k + 1, samples_.d), w.begin(),
                       [](const Real& entry) { return rounded(entry); });
        combine(w.data(), samples_.d, samples_.transposed.data(), samples_.n, samples_.n, z.data());
    }

    /// Until when the true neuron has the pattern of the piece, and until when the pair has to be on its side.
    struct Span {
        Real pattern;
        Real end;
    };

    /// The pair of sample i from its event at the begin of the piece, if it has one there.
    bool stays_on_side(const Piece<Real>* last, const Piece<Real>& piece, Index i, double sign,
                       const Crossing<Real>* opens, const Span& span) const {
        if (piece.resting || sign == 0.0) return false;
        const ScalarSeries<Real> z(piece, samples_.row(i), order_, samples_.d, sign);
        const double far = bound(piece, i);
        if (opens == nullptr && starts_on(i)) return departs(piece, i, z, against(piece, i), 0.0, span);
        if (opens == nullptr)
            return z.stays_above(far, 0.0, span.end) ||
                   (height(piece, i, sign) > 0.0 && departs(piece, i, z, 0.0, 0.0, span));
        const Boundaries& boundaries = samples_.boundaries;
        if (is_leave(opens->kind) && boundaries.same(opens->sample, i))
            return beyond_bound(*last, *opens, span.pattern) &&
                   z.rises(height(piece, i, sign), errors(piece, i), span.end) &&
                   (span.pattern == span.end || z.stays_above(far, span.pattern, span.end));
        for (const Departure& departure : opens->left)
            if (boundaries.same(departure.sample, i))
                return z.rises(height(piece, i, sign), errors(piece, i), span.end) &&
                       departs(piece, i, z, 0.0, -opens->window, span);
        return z.stays_above(far, boundaries.same(opens->sample, i) ? opens->window : 0.0, span.end);
    }

    bool starts_on(Index i) const {
        return std::find(neuron_.starting.begin(), neuron_.starting.end(), i) != neuron_.starting.end();
    }

    /// What the rate of z at the start has to be above, so that there is one way to go on: what the other side takes
    /// from it. Where all boundaries that meet there attract, nothing; where several meet and one does not, more than
    /// any rate. The samples of one boundary change sides together, so that what they take may cancel.
    double against(const Piece<Real>& piece, Index i) const {
        const Boundaries& boundaries = samples_.boundaries;
        const auto attracts = [&](Index k) { return piece.a[0] * samples_.y[at(k)] < 0.0; };
        const auto same = [&](Index k) { return boundaries.same(k, i); };
        const auto& starting = neuron_.starting;
        if (std::all_of(starting.begin(), starting.end(), attracts)) return 0.0;
        if (!neuron_.held.empty() || !std::all_of(starting.begin(), starting.end(), same))
            return std::numeric_limits<double>::infinity();
        // sign a x · (Σ sign λ x) (1 - leak) at the time 0, and how much it may be wrong by.
        const double a = rounded(piece.a[0]);
        const double relative = gamma(static_cast<double>(samples_.n + samples_.d + 20));
        double taken = 0.0;
        double error = 0.0;
        for (const Member& member : boundaries.of(i)) {
            const Index k = member.sample;
            double missed = 0.0;
            const double dual = rounded(maker_.dual_about(k, 0.0, missed)[0]);
            const double sizes = samples_.size[at(k)] * samples_.size[at(i)];
            taken += neuron_.signs[at(i)] * neuron_.signs[at(k)] * a * dual *
                     dot(samples_.row(k), samples_.row(i), samples_.d);
            error += sizes * ((std::abs(a) + error_) * (tube_.dual_error() + missed + relative * std::abs(dual)) +
                              error_ * std::abs(dual));
        }
        return (1.0 - samples_.leak) * (std::max(0.0, taken) + error) * kUp + kTiny;
    }

    /// Whether z has left its boundary, or leaves it at `begin`, and grows at a rate above `against` until it is away
    /// from it for good.
    bool departs(const Piece<Real>& piece, Index i, const ScalarSeries<Real>& z, double against, double begin,
                 const Span& span) const {
        // The true rate is a x · g.
        const double g_error = piece.g_error + tube_.gradient_error();
        const double error =
            samples_.size[at(i)] * ((piece.a_size + error_) * g_error + error_ * piece.g_size + piece.defect);
        const double least = (error + rounding_of_rate(piece, i) + against) * kUp;
        const ScalarSeries<Real> rate = z.derivative();
        Real s = span.pattern;
        for (int k = 0; k < kHalvings; ++k, s = s * 0.5)
            if (rate.stays_above(least, begin, s)) return s == span.end || z.stays_above(bound(piece, i), s, span.end);
        return false;
    }

    /// A lower bound of z̃ at the start of the piece.
    double height(const Piece<Real>& piece, Index i, double sign) const {
        const auto product = exact_dot(samples_.row(i), piece.w_of(0, samples_.d), samples_.d);
        return rounded(sign * product.value - product.error) * (1.0 - 4.0 * kUnit);
    }

    /// Of the coefficients of the rate of z, on the piece.
    double rounding_of_rate(const Piece<Real>& piece, Index i) const {
        const double relative = gamma<Real>(static_cast<double>(samples_.d + 4));
        double sum = 0.0;
        double power = 1.0;
        for (Index k = 1; k <= order_; ++k, power *= piece.reach)
            sum += static_cast<double>(k) * norm_up(piece.w_of(k, samples_.d), samples_.d) * power;
        return relative * samples_.size[at(i)] * sum * kUp;
    }

    /// Of the coefficients of z.
    std::vector<double> errors(const Piece<Real>& piece, Index i) const {
        std::vector<double> errors;
        const double relative = gamma<Real>(static_cast<double>(samples_.d + 2)) * samples_.size[at(i)];
        for (Index k = 0; k <= order_; ++k)
            errors.push_back(relative * norm_up(piece.w_of(k, samples_.d), samples_.d) + kTiny);
        return errors;
    }

    /// Whether the multiplier that met its bound at the begin of a piece is beyond it, with what the neuron slid on
    /// before, from the window until `end` of the piece.
    bool beyond_bound(const Piece<Real>& last, const Crossing<Real>& opens, const Real& end) const {
        double rounding = 0.0;
        const Index position = last.held.find(opens.sample);
        const ScalarSeries<Real> beyond =
            inside_bound(samples_, maker_, last, position, opens.direction, rounding, -1.0);
        return beyond.stays_above((tube_.inside_error(last, position) + rounding) * kUp, last.length + opens.window,
                                  last.length + end);
    }

    /// Whether the multiplier is zero for ever and that is its bound: nothing that pulls the neuron has a part along x,
    /// decided without rounding. The slope zero holds it, and the other bound says that it attracts.
    bool rests_on(const Piece<Real>& piece, Index position, const std::vector<std::int8_t>& signs) const {
        const Index row = piece.held.rows()[at(position)];
        const auto& members = samples_.boundaries.of(row);
        const auto one_way = [](const Member& member) { return member.ratio > 0.0; };
        if (samples_.leak != 0.0 || !std::all_of(members.begin(), members.end(), one_way)) return false;
        const auto apart = [&](Index i) { return exactly_orthogonal(samples_.row(i), samples_.row(row), samples_.d); };
        for (Index i = 0; i < samples_.n; ++i)
            if (signs[at(i)] > 0 && !apart(i)) return false;
        const auto& rows = piece.held.rows();
        return std::all_of(rows.begin(), rows.end(), [&](Index other) { return other == row || apart(other); });
    }

    /// Whether all multipliers stay inside their bounds; one that meets its bound at the end does so in the window.
    Failure slides(const Piece<Real>& piece, const std::vector<std::int8_t>& signs, double begin,
                   const Crossing<Real>* closes) const {
        if (piece.held.empty()) return {};
        const double least_a = least_magnitude(piece.a[0]) - piece.a_motion;
        if (!(least_a * (1.0 - 8 * kUnit) > 2.0 * error_))
            return {Reason::sign_of_output, piece.neuron, piece.held.rows()[0], rounded(piece.start)};
        const double after = closes == nullptr ? 0.0 : closes->window;
        for (Index k = 0; k < piece.held.size(); ++k)
            for (const double direction : {1.0, -1.0}) {
                if (direction < 0.0 && rests_on(piece, k, signs)) continue;
                double rounding = 0.0;
                const ScalarSeries<Real> inside = inside_bound(samples_, maker_, piece, k, direction, rounding);
                const double error = (tube_.inside_error(piece, k) + rounding) * kUp;
                const Index sample = piece.held.rows()[at(k)];
                const bool meets = closes != nullptr && is_leave(closes->kind) && closes->sample == sample &&
                                   closes->direction == direction;
                const Real end = meets ? piece.length - after : piece.length + after;
                const bool inside_until = inside.stays_above(error, -begin, end);
                if (!inside_until || (meets && !inside.stays_above(rounding, end, piece.length)))
                    return {Reason::multiplier, piece.neuron, sample, rounded(piece.start)};
            }
        return {};
    }

    const Samples& samples_;
    const Tube<Real>& tube_;
    const PieceMaker<Real>& maker_;
    const ProvedNeuron<Real>& neuron_;
    double error_;
    int order_;
};

}  // namespace

template <class Real>
Failure exclude_other_events(const Samples& samples, const std::vector<ProvedNeuron<Real>>& neurons,
                             const StepTrial<Real>& trial, const Tube<Real>& tube, const PieceMaker<Real>& maker,
                             int order) {
    auto event = trial.crossings.begin();
    std::vector<std::int8_t> changed;
    for (std::size_t j = 0; j < neurons.size(); ++j) {
        if (neurons[j].resting) continue;
        const NeuronCheck<Real> check(samples, tube, maker, neurons[j], tube.assumed(static_cast<Index>(j)), order);
        const std::vector<std::int8_t>* signs = &neurons[j].signs;
        const Crossing<Real>* opens = nullptr;
        const Piece<Real>* last = nullptr;
        for (std::size_t k = trial.first[j]; k < trial.first[j + 1]; ++k) {
            const Crossing<Real>* closes = k + 1 < trial.first[j + 1] ? &*event++ : nullptr;
            if (Failure failure = check.piece(last, trial.pieces[k], *signs, opens, closes)) return failure;
            if (closes == nullptr) continue;
            if (opens == nullptr) changed = neurons[j].signs;
            apply(samples, *closes, {}, changed);
            signs = &changed;
            opens = closes;
            last = &trial.pieces[k];
        }
    }
    return {};
}

template Failure exclude_other_events(const Samples&, const std::vector<ProvedNeuron<double>>&,
                                      const StepTrial<double>&, const Tube<double>&, const PieceMaker<double>&, int);
template Failure exclude_other_events(const Samples&, const std::vector<ProvedNeuron<DoubleDouble>>&,
                                      const StepTrial<DoubleDouble>&, const Tube<DoubleDouble>&,
                                      const PieceMaker<DoubleDouble>&, int);

}  // namespace reluflow::proof
