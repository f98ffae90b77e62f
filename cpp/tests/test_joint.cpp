/// Which boundaries are held jointly: where units read the data alone, rows of samples tell, and the model of what is
/// zero tells the same.
#include "layered/joint.hpp"

#include <algorithm>

#include "check.hpp"
#include "layered_graphs.hpp"

namespace {

using namespace reluflow;
using namespace reluflow::layered;
using reluflow::tests::dense;
using reluflow::tests::node;

/// Three inputs, two units, the output.
Graph two_layers() {
    return {{node(3, true), node(2, false), node(1, true)}, {dense(0, 1, 2, 3, 0), dense(1, 2, 1, 2, 6)}, 8};
}

/// Both units slide on the samples, of which none is zero.
std::vector<int> joint_of(const Matrix& X, bool by_model) {
    const Graph graph = two_layers();
    const Vector theta = Vector::LinSpaced(8, 1.0, 2.0);
    Activity activity(graph, X);
    std::vector<Matrix> z;
    pre_activations(graph, X, theta, z);
    activity.read(z, theta);
    for (Index unit = 0; unit < 2; ++unit)
        for (Index i = 0; i < X.rows(); ++i) activity.slide(activity.boundary_of({1, i, unit}));
    if (!by_model) return joint_boundaries(activity, X, theta);
    return joint_boundaries(activity, LocalModel(activity, X, theta, {}));
}

bool is_any(const std::vector<int>& joint) {
    return std::ranges::any_of(joint, [](int one) { return one != 0; });
}

void rows_that_do_not_depend_stand_alone() {
    Matrix X(2, 3);
    X << 1.0, 0.5, 0.2, -0.3, 1.0, 0.7;
    CHECK(!is_any(joint_of(X, true)));
    CHECK(joint_of(X, false).empty());
}

/// Nearer to each other than what counts as dependent here, and farther apart than for good: only the model tells.
void rows_that_all_but_depend_are_held_jointly() {
    Matrix X(2, 3);
    X << 1.0, 0.5, 0.2, 1.0, 0.5, 0.2 + 1e-8;
    CHECK(is_any(joint_of(X, true)));
    CHECK(joint_of(X, false) == joint_of(X, true));
}

}  // namespace

int main() {
    rows_that_do_not_depend_stand_alone();
    rows_that_all_but_depend_are_held_jointly();
    return tests::failures();
}
