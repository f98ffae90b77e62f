#include "layered/local_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace reluflow::layered {
namespace {

/// What leaves a boundary at its bound is beyond it by this part of what there is.
constexpr double kPush = 1e-5;

}  // namespace

LocalModel::LocalModel(const Activity& activity, const Matrix& X, const Vector& theta, const std::vector<Place>& met)
    : activity_(activity), X_(X), theta_(theta) {
    const Graph& graph = activity.graph();
    pre_activations(graph, X, theta, z_);
    find_zeros(met);
    h_ = z_;
    for (const Place& p : places_) z_[p.node](p.sample, p.unit) = h_[p.node](p.sample, p.unit) = 0.0;
    for (int v = 1; v < graph.count(); ++v)
        if (!graph.node(v).linear) h_[v] = z_[v].cwiseProduct(activity.slopes(v));
    normals_.setZero(count(), graph.parameters());
    through_h_.setZero(count(), count());
    through_z_.setZero(count(), count());
    beta_.setZero(count());
    gamma_.setZero(count());
    Vector row(graph.parameters());
    for (int a = 0; a < count(); ++a) {
        const Place& p = places_[a];
        Sent sent = nothing();
        sent.delta[p.node][p.unit] = 1.0;
        pull(p.sample, sent, Terms::signed_ones, root_of(p));
        row.setZero();
        add_gradient(p.sample, sent, row);
        normals_.row(a) = row.transpose();
        for (int b = 0; b < a; ++b) {
            if (places_[b].sample != p.sample || places_[b].node >= p.node) continue;
            through_h_(a, b) = sent.above[places_[b].node][places_[b].unit];
            through_z_(a, b) = sent.skip[places_[b].node][places_[b].unit];
        }
    }
    measure();
}

// What a node reads is what its own weights move it by: a normal that is more than rounding is as long as that of some
// sample.
void LocalModel::measure() {
    const Graph& graph = activity_.graph();
    lengths_ = normals_.rowwise().norm();
    longest_.setZero(graph.count());
    for (int v = 1; v < graph.count(); ++v) {
        const Node& node = graph.node(v);
        Vector read = Vector::Constant(X_.rows(), node.bias.empty() ? 0.0 : 1.0);
        for (const int e : node.incoming) {
            const Edge& edge = graph.edges()[e];
            if (!edge.has_parameters) continue;
            read += (edge.tap == Tap::preactivation ? z_ : h_)[edge.source].rowwise().squaredNorm();
        }
        longest_[v] = std::sqrt(read.maxCoeff());
    }
}

Vector LocalModel::normal_of(const Place& p) const {
    Sent sent = nothing();
    sent.delta[p.node][p.unit] = 1.0;
    pull(p.sample, sent);
    Vector normal = Vector::Zero(normals_.cols());
    add_gradient(p.sample, sent, normal);
    return normal;
}

void LocalModel::add_forces(const Matrix& duals, Vector drift) {
    velocity_ = std::move(drift);
    for (Index i = 0; i < X_.rows(); ++i) {
        Sent sent = nothing();
        sent.above.back() = duals.row(i).transpose();
        pull(i, sent);
        add_gradient(i, sent, velocity_);
        for (int a = 0; a < count(); ++a) {
            if (places_[a].sample != i) continue;
            beta_[a] = sent.above[places_[a].node][places_[a].unit];
            gamma_[a] = sent.skip[places_[a].node][places_[a].unit];
        }
    }
}

void LocalModel::add_errors(const Matrix& errors, const Vector& of_drift) {
    velocity_errors_ = of_drift;
    pull_errors_.setZero(count());
    for (Index i = 0; i < X_.rows(); ++i) {
        Sent sent = nothing();
        sent.above.back() = errors.row(i).transpose();
        pull(i, sent, Terms::sizes);
        add_gradient(i, sent, velocity_errors_, Terms::sizes);
        for (int a = 0; a < count(); ++a) {
            const Place& p = places_[a];
            if (p.sample == i) pull_errors_[a] = sent.above[p.node][p.unit] + sent.skip[p.node][p.unit];
        }
    }
}

void LocalModel::look_at(const std::vector<char>& seen) {
    for (Index g = 0; g < velocity_.size(); ++g) {
        if (seen[g] != 0) continue;
        velocity_[g] = 0.0;
        if (velocity_errors_.size() > 0) velocity_errors_[g] = 0.0;
    }
    for (int a = 0; a < count(); ++a) {
        bool moves = false;
        for (Index g = 0; g < velocity_.size(); ++g) moves = moves || (seen[g] != 0 && normals_(a, g) != 0.0);
        if (moves) continue;
        beta_[a] = gamma_[a] = 0.0;
        if (pull_errors_.size() > 0) pull_errors_[a] = 0.0;
    }
}

int LocalModel::number_of(const Place& p) const noexcept {
    const auto found = std::ranges::find(places_, p);
    return found == places_.end() ? -1 : static_cast<int>(found - places_.begin());
}

// Pulls are compared with their own, as units may have any sizes, and where they cancel with the velocity.
void LocalModel::push(int a, int side, const std::vector<Place>& members) {
    const auto normal = normals_.row(a).transpose();
    const double length = normal.norm();
    if (length == 0.0) return;
    const Vector sizes = pulls();
    double pull = 0.0;
    for (const Place& p : members)
        if (const int b = number_of(p); b >= 0) pull += sizes[b] * normals_.row(b).norm();
    velocity_ += (kPush * side * std::min(pull, velocity_.norm()) / length) * normal;
}

// What arrives at each place at most, also through those above that read it.
Vector LocalModel::pulls() const {
    Vector sizes = beta_.cwiseAbs() + gamma_.cwiseAbs();
    for (int a = count() - 1; a >= 0; --a)
        for (int b = 0; b < a; ++b) sizes[b] += (std::abs(through_h_(a, b)) + std::abs(through_z_(a, b))) * sizes[a];
    return sizes;
}

void LocalModel::find_zeros(const std::vector<Place>& met) {
    const Graph& graph = activity_.graph();
    for (const Node& node : graph.nodes()) {
        zero_.emplace_back(SignMatrix::Zero(X_.rows(), node.size));
        live_.emplace_back(SignMatrix::Zero(X_.rows(), node.size));
    }
    for (const Place& p : met) zero_[p.node](p.sample, p.unit) = 1;
    for (int v = 1; v < graph.count(); ++v)
        for (Index i = 0; i < X_.rows(); ++i)
            for (Index u = 0; u < graph.node(v).size; ++u) {
                const Place p{v, i, u};
                live_[v](i, u) = is_live(p) ? 1 : 0;
                if (graph.node(v).linear) continue;
                if (live_[v](i, u) == 0 || activity_.mode(p) != Mode::moving) zero_[v](i, u) = 1;
                if (is_zero(p)) places_.push_back(p);
            }
}

bool LocalModel::sends(const Edge& edge, const Place& reader, Index col) const {
    if (!edge.connects(reader.unit, col) || activity_.is_kept_zero(edge, reader, col)) return false;
    if (edge.source == 0) return X_(reader.sample, col) != 0.0;
    const Place p{edge.source, reader.sample, col};
    if (is_zero(p) || live_[p.node](p.sample, p.unit) == 0) return false;
    return edge.tap == Tap::preactivation || activity_.slopes(p.node)(p.sample, p.unit) != 0.0;
}

bool LocalModel::is_live(const Place& p) const {
    const Node& node = activity_.graph().node(p.node);
    if (!node.bias.empty() && node.bias[p.unit] >= 0) return true;
    for (const int e : node.incoming) {
        const Edge& edge = activity_.graph().edges()[e];
        for (Index c = 0; c < edge.cols; ++c)
            if (sends(edge, p, c)) return true;
    }
    return false;
}

LocalModel::Sent LocalModel::nothing() const {
    Sent sent;
    for (const Node& node : activity_.graph().nodes())
        for (auto* part : {&sent.delta, &sent.above, &sent.skip}) part->emplace_back(Vector::Zero(node.size));
    return sent;
}

// What a place reads that slides with z = w t by w = 0: whatever moves t moves z by nothing. By what w is off from zero
// rows of places of one boundary would not be parallel.
const Input* LocalModel::root_of(const Place& p) const {
    if (activity_.mode(p) != Mode::sliding) return nullptr;
    for (const Boundary& boundary : activity_.sliding())
        if (const int m = boundary.place_of(p); m >= 0) return boundary.is_shared() ? &boundary.inputs[m] : nullptr;
    return nullptr;
}

// Backpropagation of one sample in the cut network: nothing passes a place that is zero, and nothing comes to `root`.
void LocalModel::pull(Index sample, Sent& sent, Terms terms, const Input* root) const {
    const auto term = [&](double entry) { return terms == Terms::sizes ? std::abs(entry) : entry; };
    const Graph& graph = activity_.graph();
    for (int v = graph.count() - 1; v > 0; --v) {
        if (root != nullptr && root->node == v) sent.above[v][root->unit] = sent.skip[v][root->unit] = 0.0;
        for (Index u = 0; u < graph.node(v).size; ++u) {
            if (is_zero({v, sample, u})) continue;
            const double slope = graph.node(v).linear ? 1.0 : activity_.slopes(v)(sample, u);
            sent.delta[v][u] += slope * sent.above[v][u] + sent.skip[v][u];
        }
        for (const int e : graph.node(v).incoming) {
            const Edge& edge = graph.edges()[e];
            if (edge.source == 0) continue;
            Vector& below = edge.tap == Tap::preactivation ? sent.skip[edge.source] : sent.above[edge.source];
            for (Index r = 0; r < edge.rows; ++r) {
                const double delta = sent.delta[v][r];
                for (Index c = 0; c < edge.cols && delta != 0.0; ++c)
                    if (edge.connects(r, c)) below[c] += delta * term(edge.entry(r, c, theta_));
            }
        }
    }
}

void LocalModel::add_gradient(Index sample, const Sent& sent, Eigen::Ref<Vector> out, Terms terms) const {
    const auto term = [&](double read) { return terms == Terms::sizes ? std::abs(read) : read; };
    const Graph& graph = activity_.graph();
    for (int v = 1; v < graph.count(); ++v) {
        const Node& node = graph.node(v);
        for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
            if (node.bias[u] >= 0) out[node.bias[u]] += sent.delta[v][u];
        for (const int e : node.incoming) {
            const Edge& edge = graph.edges()[e];
            if (!edge.has_parameters) continue;
            const Matrix& t = (edge.tap == Tap::preactivation ? z_ : h_)[edge.source];
            for (Index r = 0; r < edge.rows; ++r)
                for (Index c = 0; c < edge.cols; ++c)
                    if (edge.at(r, c) >= 0) out[edge.at(r, c)] += sent.delta[v][r] * term(t(sample, c));
        }
    }
}

}  // namespace reluflow::layered
