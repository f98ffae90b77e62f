/// The series of a state where few sectors hold many neurons: each sector is one `Sector`.
#pragma once

#include <vector>

#include "two_layer/sector.hpp"
#include "two_layer/state_series.hpp"

namespace reluflow {

/// The work of an order does not depend on the width. Reading the neurons at the start of a step and moving them at its
/// end are a few products each.
class SectorSeries final : public StateSeries {
  public:
    SectorSeries(const State& state, const Groups& groups, double floor, Pool& pool);

    /// True when the present groups are estimated to be less work than neurons, for steps of about `order`.
    bool is_worth(int order) const noexcept { return is_worth(groups_.count(), order); }

    void restart(Matrix& moments) override;
    void push(const Matrix& gradients, double step, Matrix& moments) override;
    double relative_size(int k) const noexcept override;
    double bend(Index neuron) const noexcept override;
    void path_bounds(double u, Index begin, Index end, Vector& bounds) const override;
    void copy_rates(std::span<const int> neurons, MatrixRef rates) const noexcept override;
    double g(int k, Index coordinate, Index neuron) const noexcept override { return of(neuron).g(k, coordinate); }
    void copy(Index neuron, double* w, double* a, double* g) const noexcept override;
    /// Not thread-safe.
    void evaluate(double u, Matrix& w, Vector& a) const override;
    double work(int order) const noexcept override { return work(groups_.count(), order); }
    double square() const noexcept override;

    Sector& sector(Index group) noexcept { return sectors_[group]; }
    const Sector& sector(Index group) const noexcept { return sectors_[group]; }
    /// Takes the sums to u, where the next step starts, while the motion of the neurons is deferred (see State). The
    /// next step begins with restart(); before the next start() the neurons are moved with evaluate(0).
    void carry(double u);

  private:
    /// Task t processes blocks t, t + kTasks, ..., with its own workspace.
    static constexpr Index kTasks = 16;

    struct Block {
        Index group;
        std::span<const int> neurons;
    };
    struct Workspace {
        Matrix block;
        Numbers work;
    };

    void read_state() override;
    const Sector& of(Index neuron) const noexcept { return sectors_[groups_.of(static_cast<int>(neuron))]; }
    bool is_worth(Index groups, int order) const noexcept;
    double work(Index groups, int order) const noexcept;
    void find_blocks();
    void gather(Index group);
    void move_block(const Block& block, double u, Workspace& workspace, Matrix& w, Vector& a) const;

    mutable std::vector<Sector> sectors_;
    std::vector<Matrix> rows_;  // a block of neurons, a row each, of every sector
    std::vector<Block> blocks_;
    mutable std::vector<Workspace> workspaces_;
};

}  // namespace reluflow
