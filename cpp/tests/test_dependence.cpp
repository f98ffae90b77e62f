/// Boundaries of one unit that depend on each other: along which rays it can leave them.
#include "layered/dependence.hpp"

#include <cmath>

#include "check.hpp"
#include "layered/activity.hpp"
#include "layered_graphs.hpp"

namespace {

using namespace reluflow;
using namespace reluflow::layered;
using reluflow::tests::dense;
using reluflow::tests::node;

/// Inputs, one unit, one unit that reads it, and the output.
Graph chain(Index inputs) {
    return {{node(inputs, true), node(1, false), node(1, false), node(1, true)},
            {dense(0, 1, 1, inputs, 0), dense(1, 2, 1, 1, inputs), dense(2, 3, 1, 1, inputs + 1)},
            inputs + 2};
}

/// The first unit slides on all samples.
Activity slides_on(const Graph& graph, const Matrix& X, const Vector& theta) {
    Activity activity(graph, X);
    std::vector<Matrix> z;
    pre_activations(graph, X, theta, z);
    activity.read(z, theta);
    for (Index i = 0; i < X.rows(); ++i) activity.slide(activity.boundary_of({1, i, 0}));
    return activity;
}

void a_unit_on_three_samples_of_a_plane_leaves_along_six_rays() {
    Matrix X(3, 2);
    X << 1.0, 0.0, 0.0, 1.0, 1.0, 1.0;
    const Graph graph = chain(2);
    const Activity activity = slides_on(graph, X, Vector::Ones(4));
    const std::vector<SlidingGroup> groups = sliding_groups(activity);
    CHECK(groups.size() == 1);
    CHECK(groups.front().boundaries.size() == 3);
    CHECK(groups.front().rays.size() == 6);
}

// Of 40 samples in general position any three of four coordinates leave a ray: 9,880.
void one_on_samples_of_too_many_rays_is_no_group() {
    Matrix X(40, 4);
    for (Index i = 0; i < X.rows(); ++i)
        for (Index k = 0; k < X.cols(); ++k) X(i, k) = std::pow(0.05 * static_cast<double>(i + 1), k);
    const Graph graph = chain(4);
    CHECK(sliding_groups(slides_on(graph, X, Vector::Ones(graph.parameters()))).empty());
}

}  // namespace

int main() {
    a_unit_on_three_samples_of_a_plane_leaves_along_six_rays();
    one_on_samples_of_too_many_rays_is_no_group();
    return tests::failures();
}
