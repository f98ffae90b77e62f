/// The balance of units: what enters a unit and what it sends on, Σ in² - Σ out², is conserved by the flow. With weight
/// decay γ it falls like e^{-2γt}, and is as sharp.
///
/// A unit that decays does so along a saddle of its own weights: errors along the direction in which it would grow are
/// magnified by the square of what it has shrunk by. In a balanced unit, Σ in² = Σ out², no exact flow can follow that
/// direction, and steps that keep the balance do not either. Otherwise the unit comes back from below the tolerance
/// with the sign of its output turned over.
///
/// Weights that no sample has moved yet leave the same to the others: of these the difference is that of the start. It
/// is kept where they are small beside the weights at rest, whose rounding is all that the whole difference tells then.
/// So is that of the part of the weights that the samples can move by which a unit reads the data (`acting_span`).
#pragma once

#include <optional>
#include <vector>

#include "base/types.hpp"
#include "layered/acting_span.hpp"
#include "layered/graph.hpp"

namespace reluflow::layered {

class Balance {
  public:
    /// Of the units whose weights are parameters that nothing else reads, at the time `since`. `decay`: γ of each
    /// parameter, empty for none; units whose parameters decay at several rates have no balance. `differences` are
    /// those of an earlier balance of this graph, where a run goes on: θ tells them to a part of the unit alone.
    Balance(const Graph& graph, const Vector& theta, const Vector& decay, double since, const Vector& differences);

    /// Σ in² - Σ out² of each unit at time t; nan for one that has no balance.
    void read(double t, Vector& differences) const;

    /// Puts units that have left their balance back on it: what enters grows by a factor and what leaves falls by it,
    /// so that all other units and the outputs stay as they are. θ is that at time t.
    void restore(Vector& theta, double t) const;

    /// What acts from now on.
    void see(const Activity& activity, const Matrix& X);
    /// The velocity at the start of a step. Parameters rest that have had none, to the last bit, from the start on.
    void see(const Vector& rate);
    /// θ has come there.
    void move(const Vector& theta);

    /// Units of which doubles no longer tell all digits are zero: they have decayed for ever.
    void let_go(Vector& theta) const;

    /// True if what a step has missed of each unit, at its end, is a small part of the unit, however small that is, and
    /// no weight has changed its sign that the balance keeps from zero: the only one that enters a unit, or leaves it,
    /// where no less enters than leaves, or no more. `missed` may be empty for a step that is checked by itself.
    bool are_followed(const Vector& start, const Vector& end, const Vector& missed) const;

  private:
    struct Unit {
        std::vector<Index> in, out;
        double root = 0.0;   // of Σ in² - Σ out² at the time since_, with its sign; nan where it is not looked at
        double decay = 0.0;  // γ of all its parameters
        std::optional<ActingSpan> span;
        bool is_balanced_in_span = false;  // since the start, beside weights at rest
    };
    /// What of a unit has moved: norms of it, and the root as above.
    struct Part {
        double in = 0.0, out = 0.0;
        double root = 0.0;
        bool is_small = false;  // balanced beside larger weights at rest
    };

    bool is_balanced_in(const ActingSpan& span, const Unit& unit) const;
    /// Restores unit by unit; false if all were in balance.
    bool restore_once(Vector& theta, double t) const;
    static bool restore_in_span(const Unit& unit, Vector& theta);
    double root_at(const Unit& unit, double t) const;
    bool has_moved(Index g, const Vector& theta) const { return !is_seen_ || rests_[g] == 0 || theta[g] != start_[g]; }
    Part part_of(const Unit& unit, const Vector& theta, double t) const;
    bool is_followed(const Unit& unit, const Vector& start, const Vector& end, const Vector& missed) const;

    std::vector<Unit> units_;
    Vector start_;
    std::vector<char> rests_;  // of each parameter
    bool is_seen_ = false;
    double since_ = 0.0;
};

}  // namespace reluflow::layered
