/// Samples that join the support within a late step that is refused.
#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/polynomial.hpp"
#include "two_layer/radau_step.hpp"

namespace reluflow {

namespace {

/// A sample joins where its margin comes down to those that count. A step is to end this many e-foldings of its weight
/// before: the weight is then below what a step misses, and comes up within a few short ones.
constexpr double kLanding = 30.0;
/// One that is nearer than this at the start is joining already.
constexpr double kFarFromJoining = 2.0 * kLanding;
/// The first step behind is as long as this part of the way to the join.
constexpr double kFirstPart = 0.5;
/// The weights of a step that is refused can be far off, and its margins then tell of joins that are none. So a join
/// within this part of the step is not believed: another step, so much shorter, is to show it. Believed, such ones sent
/// every tenth step of breast cancer in raw units back to a billionth of its length.
constexpr double kLeastBelieved = 0.05;

}  // namespace

/// Margins fall together by millions of e-foldings in a step, and the polynomials of the weights cannot follow the kink
/// where another sample becomes one of those of least margin. The series of the refused step tell when: it is found at
/// once, where steps that are shortened by parts come to it by dozens.
void RadauStep::land_before_join(double step, bool is_cause) noexcept {
    Index heaviest = 0;
    double most = -1.0;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!shares_mass(i) || start_weights_[i] <= most) continue;
        heaviest = i;
        most = start_weights_[i];
    }
    const double level = start_margins_[heaviest] + std::log(most);
    double first = std::numeric_limits<double>::infinity();
    double rate = 0.0;
    Coefficients c{};
    for (Index i = 0; i < data_.n(); ++i) {
        const double above = start_margins_[i] - level;
        if (!shares_mass(i) || !(above > kFarFromJoining)) continue;
        c[0] = above - kLanding;
        for (int k = 1; k <= order_; ++k) c[k] = margins_(k, i) - margins_(k, heaviest);
        const double u = first_descent(c, order_, std::min(1.0, first));
        if (!(u < first)) continue;
        first = u;
        rate = -evaluate_derivative(c, order_, u);
    }
    if (!(first < 1.0) || !(first > 0.0) || !(rate > 0.0)) return;
    if (first < kLeastBelieved) {
        next_step_ = std::min(next_step_, kLeastBelieved * step);
        return;
    }
    landing_ = is_cause ? first * step : std::min(next_step_, first * step);
    ahead_ = landing_ == first * step ? kFirstPart * kLanding / rate * step : kUnlimited;
    next_step_ = landing_;
}

}  // namespace reluflow
