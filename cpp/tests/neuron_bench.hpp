/// One neuron under a gradient that a test chooses, for the tests of what happens on a piece of its motion.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/pool.hpp"
#include "two_layer/hits.hpp"
#include "two_layer/neuron_series.hpp"

namespace reluflow::tests {

using Numbers = std::vector<double>;

inline constexpr Index kRank = 3;

inline Matrix rows_of(const std::vector<Numbers>& rows) {
    Matrix made(static_cast<Index>(rows.size()), kRank);
    for (Index i = 0; i < made.rows(); ++i)
        for (Index k = 0; k < kRank; ++k) made(i, k) = rows[i][k];
    return made;
}

inline Vector vector_of(const Numbers& numbers) {
    return Eigen::Map<const Vector>(numbers.data(), static_cast<Index>(numbers.size()));
}

/// Two axes and what lies between the second and the third; unit normals but for the last.
inline const std::vector<Numbers> kAxes{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 1.0, 1.0}};

/// One neuron whose gradient, order by order, a test chooses: g(u) = Σ g_k u^k, w' = a g, a' = w·g, held boundaries
/// projected out. The step has scale 1, and the margins of the samples are lines: their weights are constant unless a
/// test says otherwise.
class Bench {
  public:
    explicit Bench(const std::vector<Numbers>& samples)
        : Bench(samples, Numbers(samples.size(), 1.0), Numbers(samples.size(), 0.0), Numbers(samples.size(), 0.0)) {}

    Bench(const std::vector<Numbers>& samples, const Numbers& labels, const Numbers& margins, const Numbers& rates)
        : data_(rows_of(samples), vector_of(labels)),
          state_(data_, Matrix::Ones(1, kRank), Vector::Ones(1), 0.0),
          waveform_(data_, {LossKind::exponential, Reduction::sum}),
          pool_(1),
          groups_(1),
          series_(state_, groups_, 0.0, pool_) {
        for (Index boundary = 0; boundary < data_.n_boundaries(); ++boundary) state_.mode.set_side(0, boundary, 1);
        groups_.update(state_.mode.pattern());
        waveform_.start(vector_of(margins), std::vector<char>(samples.size(), 1));
        waveform_.set_step(1.0);
        Matrix moments(kRank, 1);
        series_.start(moments);
        const Matrix still = Matrix::Zero(kRank, 1);
        for (int k = 0; k < kMaxOrder; ++k) {
            waveform_.push(k == 0 ? vector_of(rates) : Vector::Zero(data_.n()));
            series_.push(still, 1.0, moments);
        }
        motion = std::make_unique<NeuronMotion>(data_, waveform_, 0.0, Range{0, 1});
        finder = std::make_unique<HitFinder>(*motion, false);
        held = SlidingSet(kRank);
        sides.assign(samples.size(), 1);
    }

    /// The piece on which the neuron starts at (w, a) at u, under g.
    int put(const Numbers& w, double a, const std::vector<Numbers>& g, double u = 0.0) {
        motion->begin_step(series_);
        const int first = motion->open(0, held, nullptr);
        std::fill_n(motion->gradient(), kRank * (kMaxOrder + 1), 0.0);
        for (std::size_t k = 0; k < g.size(); ++k) std::copy(g[k].begin(), g[k].end(), motion->gradient() + k * kRank);
        return motion->follow(first, u, held, w.data(), a);
    }
    /// The first hit of any boundary.
    Hit hit(int piece, double end) {
        std::vector<NearBoundary> near;
        for (int boundary = 0; boundary < static_cast<int>(data_.n_boundaries()); ++boundary)
            near.push_back({boundary, along(boundary, motion->w(piece)), along(boundary, motion->w(piece, 1))});
        return finder->first_boundary(piece, end, near, sides);
    }
    const Dataset& data() const { return data_; }

  private:
    double along(Index boundary, const double* v) const {
        return data_.normals().row(boundary).dot(Eigen::Map<const Vector>(v, kRank));
    }

    Dataset data_;
    State state_;
    Waveform waveform_;
    Pool pool_;
    Groups groups_;
    NeuronSeries series_;

  public:
    std::unique_ptr<NeuronMotion> motion;
    std::unique_ptr<HitFinder> finder;
    SlidingSet held;
    std::vector<std::int8_t> sides;
};

}  // namespace reluflow::tests
