/// The earliest event of one neuron on a piece of its motion; bounds exclude any earlier one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tolerances.hpp"
#include "base/types.hpp"
#include "hybrid/mode.hpp"
#include "hybrid/pattern.hpp"
#include "hybrid/sliding_set.hpp"
#include "hybrid/transition.hpp"
#include "two_layer/dependent_slide.hpp"
#include "two_layer/held_beside.hpp"
#include "two_layer/hits_sign.hpp"
#include "two_layer/neuron_motion.hpp"

namespace reluflow {

enum class HitKind : std::uint8_t { none, boundary, release, output_sign };

struct Hit {
    double u = kNoRoot;  ///< absolute in the step
    HitKind kind = HitKind::none;
    int boundary = -1;     ///< the first boundary concerned
    std::int8_t side = 0;  ///< of a leaving neuron: its side afterwards; 0 if that has to be decided
    double jump = 0.0;     ///< of a leaving neuron: see jump_on_leaving, or kUnknownJump
    bool alone = true;     ///< of a leaving neuron: no other multiplier is at its bound
    double seen = 0.0;     ///< by when, in the step, the neuron, or what lets it leave, is beyond by more than is known
    bool rests = false;    ///< of a boundary: the neuron does not cross it but has come to rest on it, to rounding
};

/// How a neuron comes to a hit.
struct Arrival {
    /// How fast it comes across the boundary, as a part of its size in a unit of u; infinite at other hits, and where
    /// it comes from farther away than what events of others may have moved it by unseen.
    double rate = kNoRoot;
    /// What a hit of a boundary, or of a = 0, has to be known to.
    Doubt doubt = {};
};

/// A boundary that may be hit on a piece, and z and z' at the begin of the piece.
struct NearBoundary {
    int boundary = -1;
    double z = 0.0;
    double slope = 0.0;
};

/// Finds hits on pieces of a NeuronMotion.
class HitFinder {
  public:
    /// `stands`: see DependentSlide.
    HitFinder(const NeuronMotion& motion, bool stands);
    void watch(const Parameters& parameters, const Expansion& expansion) noexcept {
        signs_.watch(parameters, expansion);
    }
    const WeightSigns& signs() const noexcept { return signs_; }

    /// First time a boundary of `candidates` is reached on (begin, end] of the piece. Sides are those of the neuron on
    /// the piece.
    Hit first_boundary(int piece, double end, std::span<const NearBoundary> candidates,
                       std::span<const std::int8_t> sides);
    /// The boundaries of the last first_boundary() that may be zero at its hit, including the one hit.
    std::span<const int> met() const noexcept { return met_; }
    /// The first time at which a neuron with these sides leaves a boundary on which it slides.
    Hit first_release(int piece, double end, const SlidingSet& held, std::span<const std::int8_t> sides,
                      bool output_positive);
    /// The first change of sign of the output weight of a neuron with these sides, as far as the series is known;
    /// searched only while the neuron slides. For one that `waits` the begin of the piece, if it then moves.
    Hit output_sign_change(int piece, double end, std::span<const std::int8_t> sides, bool waits = false) const;

    /// The boundaries on which a neuron at w is zero, to rounding.
    void boundaries_at_zero(const double* w, std::span<const int> candidates, std::span<const std::int8_t> sides,
                            std::vector<int>& zero) const;
    /// True for a boundary beside which the neuron has been since before a hit, to rounding, without coming towards it:
    /// it is on its side of it still, however near.
    bool stays_beside(int piece, int boundary, std::int8_t side, const Hit& hit) const;
    /// Where the neuron goes that leaves dependent boundaries in its last piece, of which the gradient is still there.
    const WayOut& find_way_out(const Mode& mode, int neuron);
    /// True for a hit of a boundary that the neuron comes to from farther away than rounding, if at u, before it, no
    /// more than rounding is left.
    bool is_there(int piece, const Hit& hit, double u) const;
    /// How a neuron with these sides comes to a hit.
    Arrival arrival(int piece, const Hit& hit, std::span<const std::int8_t> sides) const;
    double known_beside(int piece, int boundary, std::int8_t side) const {
        return beside_.known_beside(piece, boundary, side, zero_tol(motion_.size(piece)), rate_tol(piece));
    }
    /// |z| below this is zero for weights of this size; |z'| above rate_tol at the begin of a piece is not.
    double zero_tol(double size) const noexcept;
    double rate_tol(int piece) const noexcept;
    /// The largest amount by which a pre-activation was found on the wrong side of its boundary, relative to |w| + |a|.
    double worst_inconsistency() const noexcept { return worst_inconsistency_; }
    void forget_inconsistency() noexcept { worst_inconsistency_ = 0.0; }

  private:
    /// z and z' of one boundary at the begin of a piece, with the sign of the neuron's side.
    struct Tangent {
        int boundary = -1;
        double value = 0.0;
        double slope = 0.0;
    };
    /// Bounds how near a piece comes to boundaries until `limit`.
    class Clearance;
    std::span<const Tangent> find_tangents(int piece, std::span<const NearBoundary> candidates,
                                           std::span<const std::int8_t> sides, const Clearance& clearance);
    void expand_multipliers(int piece, const SlidingSet& held);
    Hit first_release_of_independent(int piece, double end, const SlidingSet& held, std::span<const std::int8_t> sides,
                                     bool output_positive);
    /// What pulls that a neuron on boundaries takes up are known to: the rounding of their sums, and the error of
    /// weights.
    struct PullNoise {
        double rounding = 0.0;
        double weights = 0.0;
    };
    PullNoise pull_noise(int count, std::span<const std::int8_t> sides, double u) const;
    double interval_sign(const Coefficients& range, double length, double rounding, bool output_positive) const;
    double output_rate_noise(int piece, std::span<const std::int8_t> sides, double u) const;
    bool is_closed(int boundary, double u, double sign, double unknown) const;
    bool is_alone(const Hit& release, const SlidingSet& held, double begin, const PullNoise& noise);
    KnownFall first_descent_to(int piece, int boundary, const Coefficients& series, std::span<const std::int8_t> sides,
                               double limit) const;
    double rate_across(int piece, const Coefficients& z, double u) const;
    double neglected() const noexcept;
    KnownFall drift_across(int piece, double distance, const Coefficients& c, double limit) const;
    /// So far beyond a boundary a neuron is across it.
    double drifted(int piece) const noexcept {
        return kDrifted * kWrongSide * (motion_.size(piece) + std::abs(motion_.a(piece)[0]));
    }
    KnownFall leave_boundary(const Coefficients& c, double zero, double limit) const;
    bool is_unknown(double rate, int piece, int boundary, std::span<const std::int8_t> sides) const;

    const NeuronMotion& motion_;
    WeightSigns signs_;
    bool stands_;
    DependentSlide slide_;
    HeldBeside beside_;
    std::vector<Tangent> tangents_;
    std::vector<int> met_;
    int hit_piece_ = -1;  // of the last hit of a boundary, and its series z
    int hit_boundary_ = -1;
    Coefficients hit_series_{};
    double worst_inconsistency_ = 0.0;
    Numbers multipliers_, work_;
};

}  // namespace reluflow
