/// The series of a step where few sectors hold many neurons: each sector is one `Sector`.
#pragma once

#include <vector>

#include "base/pool.hpp"
#include "base/types.hpp"
#include "two_layer/groups.hpp"
#include "two_layer/network.hpp"
#include "two_layer/sector.hpp"

namespace reluflow {

/// The work of an order does not depend on the width. Reading the neurons at the start of a step and moving them at its
/// end are a few products each.
class SectorSeries {
  public:
    SectorSeries(Index neurons, Index rank, Pool& pool);

    /// True when sectors are estimated to be less work than neurons, for steps of about `order`.
    bool is_worth(Index groups, int order) const noexcept;

    /// Operations, about, of all orders up to `order` of the present sectors.
    double work(int order) const noexcept { return work(groups_->count(), order); }

    /// Order 0; `state` and `groups` are read until the next start.
    void start(const NetworkState& state, double floor, const Groups& groups, Matrix& moments);
    /// Back to order 0 of the same state.
    void restart(Matrix& moments);
    void push(const Matrix& gradients, double step, Matrix& moments);

    int order() const noexcept { return order_; }
    /// A bound of max |(w, a)^(k)| / (|θ| + floor) over the neurons.
    double relative_size(int k) const noexcept;
    const Sector& of(Index neuron) const noexcept { return sectors_[groups_->of(static_cast<int>(neuron))]; }
    Sector& sector(Index group) noexcept { return sectors_[group]; }
    const Sector& sector(Index group) const noexcept { return sectors_[group]; }

    /// All neurons at u. Not thread-safe.
    void evaluate(double u, Matrix& w, Vector& a) const;

    /// Takes the sums to u, where the next step starts, and defers the motion of the neurons. Before the next start()
    /// they have to be moved with evaluate(0) and the state replaced by the result.
    void carry(double u);
    bool is_carrying() const noexcept { return carrying_; }
    void settle() noexcept { carrying_ = false; }
    /// Σ |θ|² at the start of the step.
    double square() const noexcept;

  private:
    /// Task t processes blocks t, t + kTasks, ..., with its own workspace.
    static constexpr Index kTasks = 16;

    struct Block {
        Index group;
        std::span<const int> neurons;
    };
    struct Workspace {
        Matrix block;
        std::vector<double> work;
    };

    double work(Index groups, int order) const noexcept;
    void find_blocks();
    void gather(Index group);
    void move_block(const Block& block, double u, Workspace& workspace, Matrix& w, Vector& a) const;

    Index neurons_;
    Index rank_;
    Pool& pool_;
    const NetworkState* state_ = nullptr;
    const Groups* groups_ = nullptr;
    double floor_ = 0.0;
    int order_ = 0;
    bool carrying_ = false;
    mutable std::vector<Sector> sectors_;
    std::vector<Matrix> rows_;  // a block of neurons, a row each, of every sector
    std::vector<Block> blocks_;
    mutable std::vector<Workspace> workspaces_;
};

}  // namespace reluflow
