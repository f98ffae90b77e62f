/// What the loss does to first order around a point where pre-activations are zero.
///
/// Along a direction d a place a that is zero moves by x_a = n_a·d + Σ_b (W_ab ψ(x_b) + G_ab x_b) with the places b
/// that are zero below it and ψ(x) = max(x, leak x); the loss falls by v·d + Σ_a (β_a ψ(x_a) + γ_a x_a). All of n, W,
/// G, v, β and γ are those of the network cut at the places that are zero. Nothing depends on why a place is zero:
/// whether it moves, slides, reads nothing, or shares its boundary with others.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "layered/activity.hpp"

namespace reluflow::layered {

class LocalModel {
  public:
    /// How places move: n, W and G. What moves in `activity` is zero if it is one of `met`, or reads nothing else than
    /// what is zero.
    LocalModel(const Activity& activity, const Matrix& X, const Vector& theta, const std::vector<Place>& met);
    /// What moves them: v, β and γ. `duals`: Λ at θ. `drift`: the part of v that does not come from the samples.
    void add_forces(const Matrix& duals, Vector drift);
    /// What errors of the duals, one a sample and output, may make of v, β and γ; and those of v itself, `of_drift`.
    void add_errors(const Matrix& errors, const Vector& of_drift);
    /// Lets nothing act but on parameters that are `seen`, on which nothing else depends to first order: what is far
    /// larger hides nothing of them then. After the forces and errors.
    void look_at(const std::vector<char>& seen);

    int count() const noexcept { return static_cast<int>(places_.size()); }
    /// Below before above.
    const std::vector<Place>& places() const noexcept { return places_; }
    int number_of(const Place& p) const noexcept;
    double leak(int a) const noexcept { return activity_.graph().node(places_[a].node).leak; }
    /// n_a, one row a place.
    const Matrix& normals() const noexcept { return normals_; }
    /// True if n_a is below this part of the largest of its node: normals of other nodes have other units.
    bool is_negligible(int a, double part) const noexcept { return lengths_[a] <= part * longest_[places_[a].node]; }
    /// The same by its place, which is zero.
    Vector row_of(const Place& p) const { return normals_.row(number_of(p)).transpose(); }
    /// The same of any place.
    Vector normal_of(const Place& p) const;
    const Vector& velocity() const noexcept { return velocity_; }
    /// W and G.
    double through_h(int a, int b) const noexcept { return through_h_(a, b); }
    double through_z(int a, int b) const noexcept { return through_z_(a, b); }
    double beta(int a) const noexcept { return beta_[a]; }
    double gamma(int a) const noexcept { return gamma_[a]; }
    /// By how much v may be off; and β and γ together, if errors were added.
    double velocity_error() const { return velocity_errors_.norm(); }
    double pull_error(int a) const noexcept { return pull_errors_.size() == 0 ? 0.0 : pull_errors_[a]; }
    /// Adds to the velocity what moves a place to a side, by a small part of what pulls the places of its boundary.
    void push(int a, int side, const std::vector<Place>& members);

  private:
    struct Sent {
        std::vector<Vector> delta, above, skip;  // by node
    };
    void find_zeros(const std::vector<Place>& met);
    bool is_live(const Place& p) const;
    bool sends(const Edge& edge, const Place& reader, Index col) const;
    bool is_zero(const Place& p) const noexcept { return zero_[p.node](p.sample, p.unit) != 0; }
    enum class Terms { signed_ones, sizes };
    void pull(Index sample, Sent& sent, Terms terms = Terms::signed_ones, const Input* root = nullptr) const;
    const Input* root_of(const Place& p) const;
    void add_gradient(Index sample, const Sent& sent, Eigen::Ref<Vector> out, Terms terms = Terms::signed_ones) const;
    Sent nothing() const;
    Vector pulls() const;
    void measure();

    const Activity& activity_;
    const Matrix& X_;
    const Vector& theta_;
    std::vector<SignMatrix> zero_, live_;
    std::vector<Matrix> z_, h_;
    std::vector<Place> places_;
    Matrix normals_, through_h_, through_z_;
    Vector velocity_, beta_, gamma_;
    Vector velocity_errors_, pull_errors_;  // empty if none were added
    Vector lengths_, longest_;              // of the normals, and of what parameters of each node read
};

}  // namespace reluflow::layered
