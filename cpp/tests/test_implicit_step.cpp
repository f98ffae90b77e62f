/// Implicit steps: the derivative of the velocity, a step near a minimum, and what they are not to do.
#include <cmath>

#include "check.hpp"
#include "layered/implicit_step.hpp"
#include "layered_graphs.hpp"
#include "uniform.hpp"

namespace {

using namespace reluflow;
using namespace reluflow::layered;
using reluflow::tests::dense;
using reluflow::tests::node;
using reluflow::tests::Uniform;

constexpr Index kInputs = 3;
constexpr Index kHidden = 4;
constexpr Index kSamples = 7;

Graph graph_to(Index outputs) {
    const Index parameters = kHidden * (kInputs + outputs);
    return {{node(kInputs, true), node(kHidden, false), node(outputs, true)},
            {dense(0, 1, kHidden, kInputs, 0), dense(1, 2, outputs, kHidden, kHidden * kInputs)},
            parameters};
}

struct Problem {
    Graph graph;
    Matrix X{kSamples, kInputs};
    Vector theta;
    Activity activity;
    DualSeries duals;

    static DualSeries duals_of(Loss loss, Index outputs, bool decays) {
        Matrix y = Matrix::Zero(kSamples, outputs);
        for (Index i = 0; i < kSamples; ++i)
            if (loss == Loss::cross_entropy)
                y(i, i % outputs) = 1.0;
            else
                y(i, 0) = i % 2 == 0 ? 1.0 : -1.0;
        const Index parameters = kHidden * (kInputs + outputs);
        return {loss, y, 1.0, {}, decays ? Vector::Constant(parameters, 0.1).eval() : Vector()};
    }

    Problem(Loss loss, Index outputs, bool decays)
        : graph(graph_to(outputs)),
          theta(graph.parameters()),
          activity(graph, X),
          duals(duals_of(loss, outputs, decays)) {
        Uniform uniform(3);
        for (Index i = 0; i < X.size(); ++i) X.data()[i] = uniform();
        for (Index g = 0; g < theta.size(); ++g) theta[g] = uniform();
        std::vector<Matrix> z;
        pre_activations(graph, X, theta, z);
        activity = Activity(graph, X);
        activity.read(z, theta);
    }

    /// In the time that goes on as it does at θ: the unit of time at `at` over that at θ.
    Vector velocity(const Vector& at, double log_unit) const {
        Jet jet(graph, X, duals, 2);
        jet.start(at, activity, 1.0, false);
        CHECK(jet.advance());
        return std::exp(log_unit - jet.duals().log_unit()) * jet.theta(1);
    }
};

void the_derivative_is_that_of_differences(Loss loss, Index outputs, bool decays) {
    const Problem p(loss, outputs, decays);
    Jet jet(p.graph, p.X, p.duals, 2);
    jet.start(p.theta, p.activity, 1.0, false);
    CHECK(jet.advance());
    const double log_unit = jet.duals().log_unit();
    Vector column(p.theta.size());
    Eigen::MatrixXd derivative(p.theta.size(), p.theta.size());
    for (Index g = 0; g < p.theta.size(); ++g) {
        const Vector e = Vector::Unit(p.theta.size(), g);
        jet.velocity_along(e, column);
        const double h = 1e-6;
        const Vector difference =
            (p.velocity(p.theta + h * e, log_unit) - p.velocity(p.theta - h * e, log_unit)) / (2 * h);
        CHECK((column - difference).cwiseAbs().maxCoeff() < 1e-7 * (1.0 + column.cwiseAbs().maxCoeff()));
        derivative.col(g) = column;
    }
    CHECK((derivative - derivative.transpose()).cwiseAbs().maxCoeff() < 1e-12 * derivative.cwiseAbs().maxCoeff());
}

/// A long step against many short ones of the same kind, and its series against the states they begin with.
void a_step_is_that_of_ten(Loss loss, Index outputs) {
    Problem p(loss, outputs, true);
    Interrupt never([] { return false; });
    ImplicitStep step(p.graph, p.X, p.duals, 1e-6);
    ImplicitStep fine(p.graph, p.X, p.duals, 1e-10);
    Jet jet(p.graph, p.X, p.duals, kMaxOrder);
    double length = 1e-2;
    CHECK(step.start(p.theta, p.activity));
    while (!step.expand(jet, length, false, never) && length > 1e-6) length = step.next_length();
    Vector end;
    jet.theta_at(1.0, end);
    Vector theta = p.theta;
    Jet short_jet(p.graph, p.X, p.duals, kMaxOrder);
    for (int k = 0; k < 10; ++k) {
        CHECK(fine.start(theta, p.activity));
        CHECK(fine.expand(short_jet, 0.1 * step.length(), false, never));
        short_jet.theta_at(1.0, theta);
    }
    CHECK((end - theta).cwiseAbs().maxCoeff() < 1e-6 * largest(theta));
    CHECK((end - p.theta).cwiseAbs().maxCoeff() > 1e-4 * largest(theta));
}

/// At a saddle a step is at most an e-folding of what grows there.
void what_grows_bounds_the_step() {
    Problem p(Loss::squared, 2, false);
    p.theta *= 1e-3;
    Interrupt never([] { return false; });
    ImplicitStep step(p.graph, p.X, p.duals, 1e-9);
    Jet jet(p.graph, p.X, p.duals, kMaxOrder);
    CHECK(step.start(p.theta, p.activity));
    step.expand(jet, 1e6, false, never);
    CHECK(step.length() < 10.0);
    CHECK(!step.stands(never));
}

}  // namespace

int main() {
    for (const bool decays : {false, true}) {
        the_derivative_is_that_of_differences(Loss::squared, 2, decays);
        the_derivative_is_that_of_differences(Loss::cross_entropy, 3, decays);
        the_derivative_is_that_of_differences(Loss::logistic, 1, decays);
        the_derivative_is_that_of_differences(Loss::exponential, 1, decays);
    }
    a_step_is_that_of_ten(Loss::squared, 2);
    a_step_is_that_of_ten(Loss::cross_entropy, 3);
    a_step_is_that_of_ten(Loss::logistic, 1);
    what_grows_bounds_the_step();
    return reluflow::tests::failures();
}
