#include "proof/network_series.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "proof/combination.hpp"
#include "proof/rounding.hpp"
#include "proof/sigmoid.hpp"

namespace reluflow::proof {
namespace {

template <class Real>
void add_to(Real* sum, const Real& factor, const Real* v, Index size) {
    for (Index c = 0; c < size; ++c) sum[c] += factor * v[c];
}

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

}  // namespace

template <class Real>
void ProvedNeuron<Real>::find_slopes(double leak) {
    slopes.resize(signs.size());
    pulling.clear();
    for (std::size_t i = 0; i < signs.size(); ++i) {
        slopes[i] = signs[i] > 0 ? 1.0 : signs[i] < 0 ? leak : 0.0;
        if (slopes[i] != 0.0) pulling.push_back(static_cast<Index>(i));
    }
}

template <class Real>
NetworkSeries<Real>::NetworkSeries(const Samples& samples, Index n_neurons)
    : samples_(samples),
      m_(n_neurons),
      share_(samples.mean ? Real(1.0) / static_cast<double>(samples.n) : Real(1.0)),
      aw_(at(n_neurons * samples.d)),
      outputs_(at(samples.n)) {}

template <class Real>
void NetworkSeries<Real>::reserve(int order_) {
    order = order_;
    const auto size = [&](auto& rows, Index n_rows, Index entries) {
        using Row = typename std::remove_cvref_t<decltype(rows)>::value_type;
        if (static_cast<Index>(rows.size()) < n_rows) rows.resize(at(n_rows), Row(at(entries)));
    };
    const Index top = order_ + 1;
    size(w, top, m_ * samples_.d);
    size(g, top, m_ * samples_.d);
    size(a, top, m_);
    for (auto* rows : {&w_norm, &a_norm, &g_norm}) size(*rows, top, m_);
    for (auto* rows : {&q, &p, &dual, &slope_}) size(*rows, top, samples_.n);
    dual_sums.assign(at(order_), 0.0);
    held.assign(at(m_), HeldSeries<Real>{});
}

template <class Real>
bool NetworkSeries<Real>::expand(const std::vector<ProvedNeuron<Real>>& neurons, int order_) {
    reserve(order_);
    for (Index j = 0; j < m_; ++j) {
        const ProvedNeuron<Real>& neuron = neurons[at(j)];
        std::copy(neuron.w.begin(), neuron.w.end(), w[0].begin() + j * samples_.d);
        a[0][at(j)] = neuron.a;
        w_norm[0][at(j)] = norm_up(neuron.w.data(), samples_.d);
        a_norm[0][at(j)] = magnitude(neuron.a);
    }
    for (Index k = 0; k < order_; ++k) {
        products_of(k);
        margins(neurons, k);
        if (!weights(k)) return false;
        gradients(neurons, k);
        parameters(neurons, k);
    }
    sum_products();
    return true;
}

template <class Real>
void NetworkSeries<Real>::products_of(Index k) {
    const Index d = samples_.d;
    std::fill(aw_.begin(), aw_.end(), 0.0);
    for (Index l = 0; l <= k; ++l)
        for (Index j = 0; j < m_; ++j) add_to(aw_.data() + j * d, a[at(l)][at(j)], w[at(k - l)].data() + j * d, d);
}

/// q_i = y_i Σ_j s_ji a_j w_j · x_i.
template <class Real>
void NetworkSeries<Real>::margins(const std::vector<ProvedNeuron<Real>>& neurons, Index k) {
    const Index n = samples_.n;
    std::vector<Real>& q_k = q[at(k)];
    std::fill(q_k.begin(), q_k.end(), 0.0);
    for (Index j = 0; j < m_; ++j) {
        if (neurons[at(j)].resting) continue;
        combine(aw_.data() + j * samples_.d, samples_.d, samples_.transposed.data(), n, n, outputs_.data());
        const double* slopes = neurons[at(j)].slopes.data();
        for (Index i = 0; i < n; ++i) q_k[at(i)] += slopes[i] * outputs_[at(i)];
    }
    for (Index i = 0; i < n; ++i) q_k[at(i)] *= samples_.y[at(i)];
}

/// p' = -p (1 - p) q' or -p q'; λ = y p times the share of a sample.
template <class Real>
bool NetworkSeries<Real>::weights(Index k) {
    const bool logistic = samples_.loss == LossKind::logistic;
    for (Index i = 0; i < samples_.n; ++i) {
        if (k == 0) {
            if (!(magnitude(q[0][at(i)]) <= kLargestMargin)) return false;
            p[0][at(i)] = margin_weight(samples_.loss, q[0][at(i)]);
        } else {
            Real sum = 0.0;
            for (Index l = 1; l <= k; ++l) sum += static_cast<double>(l) * q[at(l)][at(i)] * slope_[at(k - l)][at(i)];
            p[at(k)][at(i)] = -sum / static_cast<double>(k);
        }
        Real square = 0.0;
        if (logistic)
            for (Index l = 0; l <= k; ++l) square += p[at(l)][at(i)] * p[at(k - l)][at(i)];
        slope_[at(k)][at(i)] = p[at(k)][at(i)] - square;
        const Real dual_k = samples_.y[at(i)] * p[at(k)][at(i)] * share_;
        dual[at(k)][at(i)] = dual_k;
        dual_sums[at(k)] += magnitude(dual_k) * samples_.size[at(i)] * kUp;
    }
    return true;
}

/// g_j = Σ_i s_ji λ_i x_i.
template <class Real>
void NetworkSeries<Real>::gradients(const std::vector<ProvedNeuron<Real>>& neurons, Index k) {
    const Index d = samples_.d;
    const Real* duals = dual[at(k)].data();
    for (Index j = 0; j < m_; ++j) {
        const ProvedNeuron<Real>& neuron = neurons[at(j)];
        Real* sum = g[at(k)].data() + j * d;
        if (neuron.resting) {
            std::fill(sum, sum + d, 0.0);
        } else {
            pulls_.clear();
            for (const Index i : neuron.pulling) pulls_.push_back(neuron.slopes[at(i)] * duals[i]);
            combine(pulls_, neuron.pulling, samples_.X.data(), d, sum);
            if (!neuron.held.empty()) project(neuron.held, j, k);
        }
        g_norm[at(k)][at(j)] = norm_up(sum, d);
    }
}

/// Takes what the boundaries that neuron j slides on balance out of its gradient.
template <class Real>
void NetworkSeries<Real>::project(const HeldSet& held_set, Index j, Index k) {
    const Index d = samples_.d;
    HeldSeries<Real>& series = held[at(j)];
    Real* sum = g[at(k)].data() + j * d;
    series.raw.insert(series.raw.end(), sum, sum + d);
    const auto end = series.multipliers.size();
    series.multipliers.resize(end + at(held_set.size()));
    series.errors.push_back(
        held_set.project(series.raw.data() + k * d, sum, series.multipliers.data() + static_cast<Index>(end)));
}

/// (k + 1) w_(k+1) = Σ a_l g_(k-l), (k + 1) a_(k+1) = Σ g_l · w_(k-l).
template <class Real>
void NetworkSeries<Real>::parameters(const std::vector<ProvedNeuron<Real>>& neurons, Index k) {
    const Index d = samples_.d;
    const auto divisor = static_cast<double>(k + 1);
    for (Index j = 0; j < m_; ++j) {
        Real* sum = w[at(k + 1)].data() + j * d;
        std::fill(sum, sum + d, 0.0);
        Real rate = 0.0;
        if (!neurons[at(j)].resting)
            for (Index l = 0; l <= k; ++l) {
                add_to(sum, a[at(l)][at(j)], g[at(k - l)].data() + j * d, d);
                rate += dot(g[at(l)].data() + j * d, w[at(k - l)].data() + j * d, d);
            }
        for (Index c = 0; c < d; ++c) sum[c] /= divisor;
        a[at(k + 1)][at(j)] = rate / divisor;
        w_norm[at(k + 1)][at(j)] = norm_up(sum, d);
        a_norm[at(k + 1)][at(j)] = magnitude(a[at(k + 1)][at(j)]);
    }
}

template <class Real>
void NetworkSeries<Real>::sum_products() {
    products.assign(at(2 * order + 1), 0.0);
    for (Index j = 0; j < m_; ++j)
        for (Index l = 0; l <= order; ++l)
            for (Index k = 0; k <= order; ++k) products[at(l + k)] += a_norm[at(l)][at(j)] * w_norm[at(k)][at(j)];
    for (double& sum : products) sum *= kUp;
}

template struct ProvedNeuron<double>;
template struct ProvedNeuron<DoubleDouble>;
template class NetworkSeries<double>;
template class NetworkSeries<DoubleDouble>;

}  // namespace reluflow::proof
