/// Trends of a run: how far the direction still turns, and whether the flow is coming to rest.
#pragma once

#include <cstdint>
#include <limits>

#include "base/types.hpp"

namespace reluflow {

/// Estimates the angle between θ/|θ| and its limit. In the late phase the direction differs from its limit by a power
/// of 1/|θ|: three states, each with at least twice the |θ|² of the one before, give the power and what remains.
class DirectionTrend {
  public:
    /// Takes a state with its |θ|² (including the part of W that never moves). `separated`: all margins positive and
    /// the loss below its threshold.
    void add(const Matrix& w, const Vector& a, double square, bool separated);

    /// True when add() would read the state.
    bool wants_state(double square, bool separated) const noexcept;

    /// The estimate; +inf until such a decay has been seen.
    double remaining() const noexcept { return remaining_; }

  private:
    struct Snapshot {
        double square = 0.0;
        Matrix w;
        Vector a;
    };
    static void keep(Snapshot& snapshot, const Matrix& w, const Vector& a, double square);
    static double distance(const Snapshot& snapshot, const Matrix& w, const Vector& a, double square);

    Snapshot older_, newer_;
    double between_ = 0.0;  // distance between the two snapshots
    double remaining_ = std::numeric_limits<double>::infinity();
};

/// A rate up to `rounding` is nothing else. One up to `most` may be noise, or that of a part of the network that grows
/// for ever over a loss that stalls; time shows which.
struct RateNoise {
    double rounding = 0.0;
    double most = 0.0;
};

/// What a rate says of rest. Of one that may be noise, where the state has come tells (Drift). One that would move
/// nothing in what is left of the run, though it may move it later, stays.
enum class RestVerdict : std::uint8_t { goes_on, seems_noise, stays, at_rest };

/// How far the state comes. What rounding and truncation move comes back; a slow flow does not, however small its rate
/// is beside what these may make of one.
class Drift {
  public:
    void forget() noexcept { steps_ = -1; }
    /// Takes the state behind a step of this `duration`, at whose start max_j |θ_j'| / |θ_j| was `rate`. `log_sizes`:
    /// log |θ_j|, also of neurons that are stored at another scale, or asleep.
    void add(const Matrix& w, const Vector& a, const Vector& log_sizes, double rate, double duration);
    /// True when the state has been followed for so many steps and is where it was, beside what its rates add up to.
    bool comes_back(int steps) const noexcept;
    /// How far it would come in a time at the mean pace so far, as a part of itself.
    double foretold(double time) const noexcept { return elapsed_ > 0.0 ? distance_ / elapsed_ * time : 0.0; }

  private:
    void note(const Matrix& w, const Vector& a, const Vector& log_sizes);

    Matrix w_;
    Vector a_, log_sizes_;
    int steps_ = -1;         // since the state was noted; -1 if none is
    int most_ = 0;           // steps after which it is noted anew
    double elapsed_ = 0.0;   // since then
    double path_ = 0.0;      // what the rates add up to
    double distance_ = 0.0;  // from that state, max_j |Δθ_j| / |θ_j| or |Δ log |θ_j||
    double rate_ = 0.0;      // of the last step,
    double duration_ = 0.0;  // which is not in path_ yet
};

/// Estimates the relative distance to a critical point: the fastest neuron's rate times its time constant. A plateau
/// does not count as rest: tiny neurons that grow there have a rate of their own. For a rate that falls like 1/t, where
/// a part of the network grows for ever, the estimate does not decrease.
class RestTrend {
  public:
    /// Takes max_j |θ_j'| / |θ_j| now, and the rescaled time since the rate before. `clean`: it is known to the
    /// rounding of a sum of gradients.
    void add(double rate, double duration, bool clean = false);

    /// At rest when less than `distance` remains, judged by a decrease of the rate that has continued; `rate` is the
    /// present one, and decreases of noise are ignored. A run that starts with noise shows no decrease: it is at rest
    /// if the rate is rounding, or too small to matter in the time that is `left`, and seems noise if it stays so for
    /// some times its `age`, the rescaled time of the flow before, or for many steps. A loss that stalls has such rates
    /// late, too, and a part of its network grows for ever; a network that is not said to be old may be.
    RestVerdict judge(double rate, double distance, const RateNoise& bounds, double age, double left);
    /// The whole duration in rescaled time.
    double elapsed() const noexcept { return elapsed_; }
    /// True when the rate falls like a power of time, not exponentially.
    bool falls_like_a_power() const noexcept;
    /// True when so many rates came within the last hundredth of the duration, and the rate has not fallen for most of
    /// it: noise is followed.
    bool crawls() const noexcept;

  private:
    RestVerdict confirm(double rate, double distance, double left, double noise, bool nothing);
    bool has_become_noise() const noexcept;
    void watch_still(double rate) noexcept;
    bool stands_still() const noexcept;

    double first_ = -1.0;      // the first rate of the run
    double clean_at_ = -1.0;   // the duration when a rate was last known to rounding
    double last_ = 0.0;        // the one before the present one
    double before_ = 0.0;      // the reference for the present rate,
    double since_ = 0.0;       // and the time since then
    double above_ = 0.0;       // of which the rate has last been above the reference for so long without a break
    int rises_ = 0;            // and rose so often
    double still_from_ = 0.0;  // the rate that it has stayed near,
    int still_steps_ = 0;      // for so many steps,
    int still_falls_ = 0;      // in so many of which it fell
    double time_constant_ = 0.0;
    double fell_at_ = 0.0;  // the whole duration when it was last determined
    double elapsed_ = 0.0;
    double crawl_begin_ = 0.0;  // the duration when the last hundredth of it was complete,
    int crawl_steps_ = 0;       // and the number of rates since then
    double candidate_ = 0.0;    // the rate at which rest was supposed; 0 if it is not
    double waited_ = 0.0;
    double wait_ = 0.0;
    double remaining_ = std::numeric_limits<double>::infinity();
};

}  // namespace reluflow
