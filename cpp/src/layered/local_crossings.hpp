/// Crossings that need not end a step of two layers with any number of outputs.
///
/// Given the duals, the units of the one hidden layer are independent. What a crossing of unit j on sample i changes at
/// once is its own row alone, by x_i b with b' = Δs ⟨a_j, λ_i⟩ known as a series: its z on all samples change by
/// ⟨x_k, x_i⟩ b. Its own outputs feel that at second order in the time that is left, which is added too. The other
/// units feel it at second order, less by the square of the weights. Crossings go on inside the step while an estimate
/// of what is left out, learnt from the measured defects of the steps before, stays within a budget; the check at the
/// end of the step measures it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "layered/activity.hpp"
#include "layered/event_search.hpp"
#include "layered/jet.hpp"

namespace reluflow::layered {

/// A crossing inside a step.
struct Crossing {
    double u = 0.0;
    Change change;
};

class LocalCrossings {
  public:
    LocalCrossings(const Graph& graph, const Matrix& X);

    /// True if the units of this network feel each other through the outputs alone.
    bool applies() const noexcept { return applies_; }
    void clear() noexcept { crossings_.clear(); }
    const std::vector<Crossing>& crossings() const noexcept { return crossings_; }

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
        Index unit = 0;
        Index sample = 0;
        bool is_known = true;
    };
    void search_all(const Jet& jet, const Activity& activity, double end);
    void search_unit(const Jet& jet, const Activity& activity, Index unit, double from, double end);
    bool cross(Jet& jet, Activity& activity, const Hit& hit);
    bool is_last_input(const Activity& activity, const Place& p) const;
    bool rewire(Activity& activity, const Vector& theta, Index sample);
    void push(Jet& jet, const Activity& activity, const Hit& hit);
    double share(double u) const noexcept { return u * (pushed_ * u - pushed_at_) * span_ * span_; }
    double first_bound(const Jet& jet) const;

    const Graph* graph_;
    const Matrix* X_;
    bool applies_ = false;
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
    Row series_{};  // b of the crossing at hand
};

}  // namespace reluflow::layered
