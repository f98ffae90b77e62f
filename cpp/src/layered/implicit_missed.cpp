/// What an implicit step misses of duals and multipliers: the part of ImplicitStep that says how well it knows what
/// lets go of its boundary.
#include <cmath>

#include "layered/implicit_step.hpp"

namespace reluflow::layered {

// Whether what slides is let go is decided by what is left of duals that all but cancel. Newton's method has not used
// its last correction: with it the duals at the nodes differ from those before by what it left of them, in whichever
// direction. The last Legendre coefficients are what their polynomials miss; at the begin they miss what the steps
// before have left in fast directions. False if a state at a node cannot be evaluated.
bool ImplicitStep::measure_missed(Interrupt& interrupt) {
    missed_ = {};
    if (multipliers_.front().size() == 0) return true;
    const std::vector<Matrix> duals = duals_;
    const std::vector<Vector> multipliers = multipliers_;
    if (!evaluate_nodes(interrupt)) return false;
    missed_ = {Matrix::Zero(start_duals_.rows(), start_duals_.cols()), Vector::Zero(start_multipliers_.size()), moved_};
    Matrix last_duals = missed_.duals;
    Matrix first_duals = start_duals_;
    Vector last_multipliers = missed_.multipliers;
    Vector first_multipliers = start_multipliers_;
    for (int node = 0; node < kStages; ++node) {
        missed_.duals = missed_.duals.cwiseMax((duals_[node] - duals[node]).cwiseAbs());
        missed_.multipliers = missed_.multipliers.cwiseMax((multipliers_[node] - multipliers[node]).cwiseAbs());
        last_duals += nodes_.to_legendre(kStages - 1, node) * duals_[node];
        last_multipliers += nodes_.to_legendre(kStages - 1, node) * multipliers_[node];
        first_duals -= nodes_.to_monomial(0, node) * duals_[node];
        first_multipliers -= nodes_.to_monomial(0, node) * multipliers_[node];
    }
    missed_.duals += last_duals.cwiseAbs() + first_duals.cwiseAbs();
    missed_.multipliers += last_multipliers.cwiseAbs() + first_multipliers.cwiseAbs();
    return true;
}

// What the last step has missed is still on its way to be nothing in this one.
Jet::Missed ImplicitStep::all_missed() const {
    if (missed_.multipliers.size() == 0 || missed_before_.multipliers.size() != missed_.multipliers.size())
        return missed_;
    const double unit = std::exp(log_unit_before_ - log_unit_);
    return {missed_.duals + unit * missed_before_.duals, missed_.multipliers + unit * missed_before_.multipliers,
            missed_.theta};
}

void ImplicitStep::taken() {
    missed_before_ = missed_;
    log_unit_before_ = log_unit_;
}

}  // namespace reluflow::layered
