#include "reluflow/result.hpp"

namespace reluflow {

namespace {

KeptStates in_given_coordinates(const States& states, const Flow& flow, const Dataset& data) {
    const Index m = flow.state().neurons();
    const Index r = data.rank();
    const Index d = data.d();
    KeptStates kept{states.t, states.log_t, states.log_loss, std::vector<double>(states.count() * m * d), states.a};
    for (Index i = 0; i < states.count(); ++i) {
        const Matrix moving = Eigen::Map<const Matrix>(states.w.data() + i * r * m, r, m);
        Eigen::Map<Matrix>(kept.W.data() + i * m * d, m, d) = flow.state().full_weights(data, moving);
    }
    return kept;
}

/// The end alone, for a run that was asked to keep nothing else.
KeptStates last_state(const RunResult& result) {
    const auto in_a_row = [](const auto& values) {
        return std::vector<double>(values.data(), values.data() + values.size());
    };
    return {{result.t}, {result.log_t}, {result.log_loss}, in_a_row(result.W), in_a_row(result.a)};
}

}  // namespace

RunResult collect(const Flow& flow, const Dataset& data) {
    const Recorder& recorder = flow.recorder();
    RunResult result;
    result.neurons = flow.state().neurons();
    result.inputs = data.d();
    result.t = flow.clock().t();
    result.log_t = flow.clock().log_t();
    result.log_loss = flow.log_loss();
    result.W = flow.state().full_weights(data);
    result.a = flow.state().a;
    result.checkpoints = in_given_coordinates(recorder.checkpoints(), flow, data);
    if (!flow.plan().save_at.empty())
        result.states = in_given_coordinates(recorder.saved(), flow, data);
    else if (recorder.keeps_steps())
        result.steps_are_states = true;
    else
        result.states = last_state(result);
    result.events = recorder.event_list();
    result.branchings = recorder.branchings();
    result.first_pattern = flow.first_pattern();
    result.last_pattern = flow.last_pattern();
    result.status = flow.status();
    result.message = flow.message();
    result.counts = flow.counts();
    result.log_gradient_norm = flow.log_gradient_norm();
    result.remaining_turn = flow.remaining_turn();
    result.checkpoint_stride = recorder.stride();
    result.seconds = flow.seconds();
    result.threads = flow.threads();
    return result;
}

}  // namespace reluflow
