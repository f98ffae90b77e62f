#include "layered/sliding_series.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/decompositions.hpp"

namespace reluflow::layered {
namespace {

/// Normals count as dependent when the least eigenvalue of their normalised Gram matrix falls below this.
constexpr double kDependent = 1e-9;

}  // namespace

void SlidingSeries::start(const Activity& activity) {
    boundaries_ = &activity.sliding();
    members_.clear();
    multiplier_.assign(boundaries_->size(), Row{});
    for (std::size_t b = 0; b < boundaries_->size(); ++b) {
        const Boundary& boundary = (*boundaries_)[b];
        for (std::size_t m = 0; m < boundary.members.size(); ++m) {
            Member member;
            member.boundary = static_cast<int>(b);
            member.place = boundary.members[m];
            member.has_input = !boundary.inputs.empty();
            if (member.has_input) member.input = boundary.inputs[m];
            if (m == 0 && !boundary.acts_on_parameter())
                member.carry = member.has_input ? activity.input_sign(member.place, member.input) : 1.0;
            if (!member.has_input || member.input.node < 0) member.factor[0] = 1.0;
            members_.push_back(member);
        }
    }
}

bool SlidingSeries::factor(const Fields& fields, Index parameters) {
    const int size = count();
    normals_.setZero(size, parameters);
    fields_.resize(size);
    for (int b = 0; b < size; ++b) {
        if ((*boundaries_)[b].acts_on_parameter()) {
            normals_(b, (*boundaries_)[b].parameter) = 1.0;
            fields_[b].delta.clear();
        } else {
            make_normal(fields, *carrier(b));
        }
    }
    gram_.noalias() = normals_ * normals_.transpose();
    const Vector length = gram_.diagonal().cwiseSqrt();
    if (length.minCoeff() <= 0.0) return false;
    const Matrix scaled = length.cwiseInverse().asDiagonal() * gram_ * length.cwiseInverse().asDiagonal();
    if (least_eigenvalue(scaled) < kDependent) return false;
    factors_.matrix(size) = gram_;
    factors_.factor();
    return true;
}

const Member* SlidingSeries::carrier(int b) const noexcept {
    for (const Member& member : members_)
        if (member.boundary == b && member.carry != 0.0) return &member;
    return nullptr;
}

// Backpropagation of one sample from a place in the cut network.
void SlidingSeries::make_field(const Fields& fields, const Member& member, Field& field) const {
    const Place& place = member.place;
    const Graph& graph = fields.graph;
    const auto nodes = static_cast<std::size_t>(graph.count());
    field.delta.resize(nodes);
    field.above.resize(nodes);
    field.skip.resize(nodes);
    for (int v = 0; v < graph.count(); ++v) {
        field.delta[v].setZero(graph.node(v).size);
        field.above[v].setZero(graph.node(v).size);
        field.skip[v].setZero(graph.node(v).size);
    }
    field.delta[place.node][place.unit] = member.carry;
    for (int v = place.node; v > 0; --v) {
        if (v < place.node) {
            const auto slopes = fields.activity.slopes(v).row(place.sample).transpose();
            field.delta[v] = slopes.cwiseProduct(field.above[v]) + field.skip[v];
            for (Index u = 0; u < graph.node(v).size; ++u)
                if (fields.activity.mode({v, place.sample, u}) == Mode::sliding) field.delta[v][u] = 0.0;
        }
        for (const int e : graph.node(v).incoming) {
            const Edge& edge = graph.edges()[e];
            if (edge.source == 0) continue;
            Vector& below = edge.tap == Tap::preactivation ? field.skip[edge.source] : field.above[edge.source];
            below.noalias() += fields.entries[e].plain_order(0).transpose() * field.delta[v];
        }
    }
}

void SlidingSeries::make_normal(const Fields& fields, const Member& member) {
    const int b = member.boundary;
    auto normal = normals_.row(b);
    const Place& place = member.place;
    make_field(fields, member, fields_[b]);
    const Graph& graph = fields.graph;
    for (int v = place.node; v > 0; --v) {
        const Node& node = graph.node(v);
        const Vector& delta = fields_[b].delta[v];
        for (Index u = 0; u < node.size; ++u)
            if (!node.bias.empty() && node.bias[u] >= 0) normal[node.bias[u]] += delta[u];
        for (const int e : node.incoming) {
            const Edge& edge = graph.edges()[e];
            if (!edge.has_parameters) continue;
            const SampleSeries& t = *(edge.tap == Tap::preactivation ? fields.z : fields.h)[edge.source];
            for (Index r = 0; r < edge.rows; ++r) {
                if (delta[r] == 0.0) continue;
                for (Index c = 0; c < edge.cols; ++c)
                    if (edge.at(r, c) >= 0) normal[edge.at(r, c)] += delta[r] * t.at(0, place.sample, c);
            }
        }
    }
}

void SlidingSeries::solve(int k, Vector& rhs) {
    factors_.solve(rhs);
    for (int b = 0; b < count(); ++b) multiplier_[b][k] = rhs[b];
}

void SlidingSeries::spread(int k, std::vector<SampleSeries>& delta) {
    for (int b = 0; b < count(); ++b) {
        const Boundary& boundary = (*boundaries_)[b];
        if (boundary.acts_on_parameter()) continue;
        const Place& place = boundary.members.front();
        const double mu = multiplier_[b][k];
        for (int v = place.node; v > 0; --v)
            for (Index u = 0; u < delta[v].size(); ++u) {
                const double sent = fields_[b].delta[v][u];
                if (sent != 0.0) delta[v].set(k, place.sample, u, delta[v].at(k, place.sample, u) + mu * sent);
            }
        for (Member& member : members_) {
            if (member.place.sample != place.sample || member.place.node >= place.node) continue;
            member.above[k] += mu * fields_[b].above[member.place.node][member.place.unit];
            member.skip[k] += mu * fields_[b].skip[member.place.node][member.place.unit];
        }
    }
}

}  // namespace reluflow::layered
