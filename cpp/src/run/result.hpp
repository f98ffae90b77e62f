/// What a run returns: plain data in the user's coordinates, independent of the run itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "problem/dataset.hpp"
#include "run/flow.hpp"
#include "run/recorder.hpp"

namespace reluflow {

/// Leaves numbers uninitialised that are written before they are read: zeroing them first takes longer than writing
/// them, as the writing threads are then not the first to touch the memory.
template <class Number>
struct UnsetAllocator : std::allocator<Number> {
    UnsetAllocator() = default;
    template <class Other>
    UnsetAllocator(const UnsetAllocator<Other>& /*other*/) noexcept {}
    template <class Other>
    struct rebind {
        using other = UnsetAllocator<Other>;
    };
    template <class Other, class... Values>
    void construct(Other* place, Values&&... values) const {
        if constexpr (sizeof...(Values) > 0)
            ::new (static_cast<void*>(place)) Other(std::forward<Values>(values)...);
        else
            ::new (static_cast<void*>(place)) Other;
    }
};
using UnsetNumbers = std::vector<double, UnsetAllocator<double>>;

/// Kept states, W (k, m, d) and a (k, m) row by row.
struct KeptStates {
    std::vector<double> t, log_t, log_loss;
    std::vector<std::int64_t> events;
    UnsetNumbers W, a;

    Index count() const noexcept { return static_cast<Index>(t.size()); }
};

struct RunResult {
    Index neurons = 0;
    Index inputs = 0;
    KeptStates states;       ///< those requested; empty if these are the accepted steps
    KeptStates checkpoints;  ///< accepted steps, from which sol(t) integrates again
    bool steps_are_states = false;
    EventList events;
    std::vector<Branching> branchings;
    SignMatrix first_pattern, last_pattern;
    double t = 0.0;
    double log_t = 0.0;
    double log_loss = 0.0;
    Matrix W;
    Vector a;
    Status status = Status::running;
    std::string message;
    int exponent = 0;             ///< see RunPlan
    Vector offsets;               ///< see RunPlan
    Vector weights;               ///< see RunPlan
    Pace pace;                    ///< see RunPlan
    bool rests_are_free = false;  ///< samples that the plan let rest move by themselves
    StepCounts counts;
    double log_gradient_norm = 0.0;
    double rest_log_t = 0.0;
    double remaining_turn = 0.0;
    std::int64_t checkpoint_stride = 1;
    double seconds = 0.0;
    int threads = 1;
};

/// The result of a run on `data`, ended or in progress. Between two steps it does not change the run.
RunResult collect(Flow& flow, const Dataset& data);

}  // namespace reluflow
