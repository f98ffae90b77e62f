/// Which neurons can reach a boundary in a step, and the first hit of each. Unstirred neurons are not looked at.
#pragma once

#include <span>
#include <vector>

#include "hybrid/pattern.hpp"
#include "hybrid/sliding_set.hpp"
#include "two_layer/bounds.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/hits.hpp"
#include "two_layer/network.hpp"
#include "two_layer/neuron_motion.hpp"

namespace reluflow {

/// The first hit of a neuron in a step, and how strongly it disturbs the others: by ½ (U - u)² coupling, relative,
/// until U.
struct FirstHit {
    int neuron = -1;
    Hit hit;
    double coupling = 0.0;
};

class Spread;

/// What a watch reads of the network, and the two things that the watches of all ranges write together, each its part.
struct ScreenedNetwork {
    const Dataset& data;
    const NetworkState& state;
    const Pattern& pattern;
    const std::vector<SlidingSet>& held;
    const Expansion& expansion;
    const GroupBounds& bounds;
    const Spread& spread;
    Releases& releases;
    Vector& paths;  ///< no neuron moves further in the step
};

/// Looks at the neurons of a range. A step: begin(), claim_releases() of one range after the other, find_releases(),
/// scan().
class Screening {
  public:
    Screening(const ScreenedNetwork& network, Range neurons, NeuronMotion& motion, HitFinder& finder);

    /// Bounds the paths and lists the neurons that are due.
    void begin();
    /// Takes on the releases of groups that no range before has met.
    void claim_releases();
    void find_releases();
    /// First hits on (0, 1], in the order of the neurons; all ranges have found their releases.
    const std::vector<FirstHit>& scan();
    /// The boundaries a neuron with a hit can have reached from the start of the step to u, on its last piece, by how
    /// far its pieces have turned.
    std::span<const int> candidates(int neuron, double u);
    /// The next hit of a neuron on its last piece, up to `end`. The finder knows the boundaries that it may have met on
    /// the way.
    Hit next_hit(int neuron, double end);
    double coupling(int piece, const Hit& hit) const;

    /// The step was taken up to u: what each neuron may have moved. Neurons with an event are looked at anew.
    void commit(double u);

    /// A neuron stands elsewhere, or in other units: it is looked at anew.
    void forget_distance(int neuron) noexcept { slack(neuron) = 0.0; }
    /// The neurons have gone by their paths, without any event.
    void pass() noexcept;

  private:
    void bound_paths(double u);
    void look_at(std::span<const int> neurons);
    void first_hit(int neuron, const double* z, const double* rate);
    std::span<const NearWall> find_candidates(int neuron, double u);
    void list_near(int neuron, const double* z);
    void keep_near(int neuron, const double* z);
    void widen(int neuron);
    Hit next_wall(int neuron, double end);
    bool can_reach(int neuron, int wall, double z, double slope, double tail) const;
    int open(int neuron);
    double& slack(Index neuron) noexcept { return slack_[neuron - neurons_.begin]; }

    const Dataset& data_;
    const NetworkState& state_;
    const Pattern& pattern_;
    const std::vector<SlidingSet>& held_;
    const Expansion& expansion_;
    const GroupBounds& bounds_;
    const Spread& spread_;
    Releases& releases_;
    Vector& paths_;
    Range neurons_;
    NeuronMotion& motion_;
    HitFinder& finder_;
    std::vector<double> slack_;  // no boundary is nearer than this to a neuron
    std::vector<FirstHit> hits_;
    std::vector<int> due_, holding_, claimed_, near_;
    std::vector<NearWall> candidates_;
    std::vector<int> within_;
    std::vector<double> z_, gathered_, rates_;
    /// Of one neuron, a part of the lists below: the boundaries that it may come to, each with an angle by which it has
    /// to turn before it can be there: |z| / |w| at the start of the step, or where it was last looked at. Boundaries
    /// that are not kept are farther than `reach`.
    struct Near {
        std::size_t begin = 0;
        std::size_t end = 0;
        double reach = 0.0;
    };
    std::vector<int> near_walls_;
    std::vector<double> not_before_;
    std::vector<Near> near_of_;

    std::size_t within(const Near& near, double turn);
    Near& near_of(int neuron) noexcept { return near_of_[neuron - neurons_.begin]; }
};

}  // namespace reluflow
