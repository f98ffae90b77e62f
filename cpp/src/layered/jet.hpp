/// Taylor series of one quiet step: parameters, pre-activations, duals, what arrives above each unit, multipliers.
///
/// Order k of θ gives order k of every z, of the outputs and of their duals, then of every δ backwards, then of the
/// gradient, so θ of order k + 1. What slides is cut: h = 0 forward, δ = μ backward, and μ is found order by order from
/// w = 0 with one factored Gram matrix a step. Nothing is allocated once the sizes have been seen.
#pragma once

#include <span>
#include <vector>

#include "base/types.hpp"
#include "layered/activity.hpp"
#include "layered/dual_series.hpp"
#include "layered/graph.hpp"
#include "layered/sample_series.hpp"
#include "layered/sliding_series.hpp"

namespace reluflow::layered {

/// The largest entry in size.
inline double largest(const Vector& v) noexcept {
    return v.size() == 0 ? 0.0 : v.cwiseAbs().maxCoeff();
}

/// A sum, and that of the sizes of its terms, whose rounding it has.
struct PlaceRate {
    double value = 0.0;
    double size = 0.0;
};

class Jet {
  public:
    /// `top`: the highest order of θ.
    Jet(const Graph& graph, const Matrix& X, const DualSeries& duals, int top);

    /// Order 0 at `theta`; one unit of the series' variable is `span` of rescaled time. `at_event`: the zeros that the
    /// activity lists hold here.
    void start(const Vector& theta, const Activity& activity, double span, bool at_event = true);
    /// The same where `other` has made its velocity and nothing slides: what the activity changes is on `samples`.
    void start_from(const Jet& other, const Activity& activity, double span, std::span<const Index> samples);
    /// Adds x_i b to the row of a unit that reads the data, and so `products` b to its z; orders 0 to order().
    void push_row(Index unit, const Vector& products, Index sample, const Row& b);
    /// Adds `bend` (u - at)² to the entries by which the outputs read a unit; order 2 at least.
    void bend_column(Index unit, const Vector& bend, double at);
    /// Adds b (u - at) to θ, and to first order what all z change by with it; order 1 at least. `activity`: with the
    /// sides beyond `at`.
    void push(const Vector& b, double at, const Activity& activity);
    /// The slope of a unit on one sample changes by `jump` where its z is zero: what z of the units above it change by.
    void bend_sample(const Place& p, double jump, const Activity& activity);
    /// True if its order 0 and its velocity are those of `theta`, and nothing slides.
    bool is_at(const Vector& theta) const { return has_delta_ && sliding_.empty() && theta_[0] == theta; }
    /// The same activity at another place in memory.
    void rebind(const Activity& activity);
    /// After start(): the weights are these polynomials of the step, see DualSeries::prescribe().
    void prescribe(const Matrix& weights) { duals_.prescribe(weights); }
    /// One order more of everything. False if the normals of what slides depend on each other.
    bool advance();

    /// After one advance(): how the velocity changes along `change`, with what slides held, in the time that goes on as
    /// it does here. Order 1 is lost.
    void velocity_along(const Vector& change, Vector& out);
    /// What a step that was solved otherwise may miss of Λ (n, K), of the multipliers of what slides and, by rounding,
    /// of θ; empty for none.
    struct Missed {
        Matrix duals;
        Vector multipliers;
        Vector theta;
    };
    /// After start(): the series of such a step, up to `order`. θ (from order 1 on), Λ and the multipliers have the
    /// orders given, and zero from there on. False if the normals of what slides depend on each other.
    bool follow(const std::vector<Vector>& theta, const std::vector<Matrix>& duals,
                const std::vector<Vector>& multipliers, int order, Missed missed);
    /// The degree of θ after follow(); else 0.
    int degree() const noexcept { return degree_; }
    /// By how much parameters may be off, after follow(); else 0.
    double theta_error() const noexcept { return theta_error_; }
    void set_theta_error(double error) noexcept { theta_error_ = error; }
    /// After follow(), or what the steps before are said to have left; else empty.
    const Missed& missed() const noexcept { return missed_; }
    void set_missed(Missed missed) { missed_ = std::move(missed); }

    int order() const noexcept { return order_; }
    int top() const noexcept { return top_; }
    double span() const noexcept { return span_; }
    /// True if no parameter moves the outputs of the sample, whatever the others do.
    bool is_idle(Index sample) const noexcept { return !idle_.empty() && idle_[sample] != 0; }
    const Activity& activity() const noexcept { return *activity_; }
    const Vector& theta(int k) const noexcept { return theta_[k]; }
    const SampleSeries& z(int v) const noexcept { return z_[v]; }
    /// What an edge reads.
    const SampleSeries& tapped(const Edge& edge) const noexcept {
        return edge.tap == Tap::preactivation ? z_[edge.source] : h_of(edge.source);
    }
    const DualSeries& duals() const noexcept { return duals_; }
    const SlidingSeries& sliding() const noexcept { return sliding_; }
    /// What arrives at z, orders 0 to order() - 1.
    const SampleSeries& delta(int v) const noexcept { return delta_[v]; }
    /// Order k of an entry of an edge.
    double entry(int e, int k, Index row, Index col) const { return entries_[e].plain_order(k)(row, col); }
    auto entries(int e, int k) const { return entries_[e].plain_order(k); }
    /// How far any place is from the side or the zero that its activity says, relative to the largest z of its node, or
    /// to what θ lets be known of it; after start().
    double misplaced() const;
    Matrix outputs() const { return h_of(graph_->count() - 1).order(0); }

    /// The first order of z of a place, also where it counts as zero because the place leaves tangentially; after
    /// advance().
    PlaceRate rate(const Place& p) const;
    /// The sum of the sizes of the terms of order k of z of a place.
    double terms(const Place& p, int k = 0) const;

    /// The same of the inputs that its parameters multiply: how far it moves with them.
    double reach(const Place& p) const;

    void theta_at(double u, Vector& theta) const;
    void rate_at(double u, Vector& rate) const;
    /// The velocity dθ/du at order 0 with multipliers `mu` instead of those of w = 0; after start().
    void velocity(const double* mu, Vector& out);
    /// For each sample, after velocity() with a weight of one everywhere: about |∇f_i|², and zero if it moves nothing.
    /// Where parameters are shared it is the sum over their places.
    void squared_gradients(Vector& out) const;
    /// For each entry of the velocity the sum of the sizes of its terms, after advance().
    Vector velocity_terms() const;
    /// The sum of the sizes of what the first order of z of a place is made of, through all layers below it.
    double rate_terms(const Place& p, const Vector& velocity_terms) const;
    /// Order k of w of a boundary.
    double boundary_coefficient(const Boundary& boundary, int k) const;

  private:
    const SampleSeries& h_of(int v) const noexcept { return graph_->node(v).linear ? z_[v] : h_[v]; }
    void find_idle();
    double largest_read(int v, const std::vector<double>& sizes) const;
    void load(int k);
    void forward(int k);
    void forward_as_given(int k);
    bool factor_sliding();
    void forward(int k, int v, const Range& samples);
    void finish(int k, int v, bool is_final);
    void backward(int k);
    void backward(int k, int v);
    void backward(int k, int v, const Range& samples);
    void gradient(int k, Vector& out);
    void add_edge_gradient(std::size_t e, int k, Vector& out);
    void correct(int k);
    void add_up_change(const Vector& change, int v);
    void tangent(const Vector& change, int k);
    void read_above(int k, int v);

    const Graph* graph_;
    const Matrix* X_;
    DualSeries duals_;
    int top_;
    int order_ = 0;
    double span_ = 1.0;
    bool at_event_ = true;
    const Activity* activity_ = nullptr;
    std::vector<Vector> theta_;
    std::vector<EdgeSeries> entries_;
    std::vector<SampleSeries> z_, h_, delta_;
    std::vector<Matrix> above_, skip_, change_;  // β and γ of an order; work space
    std::vector<Matrix> edge_gradient_, edge_change_;
    Vector gradient_, step_, free_;
    std::vector<char> idle_;    // samples whose outputs read nothing live; none: empty
    std::vector<double> held_;  // by node: the largest z of order 0 that is held at zero
    bool has_delta_ = false;    // order 0 of what arrives at z is known
    Missed missed_;
    int degree_ = 0;
    double theta_error_ = 0.0;
    SlidingSeries sliding_;
};

}  // namespace reluflow::layered
