/// What a caller can choose.
#pragma once

#include <cstdint>
#include <limits>

#include "base/status.hpp"
#include "base/types.hpp"
#include "problem/loss.hpp"
#include "problem/resting.hpp"

namespace reluflow {

/// What to do where the flow is not unique.
enum class BranchPolicy { inactive, active, stay, raise };

/// What the flow descends: the loss of the network with its reduction, and γ/2 |θ|² for weight decay γ >= 0.
struct Objective {
    LossKind loss = LossKind::logistic;
    Reduction reduction = Reduction::sum;
    double decay = 0.0;
    Resting resting = {};
};

/// The first of these that holds ends the run.
struct StopRule {
    double time = std::numeric_limits<double>::infinity();
    double log_time = std::numeric_limits<double>::infinity();
    double log_loss = -std::numeric_limits<double>::infinity();
    Status loss_status = Status::reached_loss;  ///< or reached_mean_loss, if the caller gave that
    double direction = 0.0;
    double gradient = 0.0;                                      ///< |∇L|
    double log_norm = std::numeric_limits<double>::infinity();  ///< log |θ|
    std::int64_t events = std::numeric_limits<std::int64_t>::max();
    std::int64_t steps = std::numeric_limits<std::int64_t>::max();
    double seconds = std::numeric_limits<double>::infinity();
};

struct Settings {
    double rtol = 1e-9;
    double atol = 0.0;
    BranchPolicy on_branch = BranchPolicy::inactive;
    std::int64_t max_events = std::numeric_limits<std::int64_t>::max();
    /// Radau steps are tried once log of the summed loss is below this; a value below -1e100 turns them off. The
    /// default is where Lyu & Li's theory begins.
    double horizon_log_loss = -0.36651292058166435;  // log ln 2
    /// Error of θ that is accepted from the rounding of weights that cancel. It does not depend on rtol, and so neither
    /// does where a loss stalls.
    double rounding = 1e-9;
    /// However it goes on, a run over a stalled loss that can only be followed in steps that rounding limits ends after
    /// so many of them: the next unit of log t would take as many again, and twice as many.
    double most_limited = 3000.0;
    /// Memory for the accepted steps; when it is full every second one is dropped.
    std::size_t checkpoint_bytes = std::size_t{256} << 20;
};

}  // namespace reluflow
