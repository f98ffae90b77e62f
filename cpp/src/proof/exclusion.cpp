#include "proof/exclusion.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "proof/combination.hpp"
#include "proof/rounding.hpp"
#include "proof/scalar_series.hpp"

namespace reluflow::proof {
namespace {

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

/// The pieces of one neuron, one after the other.
class NeuronCheck {
  public:
    NeuronCheck(const Samples& samples, double error, int order) : samples_(samples), error_(error), order_(order) {}

    /// `opens` and `closes`: the events at both ends of the piece, null at the ends of the step.
    Failure piece(const Piece& piece, const std::vector<std::int8_t>& signs, const Crossing* opens,
                  const Crossing* closes) const {
        const double begin = opens == nullptr ? 0.0 : opens->window;
        const double rest = closes == nullptr ? 0.0 : closes->window;
        if (!(begin + rest < piece.length * (1.0 - 16 * kUnit))) {
            const Crossing* named = closes != nullptr ? closes : opens;
            return {Reason::order_in_neuron, piece.neuron, named->sample, piece.start};
        }
        std::array<std::vector<double>, 3> z;  // the first coefficients of all pairs
        coefficients(piece, 0, z[0]);
        for (Index i = 0; i < samples_.n; ++i) {
            const double sign = signs[at(i)];
            if (stays(piece, i, sign, sign * z[0][at(i)])) continue;
            if (z[1].empty()) {
                coefficients(piece, 1, z[1]);
                coefficients(piece, 2, z[2]);
            }
            const double slope = sign * z[1][at(i)];
            if (stays_by_slope(piece, i, sign * z[0][at(i)], slope, sign * z[2][at(i)])) continue;
            const bool opened = opens != nullptr && opens->sample == i;
            const bool closed = closes != nullptr && closes->sample == i;
            const double end = piece.length - (closed ? rest : 0.0);
            if (!keeps(piece, i, sign, opened ? begin : 0.0, end))
                return {Reason::event_not_excluded, piece.neuron, i, piece.start};
        }
        return {};
    }

  private:
    /// |x| e, with the rounding of the products.
    double bound(const Piece& piece, Index i) const {
        const double size = samples_.size[at(i)];
        const double roundings = static_cast<double>(samples_.d + 2 * order_ + 10);
        return (size * error_ + gamma(roundings) * size * piece.w_size) * kUp + kTiny;
    }

    /// Whether the way from `z` at the start of the piece to zero is longer than the piece; so it is for nearly all.
    bool stays(const Piece& piece, Index i, double sign, double z) const {
        if (sign == 0.0) return piece.resting;  // the sample at which the neuron came to rest
        return z > (samples_.size[at(i)] * piece.motion + bound(piece, i)) * kUp;
    }

    /// The same for z + slope s + bend s², and a bound of the rest.
    bool stays_by_slope(const Piece& piece, Index i, double z, double slope, double bend) const {
        const double h = piece.length;
        const double rest = samples_.size[at(i)] * piece.late_motion + bound(piece, i);
        return std::min(z, z + slope * h) + std::min(0.0, bend) * h * h > rest * kUp;
    }

    void coefficients(const Piece& piece, Index k, std::vector<double>& z) const {
        z.resize(at(samples_.n));
        combine(piece.w_of(k, samples_.d), samples_.d, samples_.transposed.data(), samples_.n, samples_.n, z.data());
    }

    bool keeps(const Piece& piece, Index i, double sign, double begin, double end) const {
        if (piece.resting || sign == 0.0) return false;
        const ScalarSeries z(piece, samples_.row(i), order_, samples_.d, sign);
        return z.stays_above(bound(piece, i), begin, end);
    }

    const Samples& samples_;
    double error_;
    int order_;
};

}  // namespace

Failure exclude_other_events(const Samples& samples, const std::vector<ProvedNeuron>& neurons, const StepTrial& trial,
                             const Tube& tube, int order) {
    auto event = trial.crossings.begin();
    std::vector<std::int8_t> changed;
    for (std::size_t j = 0; j < neurons.size(); ++j) {
        if (neurons[j].resting) continue;
        const NeuronCheck check(samples, tube.assumed(static_cast<Index>(j)), order);
        const std::vector<std::int8_t>* signs = &neurons[j].signs;
        const Crossing* opens = nullptr;
        for (std::size_t k = trial.first[j]; k < trial.first[j + 1]; ++k) {
            const Crossing* closes = k + 1 < trial.first[j + 1] ? &*event++ : nullptr;
            if (Failure failure = check.piece(trial.pieces[k], *signs, opens, closes)) return failure;
            if (closes == nullptr) continue;
            if (opens == nullptr) changed = neurons[j].signs;
            const bool stops = closes->kind == Kind::die;
            changed[at(closes->sample)] = static_cast<std::int8_t>(stops ? 0 : closes->direction);
            signs = &changed;
            opens = closes;
        }
    }
    return {};
}

}  // namespace reluflow::proof
