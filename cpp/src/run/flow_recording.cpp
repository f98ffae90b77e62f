/// What a run keeps: checkpoints, requested states, events.
#include <algorithm>

#include "numeric/products.hpp"
#include "run/flow.hpp"

namespace reluflow {

namespace {

/// Storing this many numbers costs about as much as a step.
constexpr Index kNumbersPerStep = 2500;
/// Samples per task of a shared loop, and neurons whose pre-activations are computed together.
constexpr Index kPiece = 64;

}  // namespace

/// Deferred neurons are moved for a checkpoint only once that costs little beside the steps before it.
void Flow::checkpoint() {
    const Index worthwhile = std::max<Index>(1, state_.parameters.w.size() / kNumbersPerStep);
    if (!state_.is_current() && state_.steps_behind() % worthwhile != 0) return;
    if (recorder_.passes_over()) return;
    stepper_->settle();
    keep_checkpoint();
}

/// The state at u in w_ and a_, as it is stored.
void Flow::load_stored(double u) {
    if (u > 0.0 || !state_.is_current()) return stepper_->state_at(u, w_, a_);
    w_ = state_.parameters.w;
    a_ = state_.parameters.a;
}

/// The state at u in w_ and a_, in true values.
void Flow::load_true(double u) {
    load_stored(u);
    state_.parameters.lower(w_, a_);
}

void Flow::keep_checkpoint(bool always) {
    load_true(0.0);
    recorder_.checkpoint(state_.clock, log_loss(), w_, a_, always);
}

void Flow::copy_state(Matrix& W, Vector& a) {
    load_true(0.0);
    a = a_;
    W.resize(state_.neurons(), data_.d());
    state_.parameters.full_weights(data_, {w_.data(), data_.rank(), state_.neurons()}, {W.data(), W.rows(), W.cols()});
}

void Flow::save_start_norms() {
    for (; !is_saved() && log_norm_at(0.0) >= plan_.save_at[n_saved_]; ++n_saved_) save_state(state_.clock, 0.0);
}

/// The states of the step at which |θ| first reaches what is asked for next.
void Flow::save_norms(double end) {
    for (; !is_saved(); ++n_saved_) {
        const double u = reach_norm(plan_.save_at[n_saved_], end);
        if (u > end) return;
        save_state(u == end ? clock_at_end(end) : clock_until_stop(u), u);
    }
}

void Flow::save_state(const Clock& when, double u) {
    load_stored(u);
    log_loss_of(w_, a_);  // leaves the margins in q_
    const double log_loss_then = true_log_loss(q_);
    state_.parameters.lower(w_, a_);
    recorder_.save(when, log_loss_then, w_, a_);
}

double Flow::log_loss_of(const Matrix& w, const Vector& a) {
    const double leak = state_.parameters.leak();
    pool_.run_pieces(data_.n(), kPiece, static_cast<double>(w.size() * data_.n()), [&](Index begin, Index end) {
        const auto samples = data_.X().middleRows(begin, end - begin);
        Matrix z(end - begin, kPiece);
        auto q = q_.segment(begin, end - begin);
        q.setZero();
        for (Index first = 0; first < a.size(); first += kPiece) {
            const Index count = std::min(kPiece, a.size() - first);
            multiply(samples, w.middleCols(first, count), z.leftCols(count));
            for (Index j = 0; j < count; ++j) q += a[first + j] * z.col(j).cwiseMax(leak * z.col(j));
        }
        q.array() *= data_.signs().segment(begin, end - begin).array();
        q -= state_.offsets.segment(begin, end - begin);
    });
    return loss_of_margins(q_);
}

void Flow::record_events() {
    const Clock stop = time_stop();
    const auto at = [&](double u) {
        const Clock there = clock_at(u);
        return stop.is_before(there) ? stop : there;
    };
    std::size_t branch = 0;
    const auto& branches = stepper_->branches();
    for (const auto& event : stepper_->events()) {
        while (branch < branches.size() && branches[branch].u <= event.u) {
            recorder_.branching(at(branches[branch].u), branches[branch]);
            ++branch;
        }
        recorder_.events(at(event.u), event);
    }
    for (; branch < branches.size(); ++branch) recorder_.branching(at(branches[branch].u), branches[branch]);
}

}  // namespace reluflow
