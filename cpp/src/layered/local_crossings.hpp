/// Crossings that need not end a step.
///
/// In two layers, given the duals, the units of the hidden layer are independent. What a crossing of unit j on sample i
/// changes at once is its own row alone, by x_i b with b' = Δs ⟨a_j, λ_i⟩ known as a series: its z on all samples
/// change by ⟨x_k, x_i⟩ b. Its own outputs feel that at second order in the time that is left, which is added too. The
/// other units feel it at second order, less by the square of the weights.
///
/// With more layers the velocity of θ jumps by Δs β ∇z, β what arrives above the unit on the sample: its own row and
/// all that lies below it move on. z of all places follow to first order.
///
/// Crossings go on inside the step while an estimate of what is left out, learnt from the measured defects of the steps
/// before, stays within a budget; the check at the end of the step measures it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "layered/activity.hpp"
#include "layered/approach.hpp"
#include "layered/event_search.hpp"
#include "layered/jet.hpp"
#include "layered/unit_sizes.hpp"

namespace reluflow::layered {

/// A crossing inside a step.
struct Crossing {
    double u = 0.0;
    Change change;
};

class LocalCrossings {
  public:
    LocalCrossings(const Graph& graph, const Matrix& X);

    void clear() noexcept { crossings_.clear(); }
    const std::vector<Crossing>& crossings() const noexcept { return crossings_; }
    /// What defects of a step with crossings are compared with.
    UnitSizes& sizes() noexcept { return sizes_; }

    /// Takes the crossings in [0, end] into `jet` and `activity`, at most so many. Returns the first u at which an
    /// event ends the step, with its contacts, or a value > end if none does.
    double follow(Jet& jet, Activity& activity, double end, double budget, std::int64_t most,
                  std::vector<Contact>& contacts);

    /// True if what ended the step is no event, see EventSearch::is_doubtful().
    bool is_doubtful() const noexcept { return is_doubtful_; }

    /// The defect that is expected at the end u of a step: rate × u, of second order in rescaled time.
    double expected(double u) const noexcept { return worth_ * share(u); }
    /// Learns from the defect of an accepted step of length u.
    void learn(double u, double defect) noexcept;
    /// The estimate was too small by far, or the step met something else.
    void distrust() noexcept { worth_ *= kDistrust; }

  private:
    static constexpr double kDistrust = 10.0;

    struct Hit {
        double u = 0.0;
        Place place;
        bool is_known = true;
    };
    /// By how much a crossing changes the rate of z at its place, and what counts as pushed: |b'| for two layers; for
    /// more the jump of the velocity, as a part of the unit that it changes most, times the largest entry of θ.
    struct Push {
        double rate = 0.0;
        double speed = 0.0;
    };
    void search(const Jet& jet, const Activity& activity, double from, double end);
    void search_unit(const Jet& jet, const Activity& activity, Index unit, double from, double end);
    void look_at(Approach& approach, const Jet& jet, const Place& p, int side, double from, double end);
    bool cross(Jet& jet, Activity& activity, const Hit& hit);
    Push push_of_row(const Jet& jet, const Hit& hit, double jump);
    Push push_of_all(const Jet& jet, const Activity& activity, const Hit& hit, double jump);
    void send_back(const Edge& edge, const Matrix& entries, const Activity& activity, Index sample);
    bool is_last_input(const Activity& activity, const Place& p) const;
    bool rewire(Activity& activity, const Vector& theta, Index sample);
    void push(Jet& jet, const Activity& activity, const Hit& hit);
    double share(double u) const noexcept { return u * (pushed_ * u - pushed_at_) * span_ * span_; }
    double first_bound(const Jet& jet) const;

    const Graph* graph_;
    const Matrix* X_;
    bool is_two_layers_ = false;  // whose units feel each other through the outputs alone
    UnitSizes sizes_;
    double worth_ = 0.0;  // the defect for each unit of `share`; 0: not known yet
    bool is_measured_ = false;
    bool is_doubtful_ = false;
    double span_ = 1.0;       // rescaled time of one unit of u
    double pushed_ = 0.0;     // Σ |b'|, in rescaled time
    double pushed_at_ = 0.0;  // Σ |b'| u
    std::vector<Hit> hits_;
    std::vector<Crossing> crossings_;
    std::vector<std::vector<char>> zero_;
    std::vector<std::vector<double>> rate_;
    std::vector<Change> followed_;
    Vector products_, bend_;
    Matrix duals_;
    // Of the crossing at hand: b for two layers, for more the jumps of the velocity of θ and of the slope.
    Row series_{};
    Vector velocity_jump_;
    double slope_jump_ = 0.0;
    std::vector<Vector> back_;  // what arrives at z of one sample, by node
    Matrix reach_;
};

}  // namespace reluflow::layered
