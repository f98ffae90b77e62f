#include "two_layer/fading.hpp"

#include <cmath>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

/// Gradients above this part of the decay are those of neurons that it balances, as well as they are known.
constexpr double kBalanced = 1.0 - 1e-3;
/// A neuron turned away from its gradient but for this part stays so: the rest is rounding, which would grow.
constexpr double kTurned = 1e-10;

/// E-foldings at a time, after which a neuron is scaled up if it is small: squares of the invariant keep their digits.
constexpr double kPiece = 20.0;

/// What moves one neuron: γ, and its gradient, |g| = pull γ, with the direction of it.
struct Pull {
    double pull;
    Vector way;
};

// With ĝ = g / |g| and s = ĝ·w the flow is s' = |g| a, a' = |g| s, and the decay of all parts: s + a grows like
// e^{|g| t}, s - a falls like e^{-|g| t}, and what is across ĝ stands still.
// False where the pull balances the decay, so that the neuron stands.
bool fade_piece(Parameters& neurons, Index j, const Pull& by, double decayed) {
    const double left = std::exp(-decayed);
    Vector w = neurons.w.col(j);
    double a = neurons.a[j];
    if (by.pull > 0.0) {
        const double along = by.way.dot(w);
        const bool only_falls = std::abs(along + a) <= kTurned * std::abs(along - a);
        if (by.pull > kBalanced && !only_falls) return false;
        const double grown = only_falls ? 0.0 : 0.5 * (along + a) * std::exp((by.pull - 1.0) * decayed);
        const double fallen = 0.5 * (along - a) * std::exp(-(by.pull + 1.0) * decayed);
        w = left * (w - along * by.way) + (grown + fallen) * by.way;
        a = grown - fallen;
    } else {
        w *= left;
        a *= left;
    }
    neurons.decay(j, left);
    neurons.restore_invariant(j, w.data(), a);
    neurons.w.col(j) = w;
    neurons.a[j] = a;
    neurons.rescale(j);
    return true;
}

}  // namespace

void fade(const Matrix& gradients, State& state, double decayed, const std::vector<char>& stands) {
    Parameters& neurons = state.parameters;
    const double least = std::log(kSmallestNeuron);
    Pull by{0.0, Vector::Zero(neurons.rank())};
    for (Index j = 0; j < neurons.neurons(); ++j) {
        if (stands[static_cast<std::size_t>(j)] != 0) continue;
        by.pull = gradients.col(j).norm();
        if (by.pull > 0.0) by.way = gradients.col(j) / by.pull;
        const double pieces = std::ceil(decayed * (1.0 + by.pull) / kPiece);
        bool moves = true;
        // Below that size it is zero in results, and at all later times.
        for (double k = 0.0; k < pieces && moves && neurons.log_size(j) >= least; ++k)
            moves = fade_piece(neurons, j, by, decayed / pieces);
    }
}

}  // namespace reluflow
