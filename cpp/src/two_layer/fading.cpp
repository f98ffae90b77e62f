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
// e^{|g| t}, s - a falls likewise, and what is across ĝ stands still.
void fade(const Expansion& expansion, State& state, double decayed) {
    Parameters& neurons = state.parameters;
    const double rate = expansion.waveform().decay_rate();
    Vector w(neurons.rank());
    for (Index j = 0; j < neurons.neurons(); ++j) {
        const double pull = expansion.start_pull(j) / rate;
        if (pull > kBalanced) continue;
        w = neurons.w.col(j);
        double a = neurons.a[j];
        if (pull > 0.0) {
            const Vector way = expansion.start_gradient(j) / (pull * rate);
            const double along = way.dot(w);
            const double grows = std::abs(along + a) > kTurned * std::abs(along - a) ? 0.5 * (along + a) : 0.0;
            const double falls = 0.5 * (along - a);
            const double grown = grows * std::exp((pull - 1.0) * decayed);
            const double fallen = falls * std::exp(-(pull + 1.0) * decayed);
            w = std::exp(-decayed) * (w - along * way) + (grown + fallen) * way;
            a = grown - fallen;
        } else {
            w *= std::exp(-decayed);
            a *= std::exp(-decayed);
        }
        neurons.decay(j, std::exp(-decayed));
        neurons.restore_invariant(j, w.data(), a);
        neurons.w.col(j) = w;
        neurons.a[j] = a;
    }
}

}  // namespace reluflow
