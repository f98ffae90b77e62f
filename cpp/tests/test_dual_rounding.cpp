/// Where samples are fitted to the last digits their duals are rounding: no event is decided by that.
#include <cmath>

#include "check.hpp"
#include "layered/dual_rounding.hpp"
#include "layered/sliding_bounds.hpp"
#include "layered_graphs.hpp"
#include "run/layered_flow.hpp"
#include "uniform.hpp"

namespace {

using namespace reluflow;
using namespace reluflow::layered;
using reluflow::tests::dense;
using reluflow::tests::node;
using reluflow::tests::Uniform;

constexpr Index kInputs = 4;
constexpr Index kHidden = 5;
constexpr Index kOutputs = 2;
constexpr Index kParameters = kHidden * (kInputs + kOutputs);
constexpr int kProblems = 300;

Graph graph_with(double leak) {
    Node hidden = node(kHidden, false);
    hidden.leak = leak;
    return {{node(kInputs, true), hidden, node(kOutputs, true)},
            {dense(0, 1, kHidden, kInputs, 0), dense(1, 2, kOutputs, kHidden, kHidden * kInputs)},
            kParameters};
}

const Graph& graph() {
    static const Graph made = graph_with(0.0);
    return made;
}

const Graph& leaky_graph() {
    static const Graph made = graph_with(0.1);
    return made;
}

/// Orthonormal inputs: units move on each sample by that sample alone, and those that have come to a boundary rest
/// there, at a bound of their multipliers. Units 0 and 1 are there, with samples 0 and 1.
struct Problem {
    Matrix X{kInputs, kInputs};
    Matrix y = Matrix::Zero(kInputs, kOutputs);
    Vector theta{kParameters};

    explicit Problem(int seed) {
        Uniform uniform(static_cast<std::uint64_t>(seed) + 1);
        Vector v(kInputs);
        for (Index i = 0; i < kInputs; ++i) v[i] = uniform();
        X = Matrix::Identity(kInputs, kInputs) - (2.0 / v.squaredNorm()) * v * v.transpose();
        for (Index g = 0; g < kParameters; ++g) theta[g] = uniform();
        for (Index j = 0; j < kHidden; ++j) {
            Vector w = Vector::Zero(kInputs);
            for (Index i = 0; i < kInputs; ++i) w += (i == j && j < 2 ? 0.0 : 1.1 + uniform()) * X.row(i).transpose();
            theta.segment(j * kInputs, kInputs) = w;
        }
        fit(X * theta.head(kHidden * kInputs).reshaped<Eigen::RowMajor>(kHidden, kInputs).transpose(),
            [](Index i, Index j) { return i == j && j < 2; });
    }

    /// Targets are the outputs, summed in another order; z: pre-activations.
    template <typename IsHeld>
    void fit(const Matrix& z, IsHeld is_held) {
        y.setZero();
        for (Index i = 0; i < kInputs; ++i)
            for (Index j = kHidden - 1; j >= 0; --j)
                for (Index k = 0; k < kOutputs && !is_held(i, j); ++k)
                    y(i, k) += theta[kHidden * (kInputs + k) + j] * std::max(z(i, j), 0.0);
    }

    DualSeries duals() const { return {layered_loss("squared"), y, 1.0}; }

    Snapshot start(const Graph& net = graph()) const {
        Snapshot made{Clock(0.0), theta, Activity(net, X)};
        std::vector<Matrix> z;
        pre_activations(net, X, theta, z);
        made.activity.read(z, theta);
        for (Index j = 0; j < 2; ++j) {
            Boundary boundary;
            boundary.members = {{1, j, j}};
            made.activity.slide(boundary);
        }
        return made;
    }
};

void duals_of_fitted_samples_are_within_their_rounding() {
    double most = 0.0;
    for (int seed = 0; seed < kProblems; ++seed) {
        const Problem p(seed);
        const Snapshot start = p.start();
        Jet jet(graph(), p.X, p.duals(), 2);
        jet.start(p.theta, start.activity, 1.0);
        CHECK(jet.advance());
        const DualRounding rounding(jet);
        for (int b = 0; b < 2; ++b) {
            Row up;
            Row down;
            sliding_bounds(jet, b, 0, up, down);
            const double mu = jet.sliding().multiplier(b)[0];
            const double part = std::max(std::abs(mu - up[0]), std::abs(down[0] - mu)) / rounding.of_multiplier(b);
            CHECK(part < 1.0);
            most = std::max(most, part);
        }
    }
    CHECK(most > 0.01);
}

// Two samples almost on one line hold one neuron: its multipliers are known to rounding over the sine between them.
void multipliers_of_normals_close_to_each_other_are_within_their_rounding() {
    constexpr double kSine = 1e-3;
    double most = 0.0;
    for (int seed = 0; seed < kProblems; ++seed) {
        Problem p(seed);
        const Matrix Q = p.X;
        p.X.row(1) = Q.row(0) + kSine * Q.row(1);
        p.X.row(2) = Q.row(2) + 0.7 * Q.row(0) - 0.4 * Q.row(1);
        p.X.row(3) = Q.row(3) - 0.3 * Q.row(0) + 0.6 * Q.row(1);
        p.theta.head(kInputs) = (Q.row(2) + 0.5 * Q.row(3)).transpose();
        const Graph& net = graph();
        Activity activity(net, p.X);
        std::vector<Matrix> z;
        pre_activations(net, p.X, p.theta, z);
        activity.read(z, p.theta);
        for (Index i = 0; i < 2; ++i) {
            Boundary boundary;
            boundary.members = {{1, i, 0}};
            activity.slide(boundary);
        }
        p.fit(z[1], [&](Index i, Index j) { return j == 0 && i < 2; });
        Jet jet(net, p.X, p.duals(), 2);
        jet.start(p.theta, activity, 1.0);
        CHECK(jet.advance());
        const DualRounding rounding(jet);
        for (int b = 0; b < 2; ++b) {
            const double part = std::abs(jet.sliding().multiplier(b)[0]) / rounding.of_multiplier(b);
            CHECK(part < 1.0);
            most = std::max(most, part);
        }
    }
    CHECK(most > 0.003);
}

/// Unit 0 is `beyond` roundings below its lower bound, and the other samples pull it further: by far less in one step.
bool leaves(int seed, double beyond) {
    Problem p(seed);
    const Snapshot start = p.start(leaky_graph());
    Jet fitted(leaky_graph(), p.X, p.duals(), 4);
    fitted.start(p.theta, start.activity, 1.0);
    CHECK(fitted.advance());
    const double hidden = DualRounding(fitted).of_multiplier(0);
    Eigen::RowVectorXd heads(kOutputs);
    for (Index k = 0; k < kOutputs; ++k) heads[k] = p.theta[kHidden * (kInputs + k)];
    heads /= heads.squaredNorm();
    p.y.row(0) -= beyond * hidden / 0.1 * heads;  // the leak passes on its part
    for (Index i = 1; i < kInputs; ++i) p.y.row(i) += heads;
    Jet pulled(leaky_graph(), p.X, p.duals(), 4);
    pulled.start(p.theta, start.activity, 1e-3 * hidden);
    while (pulled.order() < pulled.top()) CHECK(pulled.advance());
    EventSearch search;
    std::vector<Contact> contacts;
    if (search.find(pulled, 1.0, {}, contacts) > 1.0) return false;
    return contacts.front().boundary.place_of({1, 0, 0}) >= 0 && contacts.front().wants < 0;
}

// In units that make rows tiny, heads huge and data large the rounding is the same number of these units, to the bit.
void rounding_has_the_unit_of_multipliers() {
    for (int seed = 0; seed < kProblems; ++seed) {
        const auto of = [&](double rows, double heads, double data) {
            Problem p(seed);
            p.theta.head(kHidden * kInputs) *= rows;
            p.theta.tail(kHidden * kOutputs) *= heads;
            p.X *= data;
            p.y *= rows * heads * data;
            const Snapshot start = p.start();
            Jet jet(graph(), p.X, p.duals(), 2);
            jet.start(p.theta, start.activity, 1.0);
            CHECK(jet.advance());
            return DualRounding(jet).of_multiplier(0);
        };
        const double rows = std::ldexp(1.0, -250);
        const double heads = std::ldexp(1.0, 200);
        const double data = std::ldexp(1.0, 7);
        CHECK(of(1.0, 1.0, 1.0) > 0.0);
        CHECK(of(rows, heads, data) == rows * heads * heads * data * of(1.0, 1.0, 1.0));
        CHECK(of(rows, rows, data) == rows * rows * data * of(1.0, 1.0, 1.0) * rows);
    }
}

// However short the steps are, and however little is passed in each.
void what_is_beyond_its_bound_leaves() {
    for (int seed = 0; seed < kProblems; ++seed) {
        CHECK(leaves(seed, 8.0));
        CHECK(leaves(seed, 1e4));
        CHECK(!leaves(seed, 0.5));
    }
}

void what_rests_at_its_bounds_stays_there() {
    for (int seed = 0; seed < kProblems; ++seed) {
        const Problem p(seed);
        RunPlan plan;
        plan.stop.time = 20.0;
        LayeredFlow flow(graph(), p.X, p.duals(), p.start(), plan);
        flow.run();
        CHECK(flow.status() == Status::reached_time || flow.status() == Status::stationary);
        CHECK(flow.events().empty());
        CHECK(flow.branchings().empty());
    }
}

}  // namespace

int main() {
    duals_of_fitted_samples_are_within_their_rounding();
    multipliers_of_normals_close_to_each_other_are_within_their_rounding();
    rounding_has_the_unit_of_multipliers();
    what_is_beyond_its_bound_leaves();
    what_rests_at_its_bounds_stays_there();
    return reluflow::tests::failures();
}
