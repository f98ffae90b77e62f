/// Where a run is heading: how far the direction still turns, and whether the flow is coming to rest.
#pragma once

#include <limits>

#include "base/types.hpp"

namespace reluflow {

/// Estimates the angle between θ/|θ| and its limit. In the late phase the direction differs from its limit by a power
/// of 1/|θ|: three states, each with at least twice the |θ|² of the one before, give the power and what remains.
class DirectionTrend {
  public:
    /// A state with its |θ|² (the part at rest included). `separated`: all margins positive and the loss below its
    /// threshold.
    void add(const Matrix& w, const Vector& a, double square, bool separated);

    /// True when add() would read the state.
    bool wants_state(double square, bool separated) const noexcept;

    /// +inf until such a decay has been seen.
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
    double between_ = 0.0;  // distance of the two
    double remaining_ = std::numeric_limits<double>::infinity();
};

/// Estimates the relative distance to a critical point: the fastest neuron's rate over the rate at which it falls. A
/// plateau does not count as rest: tiny neurons that grow there have a rate of their own. A rate that falls like 1/t,
/// where a part of the network grows for ever, gives an estimate that does not fall.
class RestTrend {
  public:
    /// max_j |θ_j'| / |θ_j| now, and the time since the rate before, in rescaled time.
    void add(double rate, double duration);

    /// True when less than `distance` remains, by a fall of the rate that went on afterwards; `rate` is the present
    /// one, and no fall of it is seen below `noise`.
    bool is_at_rest(double rate, double distance, double noise);
    /// All the time there was, in rescaled time.
    double elapsed() const noexcept { return elapsed_; }
    /// True when the rate falls like a power of the time, not like an exponential.
    bool falls_like_a_power() const noexcept;

  private:
    double first_ = -1.0;  // the first rate of the run
    double before_ = 0.0;  // the last rate that the present one is compared with,
    double since_ = 0.0;   // and the time since then
    double time_constant_ = 0.0;
    double elapsed_ = 0.0;
    double candidate_ = 0.0;  // rate at which rest was supposed, 0 when it is not
    double waited_ = 0.0;
    double wait_ = 0.0;
    double remaining_ = std::numeric_limits<double>::infinity();
};

}  // namespace reluflow
