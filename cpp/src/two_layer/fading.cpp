#include "two_layer/fading.hpp"

#include <cmath>

namespace reluflow {

namespace {

/// Gradients above this part of the decay are those of neurons that it balances, as well as they are known.
constexpr double kBalanced = 1.0 - 1e-3;
/// A neuron turned away from its gradient but for this part stays so: the rest is rounding, which would grow.
constexpr double kTurned = 1e-10;

}  // namespace

// With ĝ = g / |g| and s = ĝ·w the flow is s' = |g| a, a' = |g| s, and the decay of all parts: s + a grows like
// e^{|g| t}, s - a falls like e^{-|g| t}, and what is across ĝ stands still.
void fade(const Expansion& expansion, State& state, double decayed) {
    Parameters& neurons = state.parameters;
    const double rate = expansion.waveform().decay_rate();
    const double left = std::exp(-decayed);
    Vector w(neurons.rank());
    for (Index j = 0; j < neurons.neurons(); ++j) {
        const double pull = expansion.start_pull(j) / rate;
        w = neurons.w.col(j);
        double a = neurons.a[j];
        if (pull > 0.0) {
            const Vector way = expansion.start_gradient(j) / (pull * rate);
            const double along = way.dot(w);
            const bool only_falls = std::abs(along + a) <= kTurned * std::abs(along - a);
            if (pull > kBalanced && !only_falls) continue;
            const double grown = only_falls ? 0.0 : 0.5 * (along + a) * std::exp((pull - 1.0) * decayed);
            const double fallen = 0.5 * (along - a) * std::exp(-(pull + 1.0) * decayed);
            w = left * (w - along * way) + (grown + fallen) * way;
            a = grown - fallen;
        } else {
            w *= left;
            a *= left;
        }
        neurons.decay(j, left);
        neurons.restore_invariant(j, w.data(), a);
        neurons.w.col(j) = w;
        neurons.a[j] = a;
    }
}

}  // namespace reluflow
