#include "layered/sliding_bounds.hpp"

#include <vector>

namespace reluflow::layered {
namespace {

/// What arrives above one place of its sample: β from h and γ from skips, when the place itself has a given side.
class Arrival {
  public:
    Arrival(const Jet& jet, const Place& place, int order) : jet_(jet), place_(place), order_(order) {}

    /// False if no empty unit wakes with the place: then `above` and `skip` are those of the series.
    bool wakes() {
        const Graph& graph = this->graph();
        awake_.assign(static_cast<std::size_t>(graph.count()), {});
        bool any = false;
        for (int v = place_.node + 1; v < graph.count(); ++v) {
            const Index size = graph.node(v).size;
            awake_[v].assign(static_cast<std::size_t>(size), 0);
            for (Index u = 0; u < size; ++u)
                if (jet_.activity().mode({v, place_.sample, u}) == Mode::empty && reads_awake(v, u)) {
                    awake_[v][u] = 1;
                    any = true;
                }
        }
        return any;
    }

    /// β and γ when the place goes to `side`.
    void find(int side, Row& above, Row& skip) {
        const Graph& graph = this->graph();
        wake(side);
        delta_.assign(static_cast<std::size_t>(graph.count()), {});
        for (int v = graph.count() - 1; v > place_.node; --v) {
            delta_[v].resize(static_cast<std::size_t>(graph.node(v).size));
            for (Index u = 0; u < graph.node(v).size; ++u) {
                if (awake_[v][u] == 0) continue;
                Row from_h{};
                Row from_z{};
                collect(v, u, from_h, from_z);
                const double slope = slope_of(v, rate_[v][u]);
                for (int k = 0; k <= order_; ++k) delta_[v][u][k] = slope * from_h[k] + from_z[k];
            }
        }
        above.fill(0.0);
        skip.fill(0.0);
        collect(place_.node, place_.unit, above, skip);
    }

  private:
    const Graph& graph() const noexcept { return jet_.activity().graph(); }
    bool is_awake(int v, Index u) const {
        return v == place_.node ? u == place_.unit : v > place_.node && awake_[v][u] != 0;
    }
    bool reads_awake(int v, Index u) const {
        for (const int e : graph().node(v).incoming) {
            const Edge& edge = graph().edges()[e];
            for (Index c = 0; c < edge.cols; ++c)
                if (edge.connects(u, c) && is_awake(edge.source, c)) return true;
        }
        return false;
    }
    double slope_of(int v, double rate) const noexcept {
        const Node& node = graph().node(v);
        return node.linear || rate > 0.0 ? 1.0 : node.leak;
    }

    /// How fast each empty unit moves when the place moves with speed 1 to `side`.
    void wake(int side) {
        rate_.assign(static_cast<std::size_t>(graph().count()), {});
        for (int v = place_.node; v < graph().count(); ++v) {
            rate_[v].assign(static_cast<std::size_t>(graph().node(v).size), 0.0);
            if (v == place_.node) {
                rate_[v][place_.unit] = side;
                continue;
            }
            for (Index u = 0; u < graph().node(v).size; ++u)
                if (awake_[v][u] != 0) rate_[v][u] = rate_of(v, u);
        }
    }
    double rate_of(int v, Index u) const {
        double sum = 0.0;
        for (const int e : graph().node(v).incoming) {
            const Edge& edge = graph().edges()[e];
            if (edge.source < place_.node) continue;
            for (Index c = 0; c < edge.cols; ++c) {
                if (!is_awake(edge.source, c)) continue;
                const double z = rate_[edge.source][c];
                const double sent = edge.tap == Tap::preactivation ? z : z * slope_of(edge.source, z);
                sum += edge.entry(u, c, jet_.theta(0)) * sent;
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
                const bool awake = awake_[edge.target][r] != 0;
                for (int k = 0; k <= order_; ++k)
                    for (int j = 0; j <= (edge.has_parameters ? k : 0); ++j) {
                        const double sent =
                            awake ? delta_[edge.target][r][k - j] : jet_.delta(edge.target).at(k - j, place_.sample, r);
                        sum[k] += jet_.entry(e, j, r, u) * sent;
                    }
            }
        }
    }

    const Jet& jet_;
    Place place_;
    int order_;
    std::vector<std::vector<char>> awake_;
    std::vector<std::vector<double>> rate_;
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

void add_product(const Row& factor, double slope, const Row& above, const Row& skip, int order, Row& sum) {
    for (int k = 0; k <= order; ++k)
        for (int j = 0; j <= k; ++j) sum[k] += factor[j] * (slope * above[k - j] + skip[k - j]);
}

}  // namespace

void sliding_bounds(const Jet& jet, int b, int order, Row& up, Row& down) {
    up.fill(0.0);
    down.fill(0.0);
    for (const Member& member : jet.sliding().members()) {
        if (member.boundary != b) continue;
        const double leak = jet.activity().graph().node(member.place.node).leak;
        const Row factor = weight(jet.sliding(), member, order);
        const int turn = factor[0] < 0.0 ? -1 : 1;  // -1: w > 0 is z < 0
        Arrival arrival(jet, member.place, order);
        const bool wakes = arrival.wakes();
        for (const int w : {1, -1}) {
            Row above = member.above;
            Row skip = member.skip;
            if (wakes) arrival.find(w * turn, above, skip);
            add_product(factor, w * turn > 0 ? 1.0 : leak, above, skip, order, w > 0 ? up : down);
        }
    }
}

}  // namespace reluflow::layered
