#include "layered/joint.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "layered/dependence.hpp"
#include "layered/local_minima.hpp"

namespace reluflow::layered {
namespace {

/// The sine below which a normal is in the span of others.
constexpr double kDependent = 1e-6;
/// A coefficient below this part of its terms is their rounding.
constexpr double kCancelled = 1e-9;

/// Of each place: the coordinates on which its motion depends.
class Coordinates {
  public:
    explicit Coordinates(const LocalModel& model) : model_(model), factors_(model.count()) {
        for (int a = 0; a < model.count(); ++a) {
            depends_.emplace_back();
            leader_.push_back(a);
            ratio_.push_back(1.0);
            if (!add_normal(a)) follow(a);
        }
    }

    bool has_own(int a) const noexcept { return std::ranges::find(basis_, a) != basis_.end(); }
    const std::set<int>& of(int a) const noexcept { return depends_[a]; }
    /// True if the place moves through what it reads, not as its normal says alone.
    bool is_fed(int a) const noexcept { return fed_.contains(a); }

  private:
    // True if the normal is not in the span of those before; otherwise its factors in them are kept.
    bool add_normal(int a) {
        const Vector normal = model_.normals().row(a).transpose();
        const double length = normal.norm();
        if (model_.is_negligible(a, kCancelled)) return false;
        Vector rest = normal / length;
        Vector parts = Vector::Zero(static_cast<Index>(unit_.size()));
        for (int pass = 0; pass < 2; ++pass)
            for (std::size_t k = 0; k < unit_.size(); ++k) {
                const double part = rest.dot(unit_[k]);
                parts[static_cast<Index>(k)] += part;
                rest -= part * unit_[k];
            }
        if (rest.norm() > kDependent) {
            unit_.push_back(rest.normalized());
            basis_.push_back(a);
            depends_[a].insert(a);
            return true;
        }
        // unit_[k] = Σ of basis normals: solve the triangle from its end.
        const auto rank = static_cast<Index>(basis_.size());
        Matrix triangle(rank, rank);
        for (Index k = 0; k < rank; ++k)
            for (Index j = 0; j < rank; ++j) triangle(j, k) = unit_[j].dot(model_.normals().row(basis_[k]).transpose());
        Vector factors = parts * length;
        for (Index k = rank - 1; k >= 0; --k) {
            factors[k] /= triangle(k, k);
            for (Index j = 0; j < k; ++j) factors[j] -= triangle(j, k) * factors[k];
        }
        factors_[a] = factors;
        return false;
    }

    // x_a = Σ_j f_j (x_j - what feeds j) + what feeds a.
    void follow(int a) {
        std::map<int, double> h;
        std::map<int, double> z;
        std::map<int, double> size;
        const auto add = [&](int reader, double factor) {
            for (int b = 0; b < reader; ++b) {
                const double through_h = factor * model_.through_h(reader, b);
                const double through_z = factor * model_.through_z(reader, b);
                if (through_h == 0.0 && through_z == 0.0) continue;
                const bool same = ratio_[b] > 0.0;  // ψ of a positive multiple is that multiple
                const int leader = same ? leader_[b] : b;
                const double ratio = same ? ratio_[b] : 1.0;
                h[leader] += through_h * ratio;
                z[leader] += through_z * ratio;
                size[leader] += (std::abs(through_h) + std::abs(through_z)) * ratio;
            }
        };
        add(a, 1.0);
        const Vector& factors = factors_[a];
        const double largest = factors.size() > 0 ? factors.cwiseAbs().maxCoeff() : 0.0;
        int count = 0;
        for (Index k = 0; k < factors.size(); ++k) {
            if (std::abs(factors[k]) <= kCancelled * largest) continue;
            const int j = basis_[k];
            add(j, -factors[k]);
            depends_[a].insert(j);
            leader_[a] = j;
            ratio_[a] = factors[k];
            ++count;
        }
        bool is_fed = false;
        for (const auto& [b, total] : size) {
            if (std::abs(h[b]) + std::abs(z[b]) <= kCancelled * total) continue;
            depends_[a].insert(depends_[b].begin(), depends_[b].end());
            is_fed = true;
        }
        if (is_fed) fed_.insert(a);
        if (is_fed || count != 1) {
            leader_[a] = a;
            ratio_[a] = 1.0;
        }
    }

    const LocalModel& model_;
    std::vector<int> basis_;
    std::vector<Vector> unit_;
    std::vector<Vector> factors_;
    std::vector<std::set<int>> depends_;
    std::vector<int> leader_;
    std::vector<double> ratio_;
    std::set<int> fed_;
};

/// True if what is cut reads the data alone, by weights that are all free and shared by no two units: normals of
/// different units are orthogonal then, and nothing that is zero feeds anything else.
bool cut_units_read_data(const Graph& graph) {
    std::vector<char> used(static_cast<std::size_t>(graph.parameters()), 0);
    const auto is_new = [&](Index g) { return g >= 0 && std::exchange(used[g], char{1}) == 0; };
    for (int v = 1; v < graph.count(); ++v) {
        const Node& node = graph.node(v);
        if (node.linear) continue;
        if (!std::ranges::all_of(node.bias, is_new)) return false;
        for (const int e : node.incoming) {
            const Edge& edge = graph.edges()[e];
            if (edge.source != 0 || !std::ranges::all_of(edge.parameter, is_new)) return false;
        }
    }
    return true;
}

/// True if each unit of such a network slides on samples whose rows do not depend on each other: each boundary has a
/// coordinate of its own. False says nothing.
bool all_stand_alone(const Activity& activity, const Matrix& X) {
    const Graph& graph = activity.graph();
    if (!cut_units_read_data(graph)) return false;
    for (int v = 1; v < graph.count(); ++v)
        if (!graph.node(v).linear && (activity.modes(v).array() == static_cast<std::int8_t>(Mode::empty)).any())
            return false;
    std::map<std::pair<int, Index>, SpannedRows> rows;
    for (const Boundary& boundary : activity.sliding()) {
        if (boundary.is_parameter() || boundary.members.size() != 1) return false;
        const Place& p = boundary.members.front();
        const Node& node = graph.node(p.node);
        Vector row(X.cols() + (node.bias.empty() ? 0 : 1));
        row.head(X.cols()) = X.row(p.sample).transpose();
        if (!node.bias.empty()) row[X.cols()] = 1.0;
        if (!rows.try_emplace({p.node, p.unit}, kDependent).first->second.add(row)) return false;
    }
    return true;
}

int boundary_of(const Activity& activity, const Place& p) {
    for (std::size_t b = 0; b < activity.sliding().size(); ++b)
        if (activity.sliding()[b].place_of(p) >= 0) return static_cast<int>(b);
    return -1;
}

}  // namespace

std::vector<int> joint_boundaries(const Activity& activity, const LocalModel& model) {
    const Coordinates coordinates(model);
    const std::size_t count = activity.sliding().size();
    std::vector<int> decided(count);
    for (std::size_t b = 0; b < count; ++b) decided[b] = static_cast<int>(b);
    const std::vector<SlidingGroup> groups = sliding_groups(activity);
    for (std::size_t g = 0; g < groups.size(); ++g)
        for (const int b : groups[g].boundaries) decided[b] = -1 - static_cast<int>(g);
    std::vector<int> joint(count, 0);
    int next = 1;
    const auto join = [&](const auto& boundaries) {
        const int name = next++;
        for (const int b : boundaries) {
            if (b < 0) continue;
            const int old = std::exchange(joint[b], name);
            if (old != 0) std::ranges::replace(joint, old, name);
        }
    };
    for (int a = 0; a < model.count(); ++a) {
        if (coordinates.has_own(a)) continue;
        std::set<int> own;
        for (const int j : coordinates.of(a)) own.insert(boundary_of(activity, model.places()[j]));
        if (const int b = boundary_of(activity, model.places()[a]); b >= 0) own.insert(b);
        std::set<int> together;
        for (const int b : own) together.insert(b < 0 ? b : decided[b]);
        if (own.size() < 2 || (together.size() == 1 && !coordinates.is_fed(a))) continue;
        join(own);
    }
    for (const SlidingGroup& one : groups)
        if (std::ranges::any_of(one.boundaries, [&](int b) { return joint[b] != 0; })) join(one.boundaries);
    return joint;
}

std::vector<int> joint_boundaries(const Activity& activity, const Matrix& X, const Vector& theta) {
    if (activity.sliding().empty() || all_stand_alone(activity, X)) return {};
    std::vector<int> joint = joint_boundaries(activity, LocalModel(activity, X, theta, {}));
    if (std::ranges::all_of(joint, [](int one) { return one == 0; })) joint.clear();
    return joint;
}

std::vector<int> groups_of(const Activity& activity, const LocalModel& model, const std::vector<int>& joint,
                           const std::vector<Place>& leaving) {
    std::vector<char> leaves(activity.sliding().size(), 0);
    for (const Place& p : leaving)
        if (const int b = boundary_of(activity, p); b >= 0) leaves[b] = 1;
    for (std::size_t b = 0; b < joint.size(); ++b)
        for (std::size_t c = 0; c < joint.size(); ++c)
            if (joint[b] != 0 && joint[b] == joint[c] && leaves[b] != 0) leaves[c] = 1;
    const auto count = static_cast<int>(leaves.size());
    std::vector<int> names(leaves.size());
    for (int b = 0; b < count; ++b) names[b] = !joint.empty() && joint[b] != 0 ? count + joint[b] : b;
    for (const SlidingGroup& group : sliding_groups(activity)) {
        const bool any_leaves = std::ranges::any_of(group.boundaries, [&](int b) { return leaves[b] != 0; });
        for (const int b : group.boundaries) {
            names[b] = names[group.boundaries.front()];
            if (any_leaves) leaves[b] = 1;
        }
    }
    std::vector<int> groups;
    for (const Place& p : model.places()) {
        const int b = boundary_of(activity, p);
        groups.push_back(b < 0 || leaves[b] != 0 ? -1 : names[b]);
    }
    return groups;
}

bool holds_jointly(const Activity& activity, const LocalModel& model, const std::vector<int>& joint,
                   Interrupt* interrupt, Held how) {
    std::vector<int> groups = groups_of(activity, model, joint, {});
    const int first = static_cast<int>(activity.sliding().size()) + 1;  // of what is held jointly
    if (how != Held::by_ways) return LocalMinima(model, groups, interrupt).stays(first, how == Held::at_rest);
    std::vector<int> free = groups;
    for (int& group : free) group = group >= first ? -1 : group;
    LocalMinima search(model, std::move(free), interrupt);
    const std::vector<Minimum> ways = search.find();
    if (ways.size() != 1 || !search.lists_all()) return false;
    for (std::size_t a = 0; a < groups.size(); ++a)
        if (groups[a] >= first && ways.front().signs[a] != 0) return false;
    return true;
}

}  // namespace reluflow::layered
