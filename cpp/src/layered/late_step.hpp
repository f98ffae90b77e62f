/// A step of the late phase. Weights follow margins at a rate |∇f|² there, which explicit series resolve in steps like
/// 1/|∇f|²; so the weights at the nodes of the step are found by collocation and Newton's method instead.
#pragma once

#include <vector>

#include "base/interrupt.hpp"
#include "base/types.hpp"
#include "layered/jet.hpp"
#include "numeric/lu.hpp"
#include "numeric/radau_nodes.hpp"

namespace reluflow::layered {

/// Unknowns: log p_i at the Radau nodes of (0, 1]. Given them as polynomials, the network is a polynomial equation in θ
/// alone, without stiffness, which the jet expands. Equations: log p_i = log|ℓ'(q_i)| - log D and Σ p_i = 1 at every
/// node. How margins answer to weights is read off jets of a lower order with one weight changed at one node, so that
/// it is exact whatever the layers, and whatever slides; in short steps off the tangent kernel. Lengths are in units of
/// |θ| / |θ'| where the step begins.
class LateStep {
  public:
    LateStep(const Graph& graph, const DualSeries& duals, double rtol);

    /// Reads a state. False if no late step can be taken here: a margin that matters is not positive, or nothing moves.
    bool start(Jet& jet, const Vector& theta, const Activity& activity);
    /// What an explicit step follows: how fast a weight answers to itself, for each unit of length.
    double stiffness() const noexcept { return stiffness_; }
    /// The rtol that counts at the last try: late margins are to be known, whatever rtol allows for θ.
    double known() const noexcept { return known_; }
    /// |θ'| / |θ| in rescaled time.
    double rate() const noexcept { return rate_; }

    /// Tries a step from there. On success the jet holds its series. Throws Abandoned if `interrupt` wants it.
    bool expand(Jet& jet, double length, Interrupt& interrupt);
    /// Solves the first `part` of it again, so that its end is a node.
    bool shorten(Jet& jet, double part, Interrupt& interrupt);
    double length() const noexcept { return length_; }
    double next_length() const noexcept { return next_length_; }
    /// The next step does not extrapolate these weights: they have a kink at its begin.
    void interrupt() noexcept { last_length_ = 0.0; }
    /// Squared orders of all series that the last try has made, which is what they cost.
    double work() const noexcept { return work_; }
    /// The span and the weights (1, n) that make the velocity at u.
    double span() const noexcept { return length_ / rate_; }
    void weights_at(double u, Matrix& weights) const;
    /// log Σ|ℓ'| at u over the samples that move anything, and log of the time since the begin of the step.
    double log_mass_at(double u) const;
    double log_time_at(double u) const;

  private:
    void set_tolerance();
    bool solve(Jet& jet, double enough, Interrupt& interrupt);
    bool refuse(double part) noexcept;
    void guess();
    void guess_from_polynomials(double part);
    void set(int node, Index sample, double log_change);
    void interpolate();
    bool run_series(Jet& jet);
    double margin_change(double u, Index sample, int order) const noexcept;
    void guess_mass();
    bool choose_active();
    bool find_steady_response(Jet& jet);
    bool find_response(Jet& jet, Interrupt& interrupt);
    void factor();
    double correct();
    double smooth_error() const;
    double defect() const;
    bool keeps_signs() const;
    void propose(double miss);

    const Graph* graph_;
    const DualSeries* duals_;
    const RadauNodes& nodes_;
    double rtol_;
    double known_;
    double tolerance_;
    const Vector* theta_ = nullptr;
    const Activity* activity_ = nullptr;
    double size_ = 0.0;  // |θ|
    double rate_ = 0.0;
    double stiffness_ = 0.0;
    double length_ = 0.0;
    double next_length_ = 0.0;
    double last_length_ = 0.0;  // of the last step, if the next one can extrapolate it
    double last_term_ = 0.0;    // of the series at the end of the step
    double work_ = 0.0;
    int order_ = 0;
    int response_order_ = 0;  // at which the response of margins to weights is known to some digits
    int iterations_ = 0;
    Vector own_;  // |∇q_i|²
    std::vector<char> live_, slides_;
    Vector start_margins_, start_logs_;
    Matrix changes_, weights_;  // (stages, n): changes of log p since the begin, and p
    Matrix margin_changes_;     // (stages, n)
    Vector mass_changes_;       // (stages,)
    Matrix coefficients_;       // (stages, n): of p
    Matrix margins_;            // (orders, n)
    std::vector<Index> active_;
    Matrix response_;  // d margin change / d weight, (stages count, stages count)
    LuFactors lu_;
    Vector residual_, scratch_;
};

}  // namespace reluflow::layered
