/// Which neurons can reach a wall in a step, and the first hit of each. Unstirred neurons are not looked at.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "reluflow/expansion.hpp"
#include "reluflow/held.hpp"
#include "reluflow/hits.hpp"
#include "reluflow/network.hpp"
#include "reluflow/neuron.hpp"
#include "reluflow/pattern.hpp"

namespace reluflow {

/// The first hit of a neuron in a step, and how strongly it disturbs the others: by ½ (U - u)² coupling, relative,
/// until U.
struct FirstHit {
    int neuron = -1;
    Hit hit;
    double coupling = 0.0;
};

class Spread;

class Watch {
  public:
    Watch(const Dataset& data, const NetworkState& state, const Pattern& pattern, const std::vector<HeldSet>& held,
          const Expansion& expansion, NeuronMotion& motion, HitFinder& finder);
    ~Watch();

    /// First hits on (0, 1], sorted by time.
    const std::vector<FirstHit>& scan();
    /// The walls a neuron with a hit can have reached from the start of the step to u, by the path of its pieces.
    std::span<const int> candidates(int neuron, double u);
    /// The next hit of a neuron on its last piece, up to `end`.
    Hit next_hit(int neuron, double end);
    double coupling(int piece, const Hit& hit);

    /// The step was taken up to u: what each neuron may have moved. Neurons with an event are looked at anew.
    void commit(double u);
    void forget(int neuron) noexcept { slack_[neuron] = 0.0; }
    /// Path bounds of the whole step, for what did not move at all.
    const Vector& paths() const noexcept { return paths_; }

  private:
    void bound_groups();
    void bound_paths(double u);
    void look_at(std::span<const int> neurons);
    void first_hit(int neuron, const double* z, const double* rate);
    void keep_near(int neuron, const double* z);
    void forget_near(int neuron);
    void widen(int neuron);
    Hit next_wall(int neuron, double end);
    bool can_reach(int neuron, int wall, double z, double slope, double tail) const;
    Hit first_release_of_group(int neuron);
    int open(int neuron);

    const Dataset& data_;
    const NetworkState& state_;
    const Pattern& pattern_;
    const std::vector<HeldSet>& held_;
    const Expansion& expansion_;
    NeuronMotion& motion_;
    HitFinder& finder_;
    std::vector<double> slack_;  // no wall is nearer than this to a neuron
    Vector paths_;
    std::vector<FirstHit> hits_;
    std::vector<int> due_, candidates_, near_;
    std::vector<double> z_, gathered_, rates_;
    /// Of one neuron, a part of the lists below: the walls that it may come to, each with a length of its path before
    /// which it cannot be there: |z| at the start of the step, or where it was last looked at. Walls that are not kept
    /// are farther than `reach`.
    struct Near {
        std::size_t begin = 0;
        std::size_t end = 0;
        double reach = 0.0;
    };
    std::vector<int> near_walls_;
    std::vector<double> not_before_;
    std::vector<Near> near_of_;
    std::unique_ptr<Spread> spread_;
    struct GroupRelease {
        bool known = false;
        bool positive = false;
        Hit hit;
    };
    std::vector<GroupRelease> release_of_group_;
    /// Of each group, when there are few: a bound of |g|, and bounds of g·normal for every wall, over the whole step.
    bool bounded_ = false;
    std::vector<double> fastest_, lowest_, highest_, projections_;
};

}  // namespace reluflow
