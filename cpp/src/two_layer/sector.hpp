/// The neurons of one sector as one linear system: the series of their sums, and the map that moves each of them.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "numeric/polynomial.hpp"
#include "numeric/products.hpp"

namespace reluflow {

/// All neurons of a sector obey (w, a)' = H (a g, w·g) with one g(u), so one linear map moves them
/// (docs/design/mathematics.md, section 8). With g_k the Taylor coefficients of H g and p_k = w·g_k, that map has the
/// rank of the series, not of the data: a(u) = a + gain a + output·p, w(u) = w + Σ_k g_k (lift a + turn p)_k. The
/// sector's part of the margins follows from the sum of θ θᵀ over its neurons. No cost per order depends on their
/// number.
class Sector {
  public:
    explicit Sector(Index rank);

    /// Sets its neurons: clear(), add() any number of times, close().
    void clear() noexcept;
    /// Adds neurons, a row (w, a) each.
    void add(const MatrixView& neurons);
    void close() noexcept;
    /// Back to order 0 of the same neurons.
    void restart() noexcept { order_ = 0; }
    /// Takes order k of the gradient and makes order k + 1 of the sums.
    void push(const Eigen::Ref<const Vector, 0, Eigen::InnerStride<>>& gradient, double step);

    int order() const noexcept { return order_; }
    /// Order k of Σ a w.
    auto moment(int k) const noexcept { return moments_.row(k); }
    auto start_gradient() const noexcept { return plain_.row(0); }
    double g(int k, Index x) const noexcept { return plain_(k, x); }
    /// True when every neuron is zero.
    bool is_at_zero() const noexcept { return at_zero_; }
    /// |(w, a)^(k)| <= growth(k) |(w, a)| for every neuron.
    double growth(int k) const noexcept { return odd_[k] + even_[k]; }
    /// √ Σ |θ|², not less than any |θ|.
    double size() const noexcept { return size_; }
    /// Σ |θ'|² under the gradient g.
    double speed_square(const Vector& g) const { return squares_[0] * g.squaredNorm() + g.dot(second_ * g); }
    /// Bound of Σ_{k >= from} |w^(k)| u^k for a neuron with |w| = weight and |a| = output.
    double path(double weight, double output, int from, double u) const noexcept;

    /// Series of one neuron, orders 0 .. order(): w (order + 1, r) from its first row on, a (order + 1).
    void expand(double* w, double* a) const noexcept;

    /// Computes the map from the start to u, which the functions below use.
    void set_end(double u);
    /// Moves a block of neurons, (r + 1, kBlockColumns), a column (w, a) each. Equal columns give equal bits.
    void move(double* block, double* work) const noexcept;
    /// Numbers that a sector stores, about.
    static Index numbers(Index rank) noexcept {
        return (3 * (rank + 1) + 4 * (kMaxOrder + 2) + kBlockColumns) * (rank + 1);
    }
    /// Numbers in the workspace of move() and lead().
    static Index work_size(Index rank) noexcept;

    /// Begins to defer the motion of the neurons: from now on lead() takes them to where carry() went.
    void start_carry();
    /// Moves the sums to u, which becomes the start of the next step, and multiplies the deferred map.
    void carry(double u);
    void lead(double* block, double* work) const noexcept;

    /// Sums over the neurons at u: Σ a², Σ a w (r,), Σ w wᵀ (r, r).
    void sums_at(double u, double& square, Vector& moment, Matrix& second);

  private:
    void push_products(int k);
    void push_sums(int k);
    void push_bounds(int k);
    void move_columns(Matrix& columns);

    Index rank_;
    int order_ = 0;
    double size_ = 0.0;
    bool at_zero_ = true;
    Matrix second_;                      // Σ w wᵀ
    Matrix added_;                       // Σ θ θᵀ, (rank + 1)²
    Matrix plain_;                       // g, (orders, r)
    Matrix g_, moments_;                 // of H g and Σ a w, (orders, r)
    Matrix products_, mixed_;            // g_i·g_k, M_i·g_k
    Matrix answer_;                      // (k, i): contribution of a_i to order k + 1 of a through w
    Coefficients squares_ = {};          // of Σ a²
    Coefficients lengths_ = {};          // |g_k|
    Coefficients odd_ = {}, even_ = {};  // |w^(k)| <= |a| odd_k + |w| even_k
    // The map to u.
    double gain_ = 0.0;
    Vector output_, lift_;
    Matrix turn_, across_;   // (terms, terms), (r, terms): the g_k as columns
    Coefficients own_ = {};  // a_k of a neuron with w = 0
    Matrix from_weights_;    // a_k by p_l
    Matrix work_;
    // The deferred map of all steps since start_carry(): its columns are the images of the unit vectors of (w, a).
    Matrix carried_;
    Matrix block_;
    Numbers block_work_;
};

}  // namespace reluflow
