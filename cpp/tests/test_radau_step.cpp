/// Late steps: the conditions that give the nodes their order, and accepted steps against fine explicit integration in
/// long double. The error of a step must be below what it says of itself.
#include "two_layer/radau_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/generator.hpp"
#include "base/pool.hpp"
#include "base/tolerances.hpp"
#include "check.hpp"
#include "numeric/radau_nodes.hpp"

namespace {

using namespace reluflow;
using Real = long double;
using Reals = std::vector<Real>;

double uniform(Generator& random) {
    return 2.0 * (static_cast<double>(random.next() >> 11U) / 9007199254740992.0) - 1.0;
}

/// Collocation of 6 stages that integrates polynomials up to degree 5 to every node and up to degree 10 to the end:
/// that makes it of order 11.
void the_nodes_are_those_of_order_eleven() {
    const auto& nodes = RadauNodes::get();
    CHECK(nodes.at[kStages - 1] == 1.0);
    for (int k = 0; k < kStages; ++k) {
        CHECK(nodes.at[k] > (k > 0 ? nodes.at[k - 1] : 0.0));
        for (int degree = 0; degree < kStages; ++degree) {
            Real sum = 0.0L;
            for (int l = 0; l < kStages; ++l) sum += nodes.integration(k, l) * std::pow(Real(nodes.at[l]), degree);
            CHECK(std::abs(sum - std::pow(Real(nodes.at[k]), degree + 1) / (degree + 1)) < 1e-13L);
        }
    }
    for (int degree = 0; degree <= 2 * kStages - 2; ++degree) {
        Real sum = 0.0L;
        for (int l = 0; l < kStages; ++l)
            sum += nodes.integration(kStages - 1, l) * std::pow(Real(nodes.at[l]), degree);
        CHECK(std::abs(sum - 1.0L / (degree + 1)) < 1e-13L);
    }
    for (int degree = 0; degree < kStages; ++degree)
        for (int row = 0; row < kStages; ++row) {
            Real monomial = 0.0L;
            Real polynomial = 0.0L;
            for (int l = 0; l < kStages; ++l) {
                monomial += nodes.to_monomial(row, l) * std::pow(Real(nodes.at[l]), degree);
                polynomial += nodes.to_legendre(row, l) * legendre(degree, 2.0 * nodes.at[l] - 1.0);
            }
            CHECK(std::abs(monomial - (row == degree ? 1.0L : 0.0L)) < 1e-11L);
            CHECK(std::abs(polynomial - (row == degree ? 1.0L : 0.0L)) < 1e-13L);
        }
}

/// ∫_0^{c_k} of products of two polynomials of degree five from their values at the nodes.
void products_of_polynomials_are_integrated() {
    const auto& nodes = RadauNodes::get();
    for (int k = 0; k < kStages; ++k)
        for (int first = 0; first < kStages; ++first)
            for (int second = 0; second < kStages; ++second) {
                Real sum = 0.0L;
                for (int j = 0; j < kStages; ++j)
                    for (int l = 0; l < kStages; ++l)
                        sum += nodes.products[k](j, l) * std::pow(Real(nodes.at[j]), first) *
                               std::pow(Real(nodes.at[l]), second);
                const int degree = first + second + 1;
                CHECK(std::abs(sum - std::pow(Real(nodes.at[k]), degree) / degree) < 1e-13L);
            }
}

/// Under a kernel that grows like e^(growth (c_k + u)) the integrals of powers of u are those of Simpson's rule.
void growth_is_integrated(double growth) {
    const auto& nodes = RadauNodes::get();
    const StageMatrix grown = nodes.growing_integration(growth);
    constexpr int kPieces = 400;
    for (int k = 0; k < kStages; ++k)
        for (int degree = 0; degree < kStages; ++degree) {
            Real sum = 0.0L;
            for (int l = 0; l < kStages; ++l) sum += grown(k, l) * std::pow(Real(nodes.at[l]), degree);
            Real exact = 0.0L;
            for (int i = 0; i <= kPieces; ++i) {
                const Real u = Real(nodes.at[k]) * i / kPieces;
                const Real share = i == 0 || i == kPieces ? 1.0L : (i % 2 == 1 ? 4.0L : 2.0L);
                exact += share * std::pow(u, degree) * std::exp(growth * (Real(nodes.at[k]) + u));
            }
            exact *= Real(nodes.at[k]) / kPieces / 3.0L;
            CHECK(std::abs(sum - exact) < 1e-6L * std::exp(2.0L * growth));
        }
    const StageModes modes = modes_of(grown);
    const auto made = (modes.right * modes.values.asDiagonal() * modes.left).eval();
    CHECK((made.real() - grown).cwiseAbs().maxCoeff() < 1e-12 && made.imag().cwiseAbs().maxCoeff() < 1e-12);
}

/// A network with a pattern that is given and stays, and what a late step of it needs.
struct Network {
    Matrix X, W;
    Vector y, a;
    LossKind loss;
    std::vector<std::vector<int>> holds;  // boundaries of each neuron; boundary i is that of sample i
    SignMatrix signs;                     // (neurons, samples)
};

/// w' = a g, a' = w·g with g the projected gradient, in the clock of the weights' sum; all in long double.
class Explicit {
  public:
    explicit Explicit(const Network& net) : net_(net), rank_(net.X.cols()) {
        for (Index j = 0; j < net.W.rows(); ++j) {
            for (Index k = 0; k < rank_; ++k) state_.push_back(net.W(j, k));
            state_.push_back(net.a[j]);
            bases_.emplace_back();
            for (const int boundary : net.holds[j]) add(bases_.back(), boundary);
        }
        state_.push_back(0.0L);  // time
    }
    void run(Real length, int steps) {
        const Real h = length / steps;
        for (int i = 0; i < steps; ++i) {
            const Reals k1 = rates(state_);
            const Reals k2 = rates(moved(k1, 0.5L * h));
            const Reals k3 = rates(moved(k2, 0.5L * h));
            const Reals k4 = rates(moved(k3, h));
            for (std::size_t n = 0; n < state_.size(); ++n)
                state_[n] += h / 6.0L * (k1[n] + 2.0L * k2[n] + 2.0L * k3[n] + k4[n]);
        }
    }
    Real at(Index neuron, Index k) const { return state_[neuron * (rank_ + 1) + k]; }
    Real time() const { return state_.back(); }

  private:
    void add(std::vector<Reals>& basis, int boundary) const {
        Reals v(rank_);
        for (Index k = 0; k < rank_; ++k) v[k] = net_.X(boundary, k);
        take(basis, v);
        Real square = 0.0L;
        for (const Real x : v) square += x * x;
        for (Real& x : v) x /= std::sqrt(square);
        basis.push_back(v);
    }
    static void take(const std::vector<Reals>& basis, Reals& v) {
        for (const Reals& q : basis) {
            Real part = 0.0L;
            for (std::size_t k = 0; k < v.size(); ++k) part += q[k] * v[k];
            for (std::size_t k = 0; k < v.size(); ++k) v[k] -= part * q[k];
        }
    }
    Reals moved(const Reals& rate, Real h) const {
        Reals next = state_;
        for (std::size_t n = 0; n < next.size(); ++n) next[n] += h * rate[n];
        return next;
    }
    Reals rates(const Reals& state) const {
        const Index n = net_.X.rows();
        Reals q(n, 0.0L);
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < net_.W.rows(); ++j)
                for (Index k = 0; net_.signs(j, i) > 0 && k < rank_; ++k)
                    q[i] += net_.y[i] * state[j * (rank_ + 1) + rank_] * state[j * (rank_ + 1) + k] * net_.X(i, k);
        const Real least = *std::min_element(q.begin(), q.end());
        Real sum = 0.0L;
        for (Index i = 0; i < n; ++i) {  // a sample on which no neuron is active drives nothing and does not count
            const bool is_live = (net_.signs.col(i).array() > 0).any();
            const Real x = std::exp(least - q[i]);
            q[i] = !is_live ? 0.0L : (net_.loss == LossKind::exponential ? x : x / (1.0L + std::exp(-q[i])));
            sum += q[i];
        }
        Reals rate(state.size(), 0.0L);
        for (Index j = 0; j < net_.W.rows(); ++j) {
            Reals g(rank_, 0.0L);
            for (Index i = 0; i < n; ++i)
                for (Index k = 0; net_.signs(j, i) > 0 && k < rank_; ++k) g[k] += net_.y[i] * q[i] / sum * net_.X(i, k);
            take(bases_[j], g);
            const Index begin = j * (rank_ + 1);
            for (Index k = 0; k < rank_; ++k) {
                rate[begin + k] = state[begin + rank_] * g[k];
                rate[begin + rank_] += state[begin + k] * g[k];
            }
        }
        rate.back() = std::exp(least) / sum;  // dt = du / Σ|ℓ'|
        return rate;
    }

    const Network& net_;
    Index rank_;
    Reals state_;
    std::vector<std::vector<Reals>> bases_;
};

/// What became of one late step.
struct Late {
    bool accepted = false;
    double error = 0.0;     // of a neuron, relative to its size, the largest
    double estimate = 0.0;  // of the same, as the next step says; what is clamped there is a bound
    double log_time_error = 0.0;
};

Late late_step(const Network& net, double step, double rtol, const Explicit& expected) {
    const Index m = net.W.rows();
    const Dataset data(net.X, net.y);
    State state(data, net.W, net.a, 0.0);
    for (Index j = 0; j < m; ++j) {
        for (Index i = 0; i < data.n(); ++i)
            state.mode.set_side(j, data.boundary_of(i),
                                static_cast<std::int8_t>(net.signs(j, i) * data.orientation(i)));
        state.mode.hold(j, net.holds[j]);
    }
    Pool pool(1);
    Settings settings;
    settings.rtol = rtol;
    Expansion expansion(data, {net.loss, Reduction::sum}, settings, state, pool);
    expansion.start();
    RadauStep radau(data, {net.loss, Reduction::sum}, settings, m);
    Late result;
    result.accepted = radau.expand(expansion, step, false);
    if (!result.accepted) return result;
    Matrix w(data.rank(), m);
    Vector a(m);
    expansion.series().evaluate(1.0, w, a);
    for (Index j = 0; j < m; ++j) {
        Real square = std::pow(a[j] - expected.at(j, data.rank()), 2);
        for (Index k = 0; k < data.rank(); ++k) square += std::pow(w(k, j) - expected.at(j, k), 2);
        const double size = std::hypot(net.W.row(j).norm(), net.a[j]);
        result.error = std::max(result.error, static_cast<double>(std::sqrt(square)) / size);
    }
    result.estimate = kLatePart * rtol * std::pow(0.9 * step / radau.next_step(), kStages);
    result.log_time_error =
        static_cast<double>(std::abs(expansion.waveform().clock_at(Clock(), 1.0).log_t() - std::log(expected.time())));
    return result;
}

/// Two neurons, each with a sample of its own: only the weights couple them, at a rate that grows with the margins.
Network pair(double margin, double apart, LossKind loss) {
    Network net{Matrix::Identity(2, 2), Matrix(2, 2), Vector(2), Vector(2), loss, {{}, {}}, SignMatrix(2, 2)};
    const double sizes[2] = {std::sqrt(margin), std::sqrt(margin + apart)};
    net.y << 1.0, -1.0;
    net.W << sizes[0], 0.0, 0.0, sizes[1];
    net.a << sizes[0], -sizes[1];
    net.signs << 1, -1, -1, 1;
    return net;
}

/// Some neurons and samples; each neuron holds a boundary or two, or none.
Network several(Index n, Index d, Index m, double size, LossKind loss, Generator& random) {
    Network net{Matrix(n, d),    Matrix(m, d), Vector(n), Vector(m), loss, std::vector<std::vector<int>>(m),
                SignMatrix(m, n)};
    for (Index i = 0; i < n; ++i) {
        net.y[i] = i % 2 == 0 ? 1.0 : -1.0;
        for (Index k = 0; k < d; ++k) net.X(i, k) = uniform(random);
        net.X(i, 0) += 2.0 * net.y[i];
    }
    const Matrix normals = net.X.rowwise().normalized();
    for (Index j = 0; j < m; ++j) {
        for (Index k = 0; k < d; ++k) net.W(j, k) = uniform(random);
        net.a[j] = j % 2 == 0 ? 1.0 : -1.0;
        net.W(j, 0) += 2.0 * net.a[j];
        for (Index boundary = 0; boundary < j % d; ++boundary) net.holds[j].push_back(static_cast<int>(boundary));
        SlidingSet set(d);
        set.assign(net.holds[j], normals);
        Vector w = net.W.row(j);
        set.project(w.data());
        net.W.row(j) = size * w.transpose() / w.norm();
        net.a[j] *= size;
        for (Index i = 0; i < n; ++i) net.signs(j, i) = net.X.row(i).dot(net.W.row(j)) > 0.0 ? 1 : -1;
        for (const int boundary : net.holds[j]) net.signs(j, boundary) = 0;
    }
    return net;
}

/// What a set of steps showed.
struct Survey {
    int accepted = 0;
    int stiff = 0;          // of them, over more than five of the weights' own time constants
    double sharpest = 0.0;  // error over estimate, where the error is more than rounding
};

void look(const Network& net, double stiffness, Survey& survey) {
    for (double step = 2e-3; step < 2.0; step *= 1.4) {
        Explicit expected(net);
        expected.run(step, 200 + static_cast<int>(200.0 * step * stiffness));
        for (const double rtol : {1e-2, 1e-3, 1e-4, 1e-6, 1e-9}) {
            const Late late = late_step(net, step, rtol, expected);
            if (!late.accepted) continue;
            ++survey.accepted;
            survey.stiff += step * stiffness > 5.0 ? 1 : 0;
            constexpr double kFloor = 2e-13;
            CHECK(late.error <= kLatePart * rtol + kFloor);
            CHECK(late.error <= late.estimate + 0.02 * kLatePart * rtol + kFloor);
            CHECK(late.log_time_error <= 4.0 * stiffness * (kLatePart * rtol + kFloor));
            if (late.error > 2.0 * kFloor) survey.sharpest = std::max(survey.sharpest, late.error / (kLatePart * rtol));
        }
    }
}

void accepted_steps_are_within_what_they_promise() {
    for (const LossKind loss : {LossKind::logistic, LossKind::exponential}) {
        Survey survey;
        for (const double margin : {1.0, 10.0, 60.0})
            for (const double apart : {0.0, 1e-3, 0.3, 2.0}) look(pair(margin, apart, loss), 2.0 * margin, survey);
        CHECK(survey.accepted > 500);
        CHECK(survey.stiff > 50);
        CHECK(survey.sharpest > 0.02);  // and what they promise is not beyond all measure
    }
}

void networks_with_held_boundaries_are_too() {
    Generator random(3);
    Survey survey;
    for (const LossKind loss : {LossKind::logistic, LossKind::exponential})
        for (const double size : {0.7, 2.0}) look(several(6, 3, 5, size, loss, random), 10.0 * size * size, survey);
    CHECK(survey.accepted > 100);
}

}  // namespace

int main() {
    the_nodes_are_those_of_order_eleven();
    products_of_polynomials_are_integrated();
    for (const double growth : {0.0, 0.2, 0.5}) growth_is_integrated(growth);
    accepted_steps_are_within_what_they_promise();
    networks_with_held_boundaries_are_too();
    return reluflow::tests::failures();
}
