#include "layered/balance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"

namespace reluflow::layered {
namespace {

constexpr double kUlp = std::numeric_limits<double>::epsilon();
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// A factor that differs from one by less is left: it cannot turn a unit over before the next step, and what changes
/// late states by their rounding keeps late steps from being taken (1.6e-15 here: explicit steps from log t = 7e7 on).
constexpr double kNoFactor = 1e-7;
/// Sweeps over all units, each of which leaves about half of what neighbours put off.
constexpr int kMostSweeps = 8;
/// A step that misses more of a unit does not know it any more; errors of units that count are far below.
constexpr double kMostMissed = 1e-3;
/// Squares of smaller norms lose digits.
constexpr double kSmallest = 1e-140;

double largest_of(const std::vector<Index>& parameters, const Vector& values) {
    double largest = 0.0;
    for (const Index g : parameters) largest = std::max(largest, std::abs(values[g]));
    return largest;
}

double norm_of(const std::vector<Index>& parameters, const Vector& theta) {
    const double largest = largest_of(parameters, theta);
    if (largest == 0.0) return 0.0;
    double sum = 0.0;
    for (const Index g : parameters) sum += (theta[g] / largest) * (theta[g] / largest);
    return largest * std::sqrt(sum);
}

bool turns_over(const std::vector<Index>& parameters, const Vector& start, const Vector& end) {
    if (parameters.size() != 1) return false;
    const Index g = parameters.front();
    return (start[g] > 0.0 && end[g] <= 0.0) || (start[g] < 0.0 && end[g] >= 0.0);
}

/// The parameters by which others read a unit; false where one of them is fixed or shared.
bool read_out(const Graph& graph, int v, Index u, std::vector<Index>& out) {
    for (const int e : graph.node(v).outgoing) {
        const Edge& edge = graph.edges()[e];
        for (Index row = 0; row < edge.rows; ++row) {
            const Index g = edge.at(row, u);
            if (!edge.connects(row, u)) continue;
            if (g < 0 || edge.fixed(row, u) != 0.0 || graph.uses(g) > 1) return false;
            out.push_back(g);
        }
    }
    return !out.empty();
}

void read_in(const Graph& graph, int v, Index u, std::vector<Index>& in) {
    for (const int e : graph.node(v).incoming)
        for (Index col = 0; col < graph.edges()[e].cols; ++col)
            if (const Index g = graph.edges()[e].at(u, col); g >= 0) in.push_back(g);
    if (const auto& bias = graph.node(v).bias; !bias.empty() && bias[u] >= 0) in.push_back(bias[u]);
}

/// Σ in² - Σ out² from the norms, and 0 for what rounding leaves of it.
double difference_of(double in, double out) {
    if (in == 0.0 || out == 0.0) return kNone;
    if (std::abs(in - out) <= kBalanceUlps * kUlp * in) return 0.0;
    return std::min(in, out) < kSmallest ? kNone : (in - out) * (in + out);
}

bool decays_alike(const std::vector<Index>& parameters, double rate, const Vector& decay) {
    return decay.size() == 0 || std::ranges::all_of(parameters, [&](Index g) { return decay[g] == rate; });
}

bool has_fixed_inputs(const Graph& graph, int v, Index u) {
    for (const int e : graph.node(v).incoming)
        for (Index col = 0; col < graph.edges()[e].cols; ++col)
            if (graph.edges()[e].fixed(u, col) != 0.0) return true;
    return false;
}

}  // namespace

Balance::Balance(const Graph& graph, const Vector& theta, const Vector& decay, double since, const Vector& differences)
    : since_(since) {
    for (int v = 1; v + 1 < graph.count(); ++v)
        for (Index u = 0; u < graph.node(v).size; ++u) {
            Unit unit;
            if (!graph.owns_row(v, u) || has_fixed_inputs(graph, v, u)) continue;
            if (!read_out(graph, v, u, unit.out)) continue;
            read_in(graph, v, u, unit.in);
            unit.difference = difference_of(norm_of(unit.in, theta), norm_of(unit.out, theta));
            if (decay.size() > 0) unit.decay = decay[unit.out.front()];
            if (!decays_alike(unit.in, unit.decay, decay) || !decays_alike(unit.out, unit.decay, decay))
                unit.difference = kNone;
            units_.push_back(std::move(unit));
        }
    if (differences.size() != static_cast<Index>(units_.size())) return;
    for (std::size_t u = 0; u < units_.size(); ++u) units_[u].difference = differences[static_cast<Index>(u)];
}

double Balance::difference_at(const Unit& unit, double t) const {
    if (unit.difference == 0.0 || unit.decay == 0.0 || !(t > since_)) return unit.difference;
    return unit.difference * std::exp(-2.0 * unit.decay * (t - since_));
}

void Balance::read(double t, Vector& differences) const {
    differences.resize(static_cast<Index>(units_.size()));
    for (std::size_t u = 0; u < units_.size(); ++u) differences[static_cast<Index>(u)] = difference_at(units_[u], t);
}

void Balance::restore(Vector& theta, double t) const {
    // Units of neighbouring layers share weights.
    for (int sweep = 0; sweep < kMostSweeps && restore_once(theta, t); ++sweep) {
    }
}

bool Balance::restore_once(Vector& theta, double t) const {
    bool is_changed = false;
    for (const Unit& unit : units_) {
        const double in = norm_of(unit.in, theta);
        const double out = norm_of(unit.out, theta);
        if (in == 0.0 || out == 0.0 || std::isnan(unit.difference)) continue;
        double square = out / in;  // of the factor
        if (const double d = difference_at(unit, t); d != 0.0) {
            if (std::min(in, out) < kSmallest) continue;
            const double root = std::hypot(d, 2.0 * in * out);
            square = d > 0.0 ? (d + root) / (2.0 * in * in) : 2.0 * out * out / (root - d);
        }
        const double factor = std::sqrt(square);
        if (std::abs(factor - 1.0) <= kNoFactor) continue;
        for (const Index g : unit.in) theta[g] *= factor;
        for (const Index g : unit.out) theta[g] /= factor;
        is_changed = true;
    }
    return is_changed;
}

bool Balance::are_followed(const Vector& start, const Vector& end, const Vector& missed) const {
    for (const Unit& unit : units_) {
        if (unit.difference >= 0.0 && turns_over(unit.in, start, end)) return false;
        if (unit.difference <= 0.0 && turns_over(unit.out, start, end)) return false;
        if (missed.size() == 0 || std::isnan(unit.difference)) continue;
        const double size = std::max(largest_of(unit.in, end), largest_of(unit.out, end));
        const double off = std::max(largest_of(unit.in, missed), largest_of(unit.out, missed));
        if (size > kSmallest && off > kMostMissed * size) return false;
    }
    return true;
}

}  // namespace reluflow::layered
