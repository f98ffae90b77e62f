#include "layered/approach.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/polynomial.hpp"

namespace reluflow::layered {
namespace {

/// The rounding of z, as a part of the sum of its terms.
constexpr double kRounding = 32 * 2.2e-16;
/// The terms of what decays with them are below this part of those that θ could make of it.
constexpr double kSmallTerms = 1e-8;
/// What is nearer to its boundary than this part of its terms when another is met meets it, too. By a symmetry of data
/// and network both may be met at one instant, but for rounding that steps have added up and that what is unstable has
/// magnified (10⁻¹⁴ seen): one after the other would be a choice that rounding makes.
constexpr double kMet = 1e-12;
/// What decays beside its boundary loses its last digits below this: then its sign is no reason to cross.
constexpr double kSmallest = 1e-290;
/// A root that comes later than the tangent's, by this factor, is that of a distance that falls ever more slowly.
constexpr double kLater = 1.5;
/// A series has to know such a distance to this part of what an exponential fall leaves of it,
constexpr double kPart = 0.01;
/// over no more than so many e-foldings: a step hardly covers more.
constexpr double kLongest = 10.0;
/// or to this part of the rounding.
constexpr double kOfRounding = 0.25;
/// Nearer than so many roundings all that a series makes of it counts.
constexpr double kSomeRoundings = 100.0;
/// What is farther off than so many errors of its step comes to its boundary.
constexpr double kSomeErrors = 10.0;
/// Else the step is tried for this part of the way to the root.
constexpr double kOfTheWay = 0.9;

bool goes_beyond(const Row& c, int order, double end, double error) noexcept {
    Row below = c;
    below[0] += error;
    return first_descent(below.data(), order, end) <= end;
}

// On the wrong side by more than rounding, and on its way farther: what each step took for a start at zero adds up.
bool has_drifted(const Row& c, int order, double end, double rounding) noexcept {
    return rounding > 0.0 && c[0] < -kSomeRoundings * rounding && c[1] < 0.0 && evaluate(c.data(), order, end) < c[0];
}

}  // namespace

// A start on the wrong side by rounding counts as zero. What is zero, or falls ever more slowly, crosses where it is
// seen to be beyond; what has left its boundary, where it is back on it from farther off than rounding.
Descent descend(Row& c, int order, double end, double rounding, int degree, double error) noexcept {
    if (has_drifted(c, order, end, rounding)) return {0.0, true};
    const bool has_left = c[0] == 0.0 && c[1] >= 0.0;
    c[0] = std::max(c[0], 0.0);
    const double start = c[0];
    double root = first_descent(c.data(), order, end);
    double last = std::min(root, end);
    if (start == 0.0 && rounding == 0.0) return {root, true};
    if (has_left && (root > end || evaluate(c.data(), order, 0.5 * root) > rounding)) return {root, true};
    const double foldings = start > 0.0 ? -c[1] / start * last : kLongest;
    const double left = std::exp(-std::clamp(foldings, 0.0, kLongest));
    const double known = std::max(kPart * left * start, kOfRounding * rounding);
    const auto known_until = [&](double until) {
        const int top = degree > 0 ? degree : order;
        for (const int k : {top - 1, top})
            if (std::abs(c[k]) * std::pow(until, k) > known) until = std::pow(known / std::abs(c[k]), 1.0 / k);
        return until;
    };
    const bool may_be_error = degree > 0 && root <= end;
    const bool is_error = may_be_error && start < kSomeErrors * error && !goes_beyond(c, order, end, error);
    if (!may_be_error && !(foldings > kLater) && start > kSomeRoundings * rounding) {
        const double until = root <= end ? known_until(root) : root;
        return {until, until == root};
    }
    if (root <= end) {
        c[0] += rounding;
        root = first_descent(c.data(), order, end);
        last = std::min(root, end);
    }
    const double until = known_until(last);
    // A solved step knows a place that is on its boundary no better than this: whether it drifts off is seen later.
    const bool rests = degree > 0 && start == 0.0 && root > end;
    if (until < last && !rests) return {until, false};
    return is_error && root <= end ? Descent{kOfTheWay * root, false} : Descent{root, true};
}

Descent Approach::of(const Place& p, const Row& c, double end) {
    const auto rate_terms = [&] { return jet_.rate_terms(p, velocity_terms()); };
    return find(c, end, rounding_of(jet_, p), error_of(jet_, p), jet_.reach(p), rate_terms);
}

Descent Approach::of(const Boundary& entry, const Row& c, double end) {
    const auto rate_terms = [&] { return velocity_terms()[entry.parameter]; };
    return find(c, end, rounding_of(jet_, entry), jet_.theta_error(), 1.0, rate_terms);
}

// What decays with its own terms towards its boundary, by weights that cancel, comes to where the rounding of its rate
// moves it farther in a step than it is away: it crosses where it is seen to be beyond by that. `reach`: of it by
// changes of θ.
template <class RateTerms>
Descent Approach::find(const Row& c, double end, double rounding, double error, double reach,
                       const RateTerms& rate_terms) {
    Row tried = c;
    const Descent found = descend(tried, jet_.order(), end, rounding, jet_.degree(), error);
    if (found.u > end || rounding > kSmallTerms * reach * rounding_of_theta(jet_)) return found;
    const double moved = kRounding * rate_terms() * end;
    if (std::abs(c[0]) > moved) return found;
    tried = c;
    return descend(tried, jet_.order(), end, rounding + moved, jet_.degree(), error);
}

const Vector& Approach::velocity_terms() {
    if (velocity_terms_.size() == 0) velocity_terms_ = jet_.velocity_terms();
    return velocity_terms_;
}

double rounding_of(const Jet& jet, const Place& p) {
    return kRounding * jet.terms(p) + kSmallest;
}

double error_of(const Jet& jet, const Place& p) {
    return jet.theta_error() == 0.0 ? 0.0 : jet.theta_error() * jet.reach(p);
}

double rounding_of(const Jet& jet, const Boundary& entry) {
    return kRounding * (std::abs(jet.theta(0)[entry.parameter]) + std::abs(entry.constant)) + kSmallest;
}

bool is_met_at(const Jet& jet, const Place& p, double u) {
    Row z;
    for (int k = 0; k <= jet.order(); ++k) z[k] = jet.z(p.node).at(k, p.sample, p.unit);
    return std::abs(evaluate(z.data(), jet.order(), u)) <= kMet * jet.terms(p) + kSmallest;
}

double rounding_of_theta(const Jet& jet) {
    return kRounding * jet.theta(0).lpNorm<Eigen::Infinity>();
}

}  // namespace reluflow::layered
