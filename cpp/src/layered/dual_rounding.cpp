#include "layered/dual_rounding.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow::layered {
namespace {

/// Duals that are all below so many of their roundings are rounding in the steps to come, too: about where steps no
/// longer see whether the loss rises.
constexpr double kFitted = 64.0;
/// Of what decays: that of sums over the weights of a unit.
constexpr double kRounding = 8 * 2.2e-16;

/// What w multiplies in z of a member in size: t, or t over that of the member that carries the multiplier.
double weight(const SlidingSeries& sliding, const Member& member) {
    const Member* carrier = sliding.carrier(member.boundary);
    if (carrier == &member) return 1.0;
    const double own = std::abs(member.factor[0]);
    return carrier == nullptr || !carrier->has_input ? own : own / std::abs(carrier->factor[0]);
}

}  // namespace

DualRounding::DualRounding(const Jet& jet, double until) : jet_(&jet) {
    std::vector<Matrix> sizes;
    sizes.reserve(static_cast<std::size_t>(jet.activity().graph().count()));
    go_forward(sizes);
    go_backward(jet.duals().rounding(sizes.back()));
    const Vector decay = of_decay(jet);
    gradient_ += decay;
    if (jet.sliding().empty()) return;
    if (jet.duals().decays() && until > 0.0) decaying_ = growth_of_rounding(until) * jet.sliding().moved_by(decay);
    hidden_ = jet.sliding().moved_by(gradient_);  // multipliers solve Gram μ = N gradient: errors move all of them
    add_bounds();
    const Matrix left = jet.duals().dual(0).cwiseAbs() - kFitted * arriving_.back();
    is_all_ = !jet.duals().decays() && left.maxCoeff() <= 0.0;
}

DualRounding::DualRounding(const Jet& jet, const Jet::Missed& missed) : jet_(&jet), hidden_(missed.multipliers) {
    if (jet.sliding().empty()) return;
    go_backward(missed.duals, &missed.theta);
    add_bounds();
}

Vector DualRounding::of_velocity(const Jet& jet) {
    if (jet.duals().loss() != Loss::squared) return Vector::Zero(jet.activity().graph().parameters());
    DualRounding own;
    own.jet_ = &jet;
    std::vector<Matrix> sizes;
    own.go_forward(sizes);
    own.go_backward(jet.duals().rounding(sizes.back()));
    return jet.span() * own.gradient_;
}

Matrix DualRounding::of_duals(const Jet& jet) {
    DualRounding own;
    own.jet_ = &jet;
    std::vector<Matrix> sizes;
    own.go_forward(sizes);
    return jet.duals().rounding(sizes.back());
}

Matrix DualRounding::terms_of_outputs(const Jet& jet) {
    DualRounding own;
    own.jet_ = &jet;
    std::vector<Matrix> sizes;
    own.go_forward(sizes);
    return sizes.back();
}

// What decays off its boundary, by rounding, pulls a multiplier.
Vector DualRounding::of_decay(const Jet& jet) {
    Vector decay = Vector::Zero(jet.theta(0).size());
    jet.duals().add_decay({jet.theta(0)}, 0, decay);
    return (kRounding / jet.span()) * decay.cwiseAbs();
}

// The sum of the sizes of the terms of h of each unit.
void DualRounding::go_forward(std::vector<Matrix>& sizes) const {
    const Graph& graph = jet_->activity().graph();
    sizes.emplace_back(jet_->z(0).order(0).cwiseAbs());
    for (int v = 1; v < graph.count(); ++v) {
        const Node& node = graph.node(v);
        Matrix& sum = sizes.emplace_back(Matrix::Zero(jet_->activity().samples(), node.size));
        for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
            if (node.bias[u] >= 0) sum.col(u).array() += std::abs(jet_->theta(0)[node.bias[u]]);
        for (const int e : node.incoming)
            sum += sizes[graph.edges()[e].source] * jet_->entries(e, 0).cwiseAbs().transpose();
        if (!node.linear && !node.is_tapped_before) sum = sum.cwiseProduct(jet_->activity().slopes(v).cwiseAbs());
    }
}

// What arrives at a place that slides is what its multiplier is made of, and what is empty may wake: both send it on as
// it is.
void DualRounding::go_backward(const Matrix& errors, const Vector* of_theta) {
    const Graph& graph = jet_->activity().graph();
    const auto nodes = static_cast<std::size_t>(graph.count());
    arriving_.resize(nodes);
    delta_.resize(nodes);
    gradient_.setZero(graph.parameters());
    for (int v = graph.count() - 1; v > 0; --v) {
        const Node& node = graph.node(v);
        if (v == graph.count() - 1)  // nothing else arrives there
            arriving_[v] = errors;
        else
            arriving_[v] = Matrix::Zero(errors.rows(), node.size);
        for (const int e : node.outgoing)
            arriving_[v] += delta_[graph.edges()[e].target] * jet_->entries(e, 0).cwiseAbs();
        for (const int e : node.outgoing)
            if (of_theta != nullptr) add_errors_of(graph.edges()[e], *of_theta, arriving_[v]);
        delta_[v] = arriving_[v];
        for (Index i = 0; i < delta_[v].rows() && !node.linear && !node.is_tapped_before; ++i)
            for (Index u = 0; u < node.size; ++u)
                if (jet_->activity().mode({v, i, u}) == Mode::moving)
                    delta_[v](i, u) *= std::abs(jet_->activity().slopes(v)(i, u));
        add_to_gradient(v);
    }
}

// What errors of the entries between make of what δ above sends down.
void DualRounding::add_errors_of(const Edge& edge, const Vector& of_theta, Matrix& arriving) const {
    if (!edge.has_parameters) return;
    Matrix errors = Matrix::Zero(edge.rows, edge.cols);
    for (Index r = 0; r < edge.rows; ++r)
        for (Index c = 0; c < edge.cols; ++c)
            if (const Index g = edge.at(r, c); g >= 0) errors(r, c) = of_theta[g];
    arriving += jet_->delta(edge.target).order(0).cwiseAbs() * errors;
}

void DualRounding::add_to_gradient(int v) {
    const Graph& graph = jet_->activity().graph();
    const Node& node = graph.node(v);
    for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
        if (node.bias[u] >= 0) gradient_[node.bias[u]] += delta_[v].col(u).sum();
    for (const int e : node.incoming) {
        const Edge& edge = graph.edges()[e];
        if (!edge.has_parameters) continue;
        const Matrix G = delta_[v].transpose() * jet_->tapped(edge).order(0).cwiseAbs();
        for (Index r = 0; r < edge.rows; ++r)
            for (Index c = 0; c < edge.cols; ++c)
                if (edge.at(r, c) >= 0) gradient_[edge.at(r, c)] += G(r, c);
    }
}

// By how much the rounding of what decays is more at the end of a step, in a multiplier, than at its begin. Where θ
// falls to 1/S the terms of z of degree k come to S^k while z falls, and the squares of the normals fall to S^-2(k -
// 1).
double DualRounding::growth_of_rounding(double until) const {
    double sum = 0.0;
    for (int k = jet_->order(); k >= 0; --k) sum = sum * until + largest(jet_->theta(k));
    int layers = 0;
    for (const Member& member : jet_->sliding().members()) layers = std::max(layers, member.place.node);
    return std::pow(sum / largest(jet_->theta(0)), 3 * layers - 2);
}

// Bounds are sums over the members.
void DualRounding::add_bounds() {
    const SlidingSeries& sliding = jet_->sliding();
    for (const Member& member : sliding.members())
        hidden_[member.boundary] +=
            weight(sliding, member) * arriving_[member.place.node](member.place.sample, member.place.unit);
}

double DualRounding::along(const SlidingGroup& group, const Eigen::RowVectorXd& ray) const noexcept {
    double sum = 0.0;
    for (std::size_t k = 0; k < group.boundaries.size(); ++k)
        sum += std::abs(ray[static_cast<Index>(k)]) * of_multiplier(group.boundaries[k]);
    return sum;
}

double DualRounding::along_in_step(const SlidingGroup& group, const Eigen::RowVectorXd& ray) const noexcept {
    double sum = 0.0;
    for (std::size_t k = 0; k < group.boundaries.size(); ++k)
        sum += std::abs(ray[static_cast<Index>(k)]) * in_step(group.boundaries[k]);
    return sum;
}

double DualRounding::of_rate(const Place& p) const {
    if (gradient_.size() == 0) return 0.0;
    const Graph& graph = jet_->activity().graph();
    const Node& node = graph.node(p.node);
    double sum = 0.0;
    if (!node.bias.empty() && node.bias[p.unit] >= 0) sum += jet_->span() * gradient_[node.bias[p.unit]];
    for (const int e : node.incoming) {
        const Edge& edge = graph.edges()[e];
        for (Index c = 0; c < edge.cols; ++c) {
            if (edge.has_parameters && edge.at(p.unit, c) >= 0)
                sum += jet_->span() * gradient_[edge.at(p.unit, c)] * std::abs(jet_->tapped(edge).at(0, p.sample, c));
            const double entry = jet_->entry(e, 0, p.unit, c);
            if (edge.source > 0 && entry != 0.0) sum += std::abs(entry) * of_rate({edge.source, p.sample, c});
        }
    }
    return sum;
}

}  // namespace reluflow::layered
