#include "descent/descent_kernel.hpp"

#include <algorithm>
#include <numeric>

#include "numeric/products.hpp"

namespace reluflow {

EpochSampler::EpochSampler(Index n, Index batch_size, std::uint64_t seed)
    : order_(static_cast<std::size_t>(n)),
      batch_size_(static_cast<std::size_t>(batch_size)),
      position_(order_.size()),
      generator_(seed) {
    std::iota(order_.begin(), order_.end(), Index{0});
}

std::span<const Index> EpochSampler::next() noexcept {
    if (position_ == order_.size()) {
        shuffle(order_, generator_);
        position_ = 0;
    }
    const std::size_t size = std::min(batch_size_, order_.size() - position_);
    const std::span<const Index> batch(order_.data() + position_, size);
    position_ += size;
    return batch;
}

DescentKernel::DescentKernel(Index n, Index m, Index d, const DescentSettings& settings)
    : loss_(settings.loss),
      leak_(settings.leak),
      sampler_(n, settings.batch_size, settings.seed),
      velocity_W_(Matrix::Zero(m, d)),
      velocity_a_(Vector::Zero(m)),
      Z_(m, kSamples),
      S_(m, kSamples),
      q_(kSamples),
      dual_(Vector::Zero(kSamples)),
      leaked_dual_(kSamples),
      gathered_X_(kSamples, d),
      gathered_y_(kSamples),
      gathered_counts_(kSamples),
      all_margins_(static_cast<std::size_t>(n)) {}

void DescentKernel::reset() {
    velocity_W_.setZero();
    velocity_a_.setZero();
}

void DescentKernel::margins(const DescentSamples& samples, const Matrix& W, const Vector& a, double* q) {
    const Index n_samples = samples.X.rows();
    multiply_transposed(W, samples.X, Z_.leftCols(n_samples));
    Eigen::Map<Vector> sum(q, n_samples);
    sum.setZero();
    for (Index j = 0; j < W.rows(); ++j) {
        const auto z = Z_.row(j).head(n_samples).transpose();
        sum += a[j] * z.cwiseMax(leak_ * z);  // φ(z) = max(z, αz)
    }
    if (is_of_margins(loss_))
        sum.array() *= samples.y.array();
    else
        sum -= samples.y;
}

void DescentKernel::slopes_of_row(Index neuron, Index n_samples) noexcept {
    const double* z = Z_.row(neuron).data();
    const double* active = dual_.data();
    const double* inactive = leaked_dual_.data();
    double* s = S_.row(neuron).data();
    for (Index i = 0; i < n_samples; ++i) {
        const double on = active[i];  // both are loaded, so that the choice becomes a vector blend
        const double off = inactive[i];
        s[i] = z[i] > 0.0 ? on : off;
    }
}

void DescentKernel::add(const DescentSamples& samples, const Matrix& W, const Vector& a, double scale) {
    const Index n_samples = samples.X.rows();
    const bool labels = is_of_margins(loss_);
    margins(samples, W, a, q_.data());
    for (Index i = 0; i < n_samples; ++i)
        dual_[i] = scale * samples.counts[i] * (labels ? samples.y[i] : 1.0) * weight(loss_, q_[i]);
    leaked_dual_ = leak_ * dual_;
    for (Index j = 0; j < W.rows(); ++j) {
        slopes_of_row(j, n_samples);
        velocity_a_[j] += S_.row(j).head(n_samples).dot(Z_.row(j).head(n_samples));
    }
    add_product(S_.leftCols(n_samples), samples.X, velocity_W_);
}

void DescentKernel::add_rows(std::span<const Index> batch, const DescentSamples& samples, const Matrix& W,
                             const Vector& a, double scale) {
    const auto size = static_cast<std::size_t>(kSamples);
    for (std::size_t start = 0; start < batch.size(); start += size) {
        const std::span<const Index> rows = batch.subspan(start, std::min(size, batch.size() - start));
        const auto n_rows = static_cast<Index>(rows.size());
        for (Index i = 0; i < n_rows; ++i) {
            const Index row = rows[static_cast<std::size_t>(i)];
            gathered_X_.row(i) = samples.X.row(row);
            gathered_y_[i] = samples.y[row];
            gathered_counts_[i] = samples.counts[row];
        }
        const DescentSamples gathered{Eigen::Map<const Matrix>(gathered_X_.data(), kSamples, gathered_X_.cols()),
                                      Eigen::Map<const Vector>(gathered_y_.data(), kSamples),
                                      Eigen::Map<const Vector>(gathered_counts_.data(), kSamples)};
        add(gathered.rows(0, n_rows), W, a, scale);
    }
}

bool DescentKernel::move(Matrix& W, Vector& a, double step, double decay) {
    // The new state is computed beside the old one, so that a step that is not finite can be refused.
    const double left = 1.0 - step * decay;
    for (Index j = 0; j < W.rows(); ++j) velocity_W_.row(j) = left * W.row(j) + (step * a[j]) * velocity_W_.row(j);
    velocity_a_ = left * a + step * velocity_a_;
    if (!velocity_W_.allFinite() || !velocity_a_.allFinite()) return false;
    W.swap(velocity_W_);
    a.swap(velocity_a_);
    return true;
}

}  // namespace reluflow
