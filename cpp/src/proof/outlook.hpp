/// What claims say lies ahead of a step, for the choice of its length: guesses, on which no bound rests.
#pragma once

#include <vector>

#include "proof/claims.hpp"
#include "proof/network_series.hpp"
#include "proof/step_length.hpp"

namespace reluflow::proof {

/// The claims of a run, by neuron and in the order of time.
struct ClaimBook {
    ClaimBook(const std::vector<Claim>& claims, Index n_neurons);

    std::vector<std::vector<Claim>> of_neuron;
    std::vector<Claim> ordered;
    std::vector<std::size_t> rank;  // position of each of `ordered` in its neuron's
    std::size_t passed = 0;         // those before this one are proved
};

/// Looks ahead from the start of a step, whose series are known.
template <class Real>
class Outlook {
  public:
    Outlook(const Samples& samples, const NetworkSeries<Real>& series, const std::vector<ProvedNeuron<Real>>& neurons,
            const ClaimBook& book, double start_time)
        : samples_(samples), series_(series), neurons_(neurons), book_(book), t_(start_time) {}

    /// Claims that may fall into a step of at most `longest`, with what they would cost there, in the order of time;
    /// what lies beyond the `budget` may be left out. Doubles take the times of the claims; where a step has to end
    /// soon after an event these are not good enough, and the polynomials tell the time of each neuron's next event.
    std::vector<Ahead> events(double longest, double budget) const;

  private:
    bool leaves_alone(std::size_t k) const;
    double steepest() const;
    Ahead boundary_ahead(const Claim& claim) const;
    Ahead release_ahead(const Claim& claim) const;
    bool find_time(const Claim& claim, double longest, double& time) const;
    std::vector<double> distance(const Claim& claim) const;

    const Samples& samples_;
    const NetworkSeries<Real>& series_;
    const std::vector<ProvedNeuron<Real>>& neurons_;
    const ClaimBook& book_;
    double t_;
};

}  // namespace reluflow::proof
