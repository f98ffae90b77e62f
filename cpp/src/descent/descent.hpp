/// Gradient descent: explicit Euler steps of the flow, with φ'(0) = α (0 for ReLU), on all samples or on batches. It
/// does not locate events; it is what is used in practice, to compare the flow with.
///
///     a_j <- a_j + step Σ_i λ_i s_ji z_ji        w_j <- w_j + step a_j Σ_i λ_i s_ji x_i        (both from old values)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/observer.hpp"
#include "base/types.hpp"
#include "problem/loss.hpp"

namespace reluflow {

struct DescentSettings {
    LossKind loss = LossKind::logistic;
    Reduction reduction = Reduction::sum;
    double leak = 0.0;       ///< α in [0, 1)
    double decay = 0.0;      ///< γ of the term γ/2 |θ|²
    double step = 0.0;       ///< the Euler step: the flow's time that one step covers
    Index n_steps = 0;       ///< how many steps
    Index batch_size = 0;    ///< samples a step; 0 = all of them
    std::uint64_t seed = 0;  ///< of the order in which batches visit the samples
    Index save_every = 0;    ///< steps between two records; 0 = the start and the end only
};

/// `non_finite`: the next step would leave the finite numbers; the result ends with the last finite state.
enum class DescentStatus { reached_steps, stopped_by_callback, interrupted, non_finite };

/// The name by which Python knows the status.
const char* name(DescentStatus status) noexcept;

/// Samples, what they are to be fitted to, and what they count.
struct DescentSamples {
    Eigen::Map<const Matrix> X;
    Eigen::Map<const Vector> y, counts;

    DescentSamples rows(Index start, Index size) const {
        return {Eigen::Map<const Matrix>(X.data() + start * X.cols(), size, X.cols()),
                Eigen::Map<const Vector>(y.data() + start, size),
                Eigen::Map<const Vector>(counts.data() + start, size)};
    }
};

class DescentKernel;

/// A run of descent that moves one step at a time. X and y must outlive it.
class Descent {
  public:
    /// `counts`: what the samples count in the loss, or empty for one each. Throws InvalidArgument for shapes that do
    /// not fit and settings out of range.
    Descent(Eigen::Map<const Matrix> X, Eigen::Map<const Vector> y, const MatrixView& W, const VectorView& a,
            const DescentSettings& settings, const Vector& counts = {});
    ~Descent();
    Descent(const Descent&) = delete;
    Descent& operator=(const Descent&) = delete;

    /// Takes one step without allocating; false, with the state unchanged, if the step would not be finite.
    bool advance();

    /// log of the loss on all samples, with its reduction, at the present state.
    double log_loss();

    Index steps_done() const noexcept { return steps_done_; }
    double time() const noexcept { return static_cast<double>(steps_done_) * settings_.step; }
    const Matrix& W() const noexcept { return W_; }
    const Vector& a() const noexcept { return a_; }
    const DescentSettings& settings() const noexcept { return settings_; }

  private:
    DescentSamples samples() const;
    void add_all_samples();
    void add_next_batch();

    Eigen::Map<const Matrix> X_;
    Eigen::Map<const Vector> y_;
    Vector counts_;
    DescentSettings settings_;
    Matrix W_;
    Vector a_;
    Index steps_done_ = 0;
    std::unique_ptr<DescentKernel> kernel_;
};

/// Called between steps; most of its calls should be fast.
using DescentObserver = std::function<Request(Descent&)>;

/// The states kept: k of them, W as (k, m, d) and a as (k, m), row-major.
struct DescentResult {
    std::vector<std::int64_t> step_index;
    std::vector<double> t;
    std::vector<double> W;
    std::vector<double> a;
    std::vector<double> log_loss;
    Index steps_done = 0;
    DescentStatus status = DescentStatus::reached_steps;
};

/// Runs until n_steps are done, the observer ends it, or the state would not be finite. The last state is always kept.
DescentResult descend(Descent& descent, const DescentObserver& observer);

}  // namespace reluflow
