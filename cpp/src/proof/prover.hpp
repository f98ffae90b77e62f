/// Proves a run step by step: that the claimed events, and no others, happen, and where the state is. docs/proof.md.
#pragma once

#include <functional>
#include <vector>

#include "base/observer.hpp"
#include "proof/claims.hpp"
#include "proof/network_series.hpp"
#include "proof/outlook.hpp"
#include "proof/step_trial.hpp"
#include "proof/tube.hpp"

namespace reluflow::proof {

/// What the caller hears now and then.
struct ProofProgress {
    double t;
    Index steps;
    Index events;
};

template <class Real>
class Prover {
  public:
    /// `neurons` at `start_time`, exact, with their signs; `claims` in the order of time.
    Prover(Samples samples, std::vector<ProvedNeuron<Real>> neurons, double start_time,
           const std::vector<Claim>& claims, ProverSettings settings);

    /// Goes on to `settings.until` or to the first thing that cannot be proved.
    ProofRecord run(const std::function<Request(const ProofProgress&)>& ask);

  private:
    void put_on_first_boundaries(ProvedNeuron<Real>& neuron) const;
    Failure step();
    Failure attempt(double length);
    void choose_order(double used);
    double longest_step() const;
    double exact_length(double length) const;
    void enclose();
    void enclose_at(double t);
    void commit();
    void record(const Crossing<Real>& event);
    double put_on_boundaries(ProvedNeuron<Real>& neuron) const;
    bool meets_dependent(std::size_t neuron, Index claimed, Index other) const;
    Failure refusal(Failure failure) const;
    double first_overdue() const;
    ProofRecord finish(Failure failure);

    Samples samples_;
    std::vector<ProvedNeuron<Real>> neurons_;
    double t_;
    ClaimBook book_;
    ProverSettings settings_;
    Terms terms_;

    NetworkSeries<Real> series_;
    DualBounds bounds_;
    StepTrial<Real> trial_;
    Tube<Real> tube_;
    int order_;
    double last_ = 0.0;   // length of the last step
    double total_ = 0.0;  // bound of all neurons together
    std::size_t next_at_ = 0;
    ProofRecord record_;
};

}  // namespace reluflow::proof
