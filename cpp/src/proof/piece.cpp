#include "proof/piece.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "proof/rounding.hpp"

namespace reluflow::proof {
namespace {

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

double total(const std::vector<double>& terms, Index from) {
    return std::accumulate(terms.begin() + from, terms.end(), 0.0);
}

/// Coefficients about `shift` of the polynomial with these coefficients, `order` rows of d, about 0, by repeated
/// synthetic division. Returns how far both may be apart where the time since 0 is at most `length`.
template <class Real>
double shift_origin(std::vector<Real>& rows, Index order, Index d, const Real& shift, double length) {
    double sizes = 0.0;
    double rates = 0.0;
    double power = 1.0;
    for (Index k = 0; k < order; ++k) {
        const double norm = norm_up(rows.data() + k * d, d);
        sizes += norm * power;
        if (k > 0) rates += static_cast<double>(k) * norm * power;
        power *= length;
    }
    for (Index k = 0; k + 1 < order; ++k)
        for (Index l = order - 2; l >= k; --l)
            for (Index c = 0; c < d; ++c) rows[at(l * d + c)] += shift * rows[at((l + 1) * d + c)];
    // Each coefficient meets at most 3 K roundings on its way; the shift is rounded: 2 u of the length.
    return (gamma<Real>(static_cast<double>(4 * order + 10)) * sizes + 4.0 * kUnitOf<Real> * rates) * kUp;
}

}  // namespace

template <class Real>
Piece<Real> PieceMaker<Real>::first(Index j, const ProvedNeuron<Real>& neuron) const {
    const Index d = samples_.d;
    const Index K = series_.order;
    if (neuron.resting) {
        const Real* w = series_.w[0].data() + j * d;
        return at_rest(j, 0.0, std::vector<Real>(w, w + d), series_.a[0][at(j)]);
    }
    Piece<Real> piece;
    piece.neuron = j;
    piece.length = bounds_.length;
    piece.reach = bounds_.length;
    piece.w.reserve(at((K + 1) * d));
    for (Index k = 0; k <= K; ++k) {
        const Real* w = series_.w[at(k)].data() + j * d;
        piece.w.insert(piece.w.end(), w, w + d);
        piece.a.push_back(series_.a[at(k)][at(j)]);
        const Real* g = series_.g[at(k)].data() + j * d;
        if (k < K) piece.g.insert(piece.g.end(), g, g + d);
    }
    double projection = 0.0;
    if (!neuron.held.empty()) {
        const HeldSeries<Real>& series = series_.held[at(j)];
        piece.held = neuron.held;
        piece.raw = series.raw;
        piece.multipliers = series.multipliers;
        double power = 1.0;
        for (const double error : series.errors) {
            projection += error * power;
            power *= bounds_.length;
        }
    }
    bound(piece, projection);
    return piece;
}

template <class Real>
Piece<Real> PieceMaker<Real>::from(Index j, const Real& start, const std::vector<Real>& w, const Real& a,
                                   const std::vector<Real>& raw, const HeldSet& held) const {
    const Index d = samples_.d;
    const Index K = series_.order;
    Piece<Real> piece;
    piece.neuron = j;
    piece.start = start;
    piece.length = bounds_.length - start;
    piece.reach = rounded(piece.length);
    piece.raw = raw;
    piece.held = held;
    const double projection = project(piece);
    const double shift = shift_origin(piece.g, K, d, start, bounds_.length);
    if (!held.empty()) piece.multiplier_error = shift_origin(piece.multipliers, K, held.size(), start, bounds_.length);
    piece.w = w;
    piece.w.resize(at((K + 1) * d));
    piece.a.assign(at(K + 1), 0.0);
    piece.a[0] = a;
    for (Index k = 0; k < K; ++k) {
        Real* next = piece.w.data() + (k + 1) * d;
        Real rate = 0.0;
        for (Index l = 0; l <= k; ++l) {
            const Real* gradient = piece.g_of(k - l, d);
            for (Index c = 0; c < d; ++c) next[c] += piece.a[at(l)] * gradient[c];
            rate += dot(piece.g_of(l, d), piece.w_of(k - l, d), d);
        }
        for (Index c = 0; c < d; ++c) next[c] /= static_cast<double>(k + 1);
        piece.a[at(k + 1)] = rate / static_cast<double>(k + 1);
    }
    bound(piece, projection + shift);
    return piece;
}

/// The gradient and the multipliers of `piece.raw`; returns the error of the gradient on the step.
template <class Real>
double PieceMaker<Real>::project(Piece<Real>& piece) const {
    piece.g = piece.raw;
    if (piece.held.empty()) return 0.0;
    const Index d = samples_.d;
    const Index k = piece.held.size();
    piece.multipliers.resize(at(series_.order * k));
    double sum = 0.0;
    double power = 1.0;
    for (Index l = 0; l < series_.order; ++l) {
        Real* g = piece.g.data() + l * d;
        sum += piece.held.project(piece.raw.data() + l * d, g, piece.multipliers.data() + l * k) * power;
        power *= bounds_.length;
    }
    return sum * kUp;
}

template <class Real>
std::vector<Real> PieceMaker<Real>::dual_about(Index i, const Real& start, double& error) const {
    std::vector<Real> dual;
    for (Index k = 0; k < series_.order; ++k) dual.push_back(series_.dual[at(k)][at(i)]);
    error = start > 0.0 ? shift_origin(dual, series_.order, 1, start, bounds_.length) : 0.0;
    return dual;
}

template <class Real>
Piece<Real> PieceMaker<Real>::at_rest(Index j, const Real& start, const std::vector<Real>& w, const Real& a) const {
    const Index K = series_.order;
    Piece<Real> piece;
    piece.neuron = j;
    piece.start = start;
    piece.length = bounds_.length - start;
    piece.reach = rounded(piece.length);
    piece.resting = true;
    piece.w = w;
    piece.w.resize(at((K + 1) * samples_.d));
    piece.a.assign(at(K + 1), 0.0);
    piece.a[0] = a;
    piece.g.assign(at(K * samples_.d), 0.0);
    piece.w_size = norm_up(w.data(), samples_.d);
    piece.a_size = magnitude(a);
    piece.size = hypot_up(piece.w_size, piece.a_size);
    return piece;
}

template <class Real>
void PieceMaker<Real>::bound(Piece<Real>& piece, double shift_error) const {
    const Index d = samples_.d;
    const Index K = series_.order;
    std::vector<double> w(at(K + 1));
    std::vector<double> a(at(K + 1));
    std::vector<double> g(at(K));
    double power = 1.0;
    double rate_power = 1.0;
    for (Index k = 0; k <= K; ++k) {
        w[at(k)] = norm_up(piece.w_of(k, d), d) * power;
        a[at(k)] = magnitude(piece.a[at(k)]) * power;
        if (k < K) {
            const double norm = norm_up(piece.g_of(k, d), d);
            g[at(k)] = norm * power;
            if (k > 0) piece.g_rate += static_cast<double>(k) * norm * rate_power;
        }
        if (k > 0) rate_power = power;
        power *= piece.reach;
    }
    piece.g_rate *= kUp;
    piece.motion = total(w, 1) * kUp;
    piece.late_motion = total(w, 3) * kUp;
    piece.a_motion = total(a, 1) * kUp;
    piece.w_size = (w[0] + piece.motion) * kUp;
    piece.a_size = (a[0] + piece.a_motion) * kUp;
    piece.size = hypot_up(piece.w_size, piece.a_size);
    piece.g_size = total(g, 0) * kUp;
    // g = Σ s λ̃ x: each product meets at most n + 10 roundings; each of at most K events adds 4 u of the sum.
    const double sums = gamma<Real>(static_cast<double>(samples_.n + 5 * K + 20)) * bounds_.dual_sum;
    piece.g_error = (terms_(Term::rounding, sums + shift_error) + kTiny) * kUp;
    piece.multiplier_error = (piece.multiplier_error + piece.held.inverse() * piece.g_error) * kUp;
    double reached = 1.0;
    for (Index k = 0; k <= K && !piece.held.empty(); ++k) {
        piece.off += piece.held.off(piece.w_of(k, d)) * reached * kUp;
        reached *= piece.reach;
    }
    const double rounding = gamma<Real>(static_cast<double>(3 * K + d + 10)) * piece.g_size * piece.size;
    piece.defect =
        (piece.size * piece.g_error + terms_(Term::rounding, rounding) + terms_(Term::tail, tail(w, a, g)) + kTiny) *
        kUp;
    const double moved = hypot_up(piece.motion, piece.a_motion);
    const double times = 4.0 * kUnitOf<Real> * bounds_.length * piece.g_size * piece.size;
    piece.storage = terms_(Term::storage,
                           kUnitOf<Real> * piece.size + gamma<Real>(static_cast<double>(2 * K + 6)) * moved + times) *
                        kUp +
                    kTiny;
}

/// sup of the part of (a g, g·w) of degree `order` and more, which the derivative does not have.
template <class Real>
double PieceMaker<Real>::tail(const std::vector<double>& w_terms, const std::vector<double>& a_terms,
                              const std::vector<double>& g_terms) const {
    const Index K = series_.order;
    std::vector<double> rest(at(K + 1), 0.0);  // rest[k]: the terms of g from k on
    for (Index k = K; k-- > 0;) rest[at(k)] = rest[at(k + 1)] + g_terms[at(k)];
    double of_w = 0.0;
    double of_a = 0.0;
    for (Index l = 1; l <= K; ++l) {
        of_w += a_terms[at(l)] * rest[at(K - l)];
        of_a += w_terms[at(l)] * rest[at(K - l)];
    }
    return hypot_up(of_w, of_a);
}

template <class Real>
void PieceMaker<Real>::state(const Piece<Real>& piece, const Real& time, std::vector<Real>& w, Real& a) const {
    const Index d = samples_.d;
    w.assign(at(d), 0.0);
    a = 0.0;
    for (Index k = series_.order; k >= 1; --k) {
        for (Index c = 0; c < d; ++c) w[at(c)] = (w[at(c)] + piece.w[at(k * d + c)]) * time;
        a = (a + piece.a[at(k)]) * time;
    }
    for (Index c = 0; c < d; ++c) w[at(c)] += piece.w[at(c)];
    a += piece.a[0];
}

template class PieceMaker<double>;
template class PieceMaker<DoubleDouble>;

}  // namespace reluflow::proof
