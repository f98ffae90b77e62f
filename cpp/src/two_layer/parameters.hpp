/// The weights in working coordinates, with the invariants a_j² - |w_j|² kept exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "problem/dataset.hpp"
#include "two_layer/moving_parts.hpp"

namespace reluflow {

/// A balanced neuron that has decayed beyond all others: it is stored as zero, and its size is followed by its
/// logarithm.
struct Sleeper {
    int neuron = 0;
    double sign = 1.0;      ///< of the output weight
    double log_size = 0.0;  ///< logarithm of the size it would have
    double wakes_at = 0.0;  ///< that from which on it is restored
};

/// Two-layer network of m neurons. Column j of `w` is neuron j: the neuron index runs fastest, so that one operation
/// moves all neurons at once. The part of W outside the span of the samples never moves and is stored separately.
class Parameters {
  public:
    /// W (m, d), a (m,), leak in [0, 1). Throws InvalidArgument on shapes, non-finite entries or a leak out of range.
    Parameters(const Dataset& data, const MatrixView& W, const VectorView& a, double leak);

    Index neurons() const noexcept { return a.size(); }
    Index rank() const noexcept { return w.rows(); }
    double leak() const noexcept { return leak_; }

    /// a_j² - |w_j|² in working coordinates; exactly 0 for a balanced neuron.
    double invariant(Index neuron) const noexcept { return invariant_[neuron]; }
    /// True where the output weight cannot pass zero until other samples act on the neuron.
    bool keeps_output_sign(Index neuron) const noexcept {
        return invariant_[neuron] >= 0.0 || parts_.keeps_output_sign(neuron);
    }
    /// Norm of the part of the neuron that never moves: |θ_j|² of the whole neuron is |w|² + a² + at_rest(j)².
    double at_rest(Index neuron) const noexcept { return at_rest_[neuron]; }
    /// Σ_j at_rest(j)².
    double resting_square() const noexcept { return at_rest_.squaredNorm(); }
    /// The largest |w| at the ends of steps since w was zero: rounding of that may be left in it.
    double largest(Index neuron) const noexcept { return largest_[neuron]; }
    /// Restores the invariant of a moved neuron (w contiguous, r entries) by changing the smaller of |w| and |a|: that
    /// of the part that has moved since the state, where some coordinates rest.
    void restore_invariant(Index neuron, double* w, double& a) const noexcept;

    /// The same for all neurons of (w, a), shaped like the state, except those that did not move (moved[j] = 0).
    void restore_invariants(Matrix& w, Vector& a, const Vector& moved) const;
    /// Takes these neurons, with their invariants restored, in exchange for the state; not those with moved[j] = 0.
    void take(Matrix& w, Vector& a, const Vector& moved);
    /// Other samples act on the neuron from now on.
    void sides_changed(Index neuron) noexcept { parts_.forget(neuron); }
    /// True for a neuron of which the coordinates that rest have to be told by rest_in(), and matter.
    bool asks_for_rest(Index neuron) const noexcept { return invariant_[neuron] < 0.0 && !parts_.is_known(neuron); }
    /// No sample that acts on the neuron has the coordinates with acts[k] = 0.
    void rest_in(Index neuron, const std::vector<std::uint8_t>& acts) noexcept {
        parts_.begin(neuron, column(neuron), a[neuron], invariant_[neuron], acts);
    }
    /// What acts on the neuron spans no more than these orthonormal vectors, `rank` numbers each.
    void rest_beside(Index neuron, std::span<const double> basis) {
        parts_.begin_in_span(neuron, column(neuron), a[neuron], basis);
    }

    /// W (m, d) in the given coordinates.
    Matrix full_weights(const Dataset& data) const;
    /// The same for the weights (r, m) of another state, written to `full` (m, d).
    void full_weights(const Dataset& data, Eigen::Map<const Matrix> moving, Eigen::Map<Matrix> full) const;

    /// Scales neurons whose squares would leave the range of doubles by a power of two, exactly: w, a and the invariant
    /// are then stored as 2^lift times the neuron. The neuron is below 1e-90 either way and moves no margin, and its
    /// motion under given weights has no scale. True when some neuron was rescaled; `rescaled` lists them.
    bool rescale();
    /// The same of one neuron, which is added to the list.
    void rescale(Index neuron);
    const std::vector<int>& rescaled() const noexcept { return rescaled_; }
    bool is_lifted(Index neuron) const noexcept { return lift_[neuron] > 0; }
    /// True when the stored state differs from the neurons themselves.
    bool has_lifted() const noexcept { return n_lifted_ > 0 || exponent_ > 0; }
    /// log |θ_j| of the neuron itself; -inf for one at zero.
    double log_size(Index neuron) const;
    /// Stores a balanced neuron as zero and follows it as a sleeper, until it has come to a size below 1e-100 again.
    void put_to_sleep(Index neuron, double wakes_at);
    std::span<Sleeper> sleepers() noexcept { return sleepers_; }
    std::span<const Sleeper> sleepers() const noexcept { return sleepers_; }
    /// The direction of a sleeper, (r,), of norm 1.
    auto direction(const Sleeper& sleeper) const { return directions_.col(sleeper.neuron); }
    /// Restores the sleepers that have grown so far; true if there was one.
    bool wake();
    /// Counts how often a neuron was put to sleep or woken.
    std::uint64_t sleep_changes() const noexcept { return sleep_changes_; }
    /// All neurons are stored 2^exponent() times smaller than they are, once margins would otherwise lose the digits
    /// that decide (flow_scale.cpp).
    int exponent() const noexcept { return exponent_; }
    /// Multiplies every neuron by a factor in (0, 1]: what weight decay did to it. The samples span all coordinates
    /// then.
    void decay(double factor);
    /// The same of one neuron.
    void decay(Index neuron, double factor);
    /// Stores them 2^by times smaller than before, exactly.
    void shrink(int by);
    /// Declares that the constructor's arguments were 2^exponent times smaller than the neurons.
    void start_at(int exponent);
    /// Converts (w, a), shaped like the state, from stored to true values. A neuron too small for all its digits
    /// becomes zero.
    void lower(Matrix& w, Vector& a) const;

    Matrix w;  ///< (r, m)
    Vector a;  ///< (m,)

  private:
    double leak_;
    Matrix resting_;  // (m, d), empty at full rank
    Vector invariant_;
    Vector at_rest_;
    Vector largest_;
    MovingParts parts_;
    mutable Vector squares_;  // workspace
    MovingParts::ConstColumn column(Index neuron) const noexcept { return {w.data() + neuron, neurons()}; }
    bool restore_part(Index neuron, MovingParts::Column weights, double& output) const noexcept;
    void scale(Index neuron, int exponent);
    double size(Index neuron) const;
    void restore(const Sleeper& sleeper);

    std::vector<Sleeper> sleepers_;
    Matrix directions_;  // (r, m), of the sleepers
    std::uint64_t sleep_changes_ = 0;
    std::vector<int> lift_;  // powers of two, of each neuron
    std::vector<int> rescaled_;
    Index n_lifted_ = 0;
    int exponent_ = 0;
};

}  // namespace reluflow
