#include "layered/balance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/tolerances.hpp"

namespace reluflow::layered {
namespace {

constexpr double kUlp = std::numeric_limits<double>::epsilon();
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// A factor that differs from one by less is left: it cannot turn a unit over before the next step, and what changes
/// late states by their rounding keeps late steps from being taken (1.6e-15 here: explicit steps from log t = 7e7 on).
constexpr double kNoFactor = 1e-7;
/// Where the rest of a unit hides what its part that moves is off by, the part is put back to rounding.
constexpr double kNoFactorOfPart = 1e-15;
/// Sweeps over all units, each of which leaves about half of what neighbours put off.
constexpr int kMostSweeps = 8;
/// A step that misses more of a unit does not know it any more; errors of units that count are far below.
constexpr double kMostMissed = 1e-3;
/// Parameters below it lose digits, and what is made of them does first.
constexpr double kSmallest = 1e-290;

double largest_of(const std::vector<Index>& parameters, const Vector& values) {
    double largest = 0.0;
    for (const Index g : parameters) largest = std::max(largest, std::abs(values[g]));
    return largest;
}

/// Of the parameters for which `counts(g)`.
template <class Counts>
double norm_of(const std::vector<Index>& parameters, const Vector& theta, const Counts& counts) {
    double largest = 0.0;
    for (const Index g : parameters)
        if (counts(g)) largest = std::max(largest, std::abs(theta[g]));
    if (largest == 0.0) return 0.0;
    double sum = 0.0;
    for (const Index g : parameters)
        if (counts(g)) sum += (theta[g] / largest) * (theta[g] / largest);
    return largest * std::sqrt(sum);
}

double norm_of(const std::vector<Index>& parameters, const Vector& theta) {
    return norm_of(parameters, theta, [](Index) { return true; });
}

/// True if one of these parameters alone counts and has changed its sign.
template <class Counts>
bool turns_over(const std::vector<Index>& parameters, const Vector& start, const Vector& end, const Counts& counts) {
    const auto first = std::ranges::find_if(parameters, counts);
    if (first == parameters.end() || std::find_if(first + 1, parameters.end(), counts) != parameters.end())
        return false;
    const Index g = *first;
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

/// A root and its sign: differences of squares of small norms are no doubles.
double signed_root(double square) {
    return std::copysign(std::sqrt(std::abs(square)), square);
}

/// The root of Σ in² - Σ out² from the norms, and 0 for what rounding leaves of it.
double root_of(double in, double out) {
    if (in == 0.0 && out == 0.0) return kNone;
    if (std::abs(in - out) <= kBalanceUlps * kUlp * in) return 0.0;
    return signed_root(in - out) * std::sqrt(in + out);
}

/// The root of what has moved, from that of all and the norms of what rests: the difference of squares that are larger.
double root_beside(double root, double resting_in, double resting_out) {
    const double scale = std::max({std::abs(root), resting_in, resting_out});
    const double in = resting_in / scale;
    const double out = resting_out / scale;
    const double difference = (root / scale) * std::abs(root / scale) - in * in + out * out;
    return std::abs(difference) <= kBalanceUlps * kUlp ? 0.0 : scale * signed_root(difference);
}

/// The square of the factor that brings the norms to a difference with this root.
double square_of_factor(double in, double out, double root) {
    const double ratio = out / in;
    if (root == 0.0) return ratio;
    const double part = (root / in) * (root / in);
    const double sum = part + std::hypot(part, 2.0 * ratio);
    return root > 0.0 ? 0.5 * sum : 2.0 * ratio * (ratio / sum);
}

bool decays_alike(const std::vector<Index>& parameters, double rate, const Vector& decay) {
    return decay.size() == 0 || std::ranges::all_of(parameters, [&](Index g) { return decay[g] == rate; });
}

/// How a unit that owns its weights reads the data; nothing where it reads other units.
std::optional<ActingSpan> span_of(const Graph& graph, int v, Index u, const std::vector<Index>& in) {
    std::vector<Index> inputs;
    for (const int e : graph.node(v).incoming) {
        const Edge& edge = graph.edges()[e];
        if (edge.source != 0) return std::nullopt;
        for (Index col = 0; col < edge.cols; ++col)
            if (edge.at(u, col) >= 0) inputs.push_back(col);
    }
    if (inputs.size() < in.size()) inputs.push_back(-1);
    return ActingSpan({v, 0, u}, in, std::move(inputs));
}

bool has_fixed_inputs(const Graph& graph, int v, Index u) {
    for (const int e : graph.node(v).incoming)
        for (Index col = 0; col < graph.edges()[e].cols; ++col)
            if (graph.edges()[e].fixed(u, col) != 0.0) return true;
    return false;
}

}  // namespace

Balance::Balance(const Graph& graph, const Vector& theta, const Vector& decay, double since, const Vector& differences)
    : start_(theta), rests_(theta.size(), decay.size() > 0 ? 0 : 1), since_(since) {
    for (int v = 1; v + 1 < graph.count(); ++v)
        for (Index u = 0; u < graph.node(v).size; ++u) {
            Unit unit;
            if (!graph.owns_row(v, u) || has_fixed_inputs(graph, v, u)) continue;
            if (!read_out(graph, v, u, unit.out)) continue;
            read_in(graph, v, u, unit.in);
            unit.root = root_of(norm_of(unit.in, theta), norm_of(unit.out, theta));
            if (decay.size() > 0) unit.decay = decay[unit.out.front()];
            if (!decays_alike(unit.in, unit.decay, decay) || !decays_alike(unit.out, unit.decay, decay))
                unit.root = kNone;
            else
                unit.span = span_of(graph, v, u, unit.in);
            units_.push_back(std::move(unit));
        }
    if (differences.size() != static_cast<Index>(units_.size())) return;
    for (std::size_t u = 0; u < units_.size(); ++u) units_[u].root = signed_root(differences[static_cast<Index>(u)]);
}

double Balance::root_at(const Unit& unit, double t) const {
    if (unit.root == 0.0 || unit.decay == 0.0 || !(t > since_)) return unit.root;
    return unit.root * std::exp(-unit.decay * (t - since_));
}

void Balance::read(double t, Vector& differences) const {
    differences.resize(static_cast<Index>(units_.size()));
    for (std::size_t u = 0; u < units_.size(); ++u) {
        const double root = root_at(units_[u], t);
        differences[static_cast<Index>(u)] = root * std::abs(root);
    }
}

void Balance::see(const Activity& activity, const Matrix& X) {
    for (Unit& unit : units_)
        if (unit.span && unit.span->see(activity, X)) unit.is_balanced_in_span = is_balanced_in(*unit.span, unit);
}

/// The weights tell their part in the span to the rounding of its terms.
bool Balance::is_balanced_in(const ActingSpan& span, const Unit& unit) const {
    if (!span.is_part()) return false;
    const double whole = norm_of(unit.in, start_);
    const double in = span.norm_of(start_);
    const double out = norm_of(unit.out, start_);
    const bool rests = span.largest_at_rest(start_) > kRestingUlps * kUlp * whole;
    return rests && out > 0.0 && std::abs(in - out) <= kBalanceUlps * kUlp * std::hypot(out, span.terms_of(start_));
}

bool Balance::restore_in_span(const Unit& unit, Vector& theta) {
    const double in = unit.span->norm_of(theta);
    const double factor = std::sqrt(norm_of(unit.out, theta) / in);
    if (!std::isfinite(factor) || factor == 0.0 || std::abs(factor - 1.0) <= kNoFactorOfPart) return false;
    unit.span->scale(theta, factor);
    for (const Index g : unit.out) theta[g] /= factor;
    return true;
}

void Balance::see(const Vector& rate) {
    is_seen_ = true;
    for (Index g = 0; g < rate.size(); ++g)
        if (rate[g] != 0.0) rests_[g] = 0;
}

void Balance::move(const Vector& theta) {
    for (Index g = 0; g < theta.size(); ++g)
        if (theta[g] != start_[g]) rests_[g] = 0;
}

/// With decay all of it has moved.
Balance::Part Balance::part_of(const Unit& unit, const Vector& theta, double t) const {
    const auto moves = [&](Index g) { return has_moved(g, theta); };
    const auto rests = [&](Index g) { return !has_moved(g, theta); };
    Part part{norm_of(unit.in, theta, moves), norm_of(unit.out, theta, moves), root_at(unit, t), false};
    const double resting_in = norm_of(unit.in, theta, rests);
    const double resting_out = norm_of(unit.out, theta, rests);
    const double resting = std::max(resting_in, resting_out);
    if (resting == 0.0 || std::isnan(unit.root)) return part;
    const double in = norm_of(unit.in, start_, moves);
    const double out = norm_of(unit.out, start_, moves);
    const bool by_norms = std::max(in, out) < std::max(resting, std::abs(unit.root));
    part.root = by_norms ? root_of(in, out) : root_beside(unit.root, resting_in, resting_out);
    part.is_small = part.root == 0.0 && std::max(part.in, part.out) < resting;
    return part;
}

void Balance::restore(Vector& theta, double t) const {
    // Units of neighbouring layers share weights.
    for (int sweep = 0; sweep < kMostSweeps && restore_once(theta, t); ++sweep) {
    }
}

bool Balance::restore_once(Vector& theta, double t) const {
    bool is_changed = false;
    for (const Unit& unit : units_) {
        if (unit.is_balanced_in_span) {
            is_changed = restore_in_span(unit, theta) || is_changed;
            continue;
        }
        const Part part = part_of(unit, theta, t);
        if (part.in == 0.0 || part.out == 0.0 || std::isnan(part.root)) continue;
        const double factor = std::sqrt(square_of_factor(part.in, part.out, part.root));
        const double least = part.is_small ? kNoFactorOfPart : kNoFactor;
        if (!std::isfinite(factor) || factor == 0.0 || std::abs(factor - 1.0) <= least) continue;
        for (const Index g : unit.in)
            if (has_moved(g, theta)) theta[g] *= factor;
        for (const Index g : unit.out)
            if (has_moved(g, theta)) theta[g] /= factor;
        is_changed = true;
    }
    return is_changed;
}

void Balance::let_go(Vector& theta) const {
    for (const Unit& unit : units_) {
        if (std::max(largest_of(unit.in, theta), largest_of(unit.out, theta)) >= kSmallest) continue;
        for (const Index g : unit.in) theta[g] = 0.0;
        for (const Index g : unit.out) theta[g] = 0.0;
    }
}

bool Balance::is_followed(const Unit& unit, const Vector& start, const Vector& end, const Vector& missed) const {
    const auto is_one = [](Index) { return true; };
    if (unit.is_balanced_in_span && turns_over(unit.out, start, end, is_one)) return false;
    const Part part = part_of(unit, end, since_);
    const auto counts = [&](Index g) { return !part.is_small || has_moved(g, end); };
    const double root = part.is_small ? part.root : unit.root;
    if (root >= 0.0 && turns_over(unit.in, start, end, counts)) return false;
    if (root <= 0.0 && turns_over(unit.out, start, end, counts)) return false;
    if (missed.size() == 0 || std::isnan(unit.root)) return true;
    const double size = std::max(largest_of(unit.in, end), largest_of(unit.out, end));
    const double off = std::max(largest_of(unit.in, missed), largest_of(unit.out, missed));
    return !(size > kSmallest && off > kMostMissed * size);
}

bool Balance::are_followed(const Vector& start, const Vector& end, const Vector& missed) const {
    return std::ranges::all_of(units_, [&](const Unit& unit) { return is_followed(unit, start, end, missed); });
}

}  // namespace reluflow::layered
