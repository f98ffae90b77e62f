/// What Python cannot see of the descent: that a step allocates nothing.
#include <cmath>

#include "allocations.hpp"
#include "check.hpp"
#include "descent/descent.hpp"

namespace {

using namespace reluflow;

struct Problem {
    Matrix X;
    Vector y;
    Matrix W;
    Vector a;
};

Problem random_problem(Index n, Index m, Index d) {
    Problem problem{Matrix::Random(n, d), Vector::Ones(n), 0.1 * Matrix::Random(m, d), Vector::Constant(m, 0.1)};
    problem.y.head(n / 2).setConstant(-1.0);
    return problem;
}

void a_step_allocates_nothing(Index n, Index m, Index d, Index batch_size) {
    const Problem problem = random_problem(n, m, d);
    Descent descent({problem.X.data(), n, d}, {problem.y.data(), n}, problem.W, problem.a,
                    {.step = 1e-3, .n_steps = 20, .batch_size = batch_size});
    const long before = tests::allocations();
    bool finite = true;
    for (int step = 0; step < 20; ++step) finite = descent.advance() && finite;
    CHECK(std::isfinite(descent.log_loss()));
    CHECK(tests::allocations() == before);
    CHECK(finite);
    CHECK(descent.steps_done() == 20);
}

}  // namespace

int main() {
    a_step_allocates_nothing(2, 10, 2, 0);
    a_step_allocates_nothing(200, 70, 20, 0);
    a_step_allocates_nothing(200, 70, 20, 1);
    a_step_allocates_nothing(200, 70, 20, 150);
    a_step_allocates_nothing(70, 300, 500, 0);
    return reluflow::tests::failures();
}
