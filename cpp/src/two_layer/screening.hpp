/// Which neurons can reach a boundary in a step, and the first hit of each. Neurons whose bounded displacement is below
/// their distance to the nearest boundary are skipped.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "base/tolerances.hpp"
#include "numeric/rough_product.hpp"
#include "two_layer/bounds.hpp"
#include "two_layer/event_effect.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/hits.hpp"
#include "two_layer/neuron_motion.hpp"
#include "two_layer/turn_shelves.hpp"

namespace reluflow {

/// The first hit of a neuron in a step; its coupling is that of EventEffect.
struct FirstHit {
    int neuron = -1;
    Hit hit;
    double coupling = 0.0;
    double rate = 0.0;  ///< of the neuron across the boundary, see Disturbance
    Doubt doubt;
};

/// What screening reads of the network, and the two things that all ranges write, each its own part.
struct ScreenedNetwork {
    const Dataset& data;
    const State& state;
    const Expansion& expansion;
    const GroupBounds& bounds;
    const Spread& spread;
    const RoughProduct& rough;  ///< of the normals
    Releases& releases;
    Vector& paths;  ///< bounds of how far each neuron moves in the step
};

/// Screens the neurons of a range. Per step: begin(), claim_releases() of one range after the other, find_releases(),
/// scan().
class Screening {
  public:
    /// Error of an angle: |z| that counts as zero, and the rounding of the sums in both.
    static constexpr double kTurnTol = 4.0 * kZeroUlps * std::numeric_limits<double>::epsilon();

    Screening(const ScreenedNetwork& network, Range neurons, NeuronMotion& motion, HitFinder& finder);

    /// Bounds the paths and lists the neurons that need to be examined. The series of the step are known until `known`:
    /// a multiplier that leaves its interval beyond that, with the series, has not left it before by what is unknown.
    void begin(double known);
    /// Takes over the groups (see Releases) that no earlier range has claimed.
    void claim_releases();
    void find_releases();
    /// First hits on (0, 1], in the order of the neurons; of multipliers until `known`, and of neurons whose series may
    /// be anything beyond that. Precondition: find_releases() of all ranges.
    const std::vector<FirstHit>& scan();
    /// The boundaries that a neuron with a hit can have reached on its last piece between the start of the step and u,
    /// by the bound of its rotation.
    std::span<const int> candidates(int neuron, double u);
    /// The boundaries that can be zero at u with others that they depend on; more than those that are.
    std::span<const int> beside(int neuron, double u);
    /// The next hit of a neuron on its last piece, up to `end`. The finder's met() lists the boundaries that may be
    /// zero there.
    Hit next_hit(int neuron, double end);
    const EventEffect& effect() const noexcept { return effect_; }
    /// Until when an explicit step knows the distances of all neurons that samples hold beside boundaries.
    double known_beside() const noexcept { return known_beside_; }
    /// How a neuron comes to a hit on its last piece.
    Arrival arrival(int neuron, const Hit& hit) const;

    /// Ends the step at u and reduces the known distances by the paths. Neurons with an event are examined again in the
    /// next step.
    void commit(double u);

    /// A neuron has been moved or rescaled otherwise: it is examined again.
    void forget_distance(int neuron) noexcept { slack(neuron) = 0.0; }
    /// Reduces the known distances by the paths, for neurons without any event.
    void pass() noexcept;

  private:
    void bound_paths(double u);
    bool may_leave_at_rest(Index neuron) const;
    bool waits(Index neuron) const noexcept { return mode_.held(neuron).waits() && parameters_.a[neuron] == 0.0; }
    void look_at(std::span<const int> neurons);
    /// A neuron that is examined: w, its rate, and the sines of the angles between w and the boundaries, rough.
    struct Look {
        int neuron;
        const double* w;
        const double* rate;
        const float* sines;
    };
    void first_hit(const Look& look);
    /// No rough sine of an angle with this sine, or a smaller one, is above that; larger ones than 1 are alike.
    float rough(double sine) const noexcept { return static_cast<float>(std::min(sine, 1.0) + rough_.error()); }
    struct Search;
    void look_within(Search& search);
    void measure(Search& search, int shelf, double turn);
    void put_back(Search& search) noexcept;
    void find_slopes(const double* rate, std::span<NearBoundary> candidates);
    template <class Body>
    void in_blocks(const float* sines, const Body& body) const;
    bool list_near(const Look& look);
    std::size_t list_reachable(const Look& look);
    void keep_near(const Look& look);
    void widen(int neuron, double turn);
    Hit next_boundary(int neuron, double end);
    bool is_beside(int neuron) const noexcept;
    void know_beside(const Look& look);
    bool can_reach(int neuron, int boundary, double z, double slope, double tail);
    bool may_come(int neuron, int boundary, double z);
    GroupBounds::Interval pull_on(Index group, int boundary);
    int open(int neuron);
    bool output_positive(int neuron);
    double& slack(Index neuron) noexcept { return slack_[neuron - neurons_.begin]; }

    const Dataset& data_;
    const Parameters& parameters_;
    const Mode& mode_;
    const Expansion& expansion_;
    const GroupBounds& bounds_;
    const RoughProduct& rough_;
    Releases& releases_;
    Vector& paths_;
    Range neurons_;
    NeuronMotion& motion_;
    HitFinder& finder_;
    EventEffect effect_;
    std::vector<char> may_let_go_;
    std::vector<std::int8_t> labels_;
    double known_ = 1.0;
    double known_beside_ = kNoRoot;
    Numbers slack_;  // lower bounds of the distance of each neuron to its nearest boundary
    std::vector<FirstHit> hits_;
    std::vector<int> due_, holding_, claimed_, near_;
    std::vector<NearBoundary> candidates_;
    std::vector<int> within_;  // entries of the shelves
    Numbers distances_;        // of the boundaries that these are
    Numbers gathered_, rates_;
    RoughNumbers directions_, sines_;
    std::vector<GroupBounds::Interval> pulls_;  // of groups on boundaries, where pull_known_ is step_
    std::vector<int> pull_known_;
    int step_ = 0;
    TurnShelves shelves_;  // boundaries that are not kept are farther than the reach of the list

    Index local(int neuron) const noexcept { return neuron - neurons_.begin; }
};

}  // namespace reluflow
