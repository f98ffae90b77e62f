#include "run/result.hpp"

#include <algorithm>

namespace reluflow {

namespace {

/// Operations, about, of changing one number from working to given coordinates.
constexpr double kTurnWork = 8.0;

KeptStates in_given_coordinates(const States& states, Flow& flow, const Dataset& data) {
    const Index m = flow.parameters().neurons();
    const Index d = data.d();
    const Index count = states.count();
    KeptStates kept{
        states.t, states.log_t, states.log_loss, states.events, UnsetNumbers(count * m * d), UnsetNumbers(count * m)};
    flow.pool().run(count, kTurnWork * static_cast<double>(count * m * d), [&](Index i) {
        const double* const w = states.theta[i];
        flow.parameters().full_weights(data, {w, data.rank(), m}, {kept.W.data() + i * m * d, m, d});
        std::copy_n(w + data.rank() * m, m, kept.a.data() + i * m);
    });
    return kept;
}

/// The final state, for a run that keeps nothing else.
KeptStates last_state(const RunResult& result) {
    const auto in_a_row = [](const auto& values) { return UnsetNumbers(values.data(), values.data() + values.size()); };
    return {{result.t}, {result.log_t}, {result.log_loss}, {}, in_a_row(result.W), in_a_row(result.a)};
}

}  // namespace

RunResult collect(Flow& flow, const Dataset& data) {
    const Recorder& recorder = flow.recorder();
    RunResult result;
    result.neurons = flow.parameters().neurons();
    result.inputs = data.d();
    result.t = flow.clock().t();
    result.log_t = flow.clock().log_t();
    result.log_loss = flow.log_loss();
    flow.copy_state(result.W, result.a);
    result.checkpoints = in_given_coordinates(recorder.checkpoints(), flow, data);
    if (!flow.plan().save_at.empty())
        result.states = in_given_coordinates(recorder.saved(), flow, data);
    else if (recorder.stride().keeps_steps())
        result.steps_are_states = true;
    else
        result.states = last_state(result);
    result.events = recorder.event_list();
    result.branchings = recorder.branchings();
    result.first_pattern = flow.first_pattern();
    result.last_pattern = flow.last_pattern();
    result.status = flow.status();
    result.message = flow.message();
    result.exponent = flow.state().parameters.exponent();
    result.offsets = flow.state().offsets;
    result.weights = flow.fine_weights();
    result.pace = flow.pace();
    result.rests_are_free = flow.are_rests_released();
    result.counts = flow.counts();
    result.log_gradient_norm = flow.log_gradient_norm();
    result.rest_log_t = flow.rest_log_t();
    result.remaining_turn = flow.remaining_turn();
    result.checkpoint_stride = recorder.stride().stride();
    result.seconds = flow.seconds();
    result.threads = flow.threads();
    return result;
}

}  // namespace reluflow
