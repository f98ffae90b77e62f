/// What the prover is given and what it returns: the data, the claimed order of events, and what was proved.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "problem/loss.hpp"
#include "proof/boundaries.hpp"

namespace reluflow::proof {

/// The terms of the bounds. A test sets one to zero, to see that the enclosures then miss what they should hold.
enum class Term : unsigned { rounding, tail, residual, weight, kink, coupling, jump, storage, switching, multiplier };
inline constexpr std::array kTermNames{"rounding", "tail", "residual", "weight",    "kink",
                                       "coupling", "jump", "storage",  "switching", "multiplier"};

/// Which terms count: all of them, unless a test drops one.
class Terms {
  public:
    Terms() = default;
    explicit Terms(unsigned dropped) : dropped_(dropped) {}
    double operator()(Term term, double bound) const {
        return (dropped_ >> static_cast<unsigned>(term) & 1U) != 0 ? 0.0 : bound;
    }

  private:
    unsigned dropped_ = 0;
};

/// The data of a run, with upper bounds of their norms.
struct Samples {
    Samples(MatrixView X, VectorView y, double leak_, LossKind loss_, bool mean_);

    Index n;
    Index d;
    std::vector<double> X;           // row-major, (n, d)
    std::vector<double> transposed;  // (d, n)
    std::vector<double> y;           // +1 or -1
    double leak;
    LossKind loss;
    bool mean;
    double share;              // of a sample in the loss: 1, or 1/n rounded
    std::vector<double> size;  // upper bounds of |x_i|
    double largest = 0.0;      // of the sizes
    double norm = 0.0;         // an upper bound of |X|₂
    Boundaries boundaries;

    const double* row(Index i) const { return X.data() + i * d; }
};

/// The kinds of events a proof knows, by their names in Python.
enum class Kind : std::int8_t { cross_up, cross_down, die, slide, leave_up, leave_down, other };

inline bool is_leave(Kind kind) {
    return kind == Kind::leave_up || kind == Kind::leave_down;
}

/// An event that the run claims. Only the order within its neuron is a claim; the time says where to look.
struct Claim {
    double t;
    std::int32_t neuron;
    std::int32_t sample;
    Kind kind;
};

/// Where and why a proof ends.
enum class Reason : std::uint8_t {
    none,
    event_not_excluded,    // a pair could change its sign where the run claims no event
    event_missing,         // a claimed event did not happen
    not_transversal,       // the rates at an event have no certain sign
    order_in_neuron,       // windows of two events of one neuron overlap
    tube,                  // the enclosure does not close: the errors grow too fast
    sign_of_output,        // an output weight is not certainly away from zero
    multiplier,            // a multiplier is not certainly within its bounds while a neuron slides
    release_slope,         // the rate at which a multiplier meets its bound has no certain sign
    dependent_boundaries,  // boundaries on which a neuron slides, or which it meets there, may be dependent
    precision,             // the doubles end: overflow, a margin out of range, time that does not advance
    unsupported,           // an event of a kind that is not proved
    stopped                // the caller asked for the end
};
inline constexpr std::array kReasonNames{
    "none",      "event_not_excluded", "event_missing", "not_transversal", "order_in_neuron",
    "tube",      "sign_of_output",     "multiplier",    "release_slope",   "dependent_boundaries",
    "precision", "unsupported",        "stopped"};

struct Failure {
    Reason reason = Reason::none;
    Index neuron = -1;
    Index sample = -1;
    double time = 0.0;

    explicit operator bool() const { return reason != Reason::none; }
};

/// An event with an enclosure of its time: it is within [t_lo, t_hi], and within `t_radius` of t + t_low. `margin`: the
/// rate at the boundary over the bound of its error, at least 1.
struct ProvedEvent {
    double t_lo;
    double t_hi;
    double t;
    double t_low;
    double t_radius;
    double margin = 0.0;
    std::int32_t neuron = -1;
    std::int32_t sample = -1;
    Kind kind = Kind::other;
};

/// An enclosure of the state at one time: the true (w_j, a_j) is within `radius[j]` of row j, to which
/// belong the low words.
struct Enclosure {
    double t;
    std::vector<double> W, W_low;
    std::vector<double> a, a_low;
    std::vector<double> radius;
    std::vector<std::int8_t> signs;
};

struct ProverSettings {
    double until = 0.0;
    std::vector<double> at;    // increasing
    int order = 0;             // of the Taylor polynomials; 0 chooses
    unsigned dropped = 0;      // terms that a test drops
    bool only_states = false;  // end after the last of `at`

    // How steps are chosen, and where the start is a ball. A proof holds for any choice; tests make bounds large.
    double last_term = 0.0;      // the last terms of a step's polynomials, relative; 0 chooses
    double kink_budget = 0.0;    // relative error that neglected kinks may add in a step; 0 chooses
    double longest = 1e300;      // length of a step
    std::vector<double> radius;  // (m) of the start, or none
};

struct ProofRecord {
    Failure failure;
    double proved_until = 0.0;
    Index steps = 0;
    double bound = 0.0;  // of |u - computed|₂ at the end, all neurons together
    std::vector<ProvedEvent> events;
    std::vector<Enclosure> states;
};

}  // namespace reluflow::proof
