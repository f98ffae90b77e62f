/// Twins: which units are, that they are kept equal, and what parts them.
#include "layered/twins.hpp"

#include "check.hpp"
#include "layered_graphs.hpp"

namespace {

using namespace reluflow;
using namespace reluflow::layered;

/// Two inputs, three units, one output: θ = (w_1, w_2, w_3, a).
Graph three_units() {
    Edge in = tests::dense(0, 1, 3, 2, 0);
    Edge out = tests::dense(1, 2, 1, 3, 6);
    in.has_parameters = out.has_parameters = true;
    return Graph({tests::node(2, true), tests::node(3, false), tests::node(1, true)}, {in, out}, 9);
}

Vector start() {
    Vector theta(9);
    theta << 1.0, -2.0, 1.0, 0.5, 1.0, -2.0, 3.0, 3.0, 3.0;  // the first and the last are equal
    return theta;
}

Activity activity_at(const Graph& graph, const Matrix& X, const Vector& theta) {
    Activity activity(graph, X);
    std::vector<Matrix> z;
    pre_activations(graph, X, theta, z);
    activity.read(z, theta);
    return activity;
}

void twins_are_kept_equal_where_rounding_parts_them() {
    const Graph graph = three_units();
    const Matrix X = Matrix::Identity(2, 2);
    Twins twins(graph, start(), {});
    CHECK(!twins.empty());
    Vector theta = start();
    theta[2] += 1e-13;
    CHECK(!twins.join(activity_at(graph, X, theta), theta));  // no twin of another
    theta[5] *= 1.0 + 1e-15;
    theta[8] *= 1.0 - 1e-15;
    twins.part(theta);
    CHECK(twins.join(activity_at(graph, X, theta), theta));
    CHECK(theta[5] == theta[1] && theta[8] == theta[6]);
    CHECK(theta[2] == 1.0 + 1e-13);
}

void what_acts_otherwise_is_left_and_what_is_far_is_no_twin() {
    const Graph graph = three_units();
    Twins twins(graph, start(), {});
    Matrix X(1, 2);
    X << 2.0, 1.0;  // on the boundary of both
    Vector theta = start();
    theta[5] *= 1.0 + 1e-15;
    theta[1] *= 1.0 - 1e-15;
    const Vector before = theta;
    CHECK(!twins.join(activity_at(graph, X, theta), theta));
    CHECK(theta == before);
    theta[5] *= 1.0 + 1e-6;
    CHECK(!twins.join(activity_at(graph, X, theta), theta));
    twins.part(theta);
    CHECK(twins.empty());
}

void other_decays_and_shared_weights_make_no_twins() {
    const Graph graph = three_units();
    Vector decay = Vector::Constant(9, 0.1);
    CHECK(!Twins(graph, start(), decay).empty());
    decay[5] = 0.2;
    CHECK(Twins(graph, start(), decay).empty());
    Edge in = tests::dense(0, 1, 3, 2, 0);
    Edge out = tests::dense(1, 2, 1, 3, 6);
    in.parameter = {0, 1, 2, 3, 0, 1};  // the first and the last unit read by the same weights
    in.has_parameters = out.has_parameters = true;
    const Graph shared({tests::node(2, true), tests::node(3, false), tests::node(1, true)}, {in, out}, 9);
    CHECK(Twins(shared, start(), {}).empty());
}

}  // namespace

int main() {
    twins_are_kept_equal_where_rounding_parts_them();
    what_acts_otherwise_is_left_and_what_is_far_is_no_twin();
    other_decays_and_shared_weights_make_no_twins();
    return tests::failures();
}
