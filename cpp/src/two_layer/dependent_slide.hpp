/// When a neuron leaves boundaries that depend on each other: the multipliers are not unique, and the pull may pass
/// from some to others without any event.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/types.hpp"
#include "geometry/line_search.hpp"
#include "hybrid/sliding_set.hpp"
#include "hybrid/transition.hpp"
#include "numeric/box_least_squares.hpp"
#include "two_layer/hits_sign.hpp"
#include "two_layer/leaving.hpp"
#include "two_layer/neuron_motion.hpp"

namespace reluflow {

/// Where the boundaries have to be decided anew: what changes is known when they are.
inline constexpr double kUnknownJump = std::numeric_limits<double>::infinity();

/// The first instant at which held boundaries cannot take up the pull any more.
struct Leave {
    double u = kNoRoot;    ///< absolute in the step
    int boundary = -1;     ///< one of those that are left
    std::int8_t side = 0;  ///< where it goes; 0 when the boundaries have to be decided anew
    double jump = 0.0;     ///< see jump_on_leaving, or kUnknownJump
    double seen = 0.0;     ///< by when, absolute in the step, the pull is beyond by more than is known of it, or u
};

/// The sides on which the neuron goes when it leaves.
struct WayOut {
    std::vector<int> boundaries;
    std::vector<std::int8_t> sides;  ///< 0 along a boundary; empty when no way is known

    void tell(Corner& corner) const;
};

/// Follows one basis of multipliers along a piece, as a parametric linear program. A multiplier that comes to an end of
/// its interval is exchanged for one that can take its part: a pivot, no event. Where none can, the pull leaves the
/// zonotope of the attracting boundaries through a facet, and the neuron leaves the boundaries that are not along it.
///
/// Repelling boundaries in the span of the attracting ones are stood on for as long as the pull stays inside whatever
/// sides they have; from then on the neuron could leave them. Their pulls are intervals, split only where the answer
/// depends on them, so that all sides are covered by few cases. Where these would be many, the lines in which the
/// boundaries meet are followed instead: the neuron stays while none of them pulls it out. Where the lines are too many
/// as well, those are followed that are found by going uphill, which is no proof that there is no other.
class DependentSlide {
  public:
    /// With `stands`, a neuron keeps standing on repelling boundaries that it could leave, for as long as the pulls of
    /// all boundaries can add up to what it takes: their intervals are used like those of attracting ones.
    DependentSlide(const NeuronMotion& motion, const WeightSigns& signs, bool stands)
        : motion_(motion), signs_(signs), stands_(stands) {}

    /// Until `end`. `weight` is Σ p_i |x_i| of what acts on the neuron. It stays for as long as the pull is beyond what
    /// the boundaries take up by no more than is known of it, as on independent boundaries (HitFinder).
    Leave first_leave(int piece, double end, const SlidingSet& held, bool output_positive, double weight);
    /// Where the last leave leads: with many repelling boundaries no search would find it again.
    const WayOut& way_out() const noexcept { return way_out_; }

  private:
    enum class Place : std::uint8_t { basic, below, above, open };
    struct Basis {
        std::vector<int> boundaries;  ///< rank of them, by place in the set
        std::vector<Place> places;    ///< of all of the set
        double from = 0.0;            ///< the basis holds from here, in time since the begin of the piece
    };
    /// A multiplier at an end of its interval.
    struct End {
        double u = kNoRoot;
        int row = -1;
        bool above = false;
        double jump = 0.0;
        double seen = 0.0;
    };

    /// That no direction leads out whatever the pulls are until the end of a piece. As long as they have not changed by
    /// more than what was spare none does, and the lines need not be looked at again.
    struct Proof {
        std::vector<int> set;
        std::vector<char> attracts;
        Matrix normals;
        Vector rest, below, above;  // times the sign of the output weight
        double sign = 0.0;
        double spare = 0.0;
    };
    static constexpr std::size_t kProofs = 4;

    void read(int piece, const SlidingSet& held, bool output_positive);
    void classify(Basis& basis, bool output_positive);
    void pose(const Basis& basis);
    bool settle(Basis& basis);
    double first_change_of_kink(double end) const;
    double first_to_close(double end);
    void close();
    void go_on_from(double u);
    void follow(Basis basis, double end, int depth);
    void follow_all(Basis basis, double end);
    bool has_few_lines() const;
    void bound_changes(double end);
    void pose_lines(double u, double part);
    void follow_lines(double end);
    void follow_line(const double* way, double end);
    void follow_uphill(double end);
    void climb_at(double u, double end);
    bool is_known_to_stay() const;
    void follow_sides(Basis basis, int split, double end, int depth);
    void leave_by_pull(double u);
    void leave_by_facet(const End& end, int leaving);
    void solve(const Basis& basis);
    End first_end(const Basis& basis, double end);
    End find_end(const Basis& basis, int row, bool above, double end) const;
    int entering(const Basis& basis, const End& end) const;
    int splitting(const Basis& basis, const End& end) const;
    bool attracts(int w) const noexcept { return attracts_[static_cast<std::size_t>(w)] != 0; }
    /// Whether the pull is larger above the boundary than below it, until its kink changes: it may be zero, and of any
    /// sign to rounding, where the piece begins.
    bool rises(int w) const noexcept { return rises_[static_cast<std::size_t>(w)] != 0; }
    /// Pull of a boundary that is not basic, order k.
    double pull(const Basis& basis, int w, int k) const;

    const NeuronMotion& motion_;
    const WeightSigns& signs_;
    bool stands_;
    int order_ = 0;
    std::vector<int> set_;        // the boundaries
    std::vector<char> attracts_;  // or has no kink
    std::vector<char> rises_;
    std::vector<char> closes_;  // what its samples weigh has come to zero, which it cannot pass
    Matrix normals_;            // (set, rank), coordinates in the span
    Matrix below_, above_;      // (set, order + 1)
    Matrix kinks_;              // positive while the class of the boundary is what it was at the start
    Matrix rest_;               // (order + 1, rank)
    Matrix inverse_, tableau_;  // of the basis; tableau (rank, set)
    Matrix multipliers_;        // (rank, order + 1)
    Vector changes_;            // bounds of how much the pulls change, (set,)
    double rest_change_ = 0.0;  // and what they have to take up
    int piece_ = 0;
    double weight_ = 0.0;
    double noise_ = 0.0;    // rounding of pulls
    double unknown_ = 0.0;  // and what the weights are not known to
    BoxLeastSquares box_;
    Leave first_;
    double sign_ = 1.0;  // of the output weight
    WayOut way_out_;
    int cases_ = 0;            // of sides that were followed
    bool is_partial_ = false;  // they were too many
    LineSearch lines_;
    Vector across_;
    std::vector<Vector> ways_;  // from which the search uphill goes on
    Proof posed_;               // the problem of lines_
    std::array<Proof, kProofs> proofs_;
    std::size_t next_proof_ = 0;
};

}  // namespace reluflow
