#include "layered/sliding_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "numeric/polynomial.hpp"

namespace reluflow::layered {
namespace {

/// Boundaries that share multipliers lie above each other at most this often before their parts are no longer followed.
constexpr int kMaxLevels = 6;

void find_bounds(const Jet& jet, int b, int order, int level, Row& up, Row& down);
Row shared_part(const Jet& jet, const Member& member, int order, int level);

/// What arrives above one place of its sample: β from h and γ from skips, when the place itself has a given side.
class Arrival {
  public:
    Arrival(const Jet& jet, const Member& member, int order, int level)
        : jet_(jet), place_(member.place), boundary_(member.boundary), order_(order), level_(level) {}

    /// False if no empty unit wakes with the place and none above shares its boundary: then `above` and `skip` are
    /// those of the series.
    bool differs() {
        const Graph& graph = this->graph();
        mark_.assign(static_cast<std::size_t>(graph.count()), {});
        bool any = false;
        for (int v = 0; v < graph.count(); ++v)
            mark_[v].assign(static_cast<std::size_t>(graph.node(v).size), Mark::none);
        for (int v = place_.node + 1; v < graph.count(); ++v)
            for (Index u = 0; u < graph.node(v).size; ++u)
                if (jet_.activity().mode({v, place_.sample, u}) == Mode::empty && reads_awake(v, u)) {
                    mark_[v][u] = Mark::wakes;
                    any = true;
                }
        return mark_shared() || any;
    }

    /// β and γ when the place goes to `side`.
    void find(int side, Row& above, Row& skip) {
        const Graph& graph = this->graph();
        wake(side);
        delta_.assign(static_cast<std::size_t>(graph.count()), {});
        for (int v = graph.count() - 1; v > place_.node; --v) {
            delta_[v].resize(static_cast<std::size_t>(graph.node(v).size));
            for (Index u = 0; u < graph.node(v).size; ++u) {
                if (mark_[v][u] == Mark::none) continue;
                if (mark_[v][u] == Mark::shares) {
                    delta_[v][u] = shared_part(jet_, *member_at(v, u), order_, level_ + 1);
                    continue;
                }
                Row from_h{};
                Row from_z{};
                collect(v, u, from_h, from_z);
                const double slope =
                    mark_[v][u] == Mark::wakes ? slope_of(v, rate_[v][u]) : jet_.activity().slopes(v)(place_.sample, u);
                for (int k = 0; k <= order_; ++k) delta_[v][u][k] = slope * from_h[k] + from_z[k];
            }
        }
        above.fill(0.0);
        skip.fill(0.0);
        collect(place_.node, place_.unit, above, skip);
    }

  private:
    /// How δ of a unit is not that of the series: it wakes with the place, it has a part of a shared multiplier, or it
    /// passes such a part on.
    enum class Mark : char { none, wakes, shares, passes };

    const Graph& graph() const noexcept { return jet_.activity().graph(); }
    bool is_awake(int v, Index u) const {
        return v == place_.node ? u == place_.unit : v > place_.node && mark_[v][u] == Mark::wakes;
    }
    /// The member of a boundary of several, other than that of the place, at a unit of the place's sample, or null.
    const Member* member_at(int v, Index u) const {
        const Place p{v, place_.sample, u};
        for (const Member& member : jet_.sliding().members())
            if (member.place == p && member.boundary != boundary_ &&
                jet_.sliding().boundaries()[member.boundary].members.size() > 1)
                return &member;
        return nullptr;
    }
    bool mark_shared() {
        bool any = false;
        for (int v = graph().count() - 1; v > place_.node && level_ < kMaxLevels; --v)
            for (Index u = 0; u < graph().node(v).size; ++u) {
                const Mode mode = jet_.activity().mode({v, place_.sample, u});
                if (mode == Mode::sliding && member_at(v, u) != nullptr) mark_[v][u] = Mark::shares;
                if (mode == Mode::moving && any && sends_to_marked(v, u)) mark_[v][u] = Mark::passes;
                any = any || mark_[v][u] == Mark::shares;
            }
        return any;
    }
    bool sends_to_marked(int v, Index u) const {
        for (const int e : graph().node(v).outgoing) {
            const Edge& edge = graph().edges()[e];
            for (Index r = 0; r < edge.rows; ++r)
                if (edge.connects(r, u) &&
                    (mark_[edge.target][r] == Mark::shares || mark_[edge.target][r] == Mark::passes))
                    return true;
        }
        return false;
    }
    bool reads_awake(int v, Index u) const {
        for (const int e : graph().node(v).incoming) {
            const Edge& edge = graph().edges()[e];
            for (Index c = 0; c < edge.cols; ++c)
                if (edge.connects(u, c) && is_awake(edge.source, c)) return true;
        }
        return false;
    }
    /// By the first order that does not vanish: entries may be zero that move.
    double slope_of(int v, const Row& rate) const noexcept {
        const Node& node = graph().node(v);
        const auto first = std::ranges::find_if(rate, [](double r) { return r != 0.0; });
        return node.linear || (first != rate.end() && *first > 0.0) ? 1.0 : node.leak;
    }

    /// How fast each empty unit moves when the place moves with speed 1 to `side`, as a series.
    void wake(int side) {
        rate_.assign(static_cast<std::size_t>(graph().count()), {});
        for (int v = place_.node; v < graph().count(); ++v) {
            rate_[v].assign(static_cast<std::size_t>(graph().node(v).size), Row{});
            if (v == place_.node) {
                rate_[v][place_.unit][0] = side;
                continue;
            }
            for (Index u = 0; u < graph().node(v).size; ++u)
                if (mark_[v][u] == Mark::wakes) rate_[v][u] = rate_of(v, u);
        }
    }
    Row rate_of(int v, Index u) const {
        Row sum{};
        for (int k = 0; k <= jet_.order() && (k == 0 || sum[k - 1] == 0.0); ++k) sum[k] = rate_of(v, u, k);
        return sum;
    }
    double rate_of(int v, Index u, int k) const {
        double sum = 0.0;
        for (const int e : graph().node(v).incoming) {
            const Edge& edge = graph().edges()[e];
            if (edge.source < place_.node) continue;
            for (Index c = 0; c < edge.cols; ++c) {
                if (!is_awake(edge.source, c)) continue;
                const Row& z = rate_[edge.source][c];
                const double slope = edge.tap == Tap::preactivation ? 1.0 : slope_of(edge.source, z);
                for (int j = 0; j <= (edge.has_parameters ? k : 0); ++j)
                    sum += jet_.entry(e, j, u, c) * (slope * z[k - j]);
            }
        }
        return sum;
    }

    /// Adds what the units above send down to one unit: A_j δ_{k-j}.
    void collect(int v, Index u, Row& from_h, Row& from_z) const {
        const int last = graph().count() - 1;
        if (v == last)
            for (int k = 0; k <= order_; ++k) from_h[k] += jet_.duals().dual(k)(place_.sample, u);
        for (const int e : graph().node(v).outgoing) {
            const Edge& edge = graph().edges()[e];
            Row& sum = edge.tap == Tap::preactivation ? from_z : from_h;
            for (Index r = 0; r < edge.rows; ++r) {
                if (!edge.connects(r, u)) continue;
                const bool changed = mark_[edge.target][r] != Mark::none;
                for (int k = 0; k <= order_; ++k)
                    for (int j = 0; j <= (edge.has_parameters ? k : 0); ++j) {
                        const double sent = changed ? delta_[edge.target][r][k - j]
                                                    : jet_.delta(edge.target).at(k - j, place_.sample, r);
                        sum[k] += jet_.entry(e, j, r, u) * sent;
                    }
            }
        }
    }

    const Jet& jet_;
    Place place_;
    int boundary_;
    int order_;
    int level_;
    std::vector<std::vector<Mark>> mark_;
    std::vector<std::vector<Row>> rate_;
    std::vector<std::vector<Row>> delta_;
};

/// What w multiplies in z of a member: t, or t over |t| of the member that carries the multiplier.
Row weight(const SlidingSeries& sliding, const Member& member, int order) {
    const Member* rep = sliding.carrier(member.boundary);
    if (rep == nullptr || !member.has_input) return member.factor;
    Row quotient{};
    quotient[0] = rep->carry;
    if (rep == &member) return quotient;
    for (int k = 0; k <= order; ++k) {
        double rest = member.factor[k];
        for (int j = 1; j <= k; ++j) rest -= rep->carry * rep->factor[j] * quotient[k - j];
        quotient[k] = rest / (rep->carry * rep->factor[0]);
    }
    return quotient;
}

void add_product(const Row& factor, const Row& other, int order, Row& sum) {
    for (int k = 0; k <= order; ++k)
        for (int j = 0; j <= k; ++j) sum[k] += factor[j] * other[k - j];
}

/// What a member adds to the bounds when w goes up and when it goes down: δ, without its weight.
void member_bounds(const Jet& jet, const Member& member, int turn, int order, int level, Row& up, Row& down) {
    const double leak = jet.activity().graph().node(member.place.node).leak;
    Arrival arrival(jet, member, order, level);
    const bool differs = arrival.differs();
    for (const int w : {1, -1}) {
        Row above = member.above;
        Row skip = member.skip;
        if (differs) arrival.find(w * turn, above, skip);
        Row& sum = w > 0 ? up : down;
        const double slope = w * turn > 0 ? 1.0 : leak;
        for (int k = 0; k <= order; ++k) sum[k] = slope * above[k] + skip[k];
    }
}

void find_bounds(const Jet& jet, int b, int order, int level, Row& up, Row& down) {
    up.fill(0.0);
    down.fill(0.0);
    for (const Member& member : jet.sliding().members()) {
        if (member.boundary != b) continue;
        const Row factor = weight(jet.sliding(), member, order);
        Row high{};
        Row low{};
        member_bounds(jet, member, factor[0] < 0.0 ? -1 : 1, order, level, high, low);
        add_product(factor, high, order, up);
        add_product(factor, low, order, down);
    }
}

/// δ of one member of a shared boundary. The multiplier is the sum over all; each takes it at the same part of the way
/// between its own bounds, which is one of the ways to share it.
Row shared_part(const Jet& jet, const Member& member, int order, int level) {
    Row up;
    Row down;
    find_bounds(jet, member.boundary, order, level, up, down);
    const Row& mu = jet.sliding().multiplier(member.boundary);
    Row part{};  // (μ - M⁺) / (M⁻ - M⁺)
    for (int k = 0; k <= order && down[0] != up[0]; ++k) {
        double rest = mu[k] - up[k];
        for (int j = 1; j <= k; ++j) rest -= (down[j] - up[j]) * part[k - j];
        part[k] = rest / (down[0] - up[0]);
    }
    Row high{};
    Row low{};
    const int turn = weight(jet.sliding(), member, 0)[0] < 0.0 ? -1 : 1;
    member_bounds(jet, member, turn, order, level, high, low);
    Row sent = high;
    for (int k = 0; k <= order; ++k) low[k] -= high[k];
    add_product(part, low, order, sent);
    return sent;
}

}  // namespace

void sliding_bounds(const Jet& jet, int b, int order, Row& up, Row& down) {
    find_bounds(jet, b, order, 0, up, down);
}

double missed_by_division(const Jet& jet, int b, int order, const Row& up, const Row& down) {
    const std::vector<Boundary>& all = jet.sliding().boundaries();
    const int node = all[b].members.front().node;
    const auto is_divided = [node](const Boundary& other) {
        return other.members.size() > 1 && other.members.front().node > node;
    };
    if (jet.degree() == 0 || std::ranges::none_of(all, is_divided)) return 0.0;
    return tail_bound(up.data(), order, jet.degree(), 1.0) + tail_bound(down.data(), order, jet.degree(), 1.0);
}

GroupBounds::GroupBounds(const Jet& jet, const SlidingGroup& group, int order)
    : jet_(jet), group_(group), order_(order), up_(group.boundaries.size()), down_(group.boundaries.size()) {
    for (std::size_t k = 0; k < group.boundaries.size(); ++k)
        find_bounds(jet, group.boundaries[k], order, 0, up_[k], down_[k]);
}

void GroupBounds::gap(const Eigen::RowVectorXd& ray, Row& gap) const {
    gap.fill(0.0);
    for (std::size_t k = 0; k < group_.boundaries.size(); ++k) {
        const double a = ray[static_cast<Index>(k)];
        if (a == 0.0) continue;
        const Row& held = a > 0.0 ? down_[k] : up_[k];
        const Row& mu = jet_.sliding().multiplier(group_.boundaries[k]);
        for (int j = 0; j <= order_; ++j) gap[j] += a * (held[j] - mu[j]);
    }
}

double GroupBounds::size(const Eigen::RowVectorXd& ray, double u) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < group_.boundaries.size(); ++k) {
        const Row& mu = jet_.sliding().multiplier(group_.boundaries[k]);
        sum += std::abs(ray[static_cast<Index>(k)]) *
               (tail_bound(up_[k].data(), order_, 0, u) + tail_bound(down_[k].data(), order_, 0, u) +
                tail_bound(mu.data(), order_, 0, u));
    }
    return sum;
}

// Bounds and multiplier are truncated series of their own: what they leave out tells them apart where they meet.
bool GroupBounds::vanishes(const Eigen::RowVectorXd& ray, double u, double part, double hidden) const {
    double last = 0.0;
    for (std::size_t k = 0; k < group_.boundaries.size(); ++k) {
        const Row& mu = jet_.sliding().multiplier(group_.boundaries[k]);
        last += std::abs(ray[static_cast<Index>(k)]) *
                (std::abs(up_[k][order_]) + std::abs(down_[k][order_]) + std::abs(mu[order_]));
    }
    Row left;
    gap(ray, left);
    const double zero = part * size(ray, u) + hidden + last * std::pow(u, order_);
    return std::abs(evaluate(left.data(), order_, u)) < zero;
}

}  // namespace reluflow::layered
