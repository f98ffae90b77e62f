#include "layered/sliding_series.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "numeric/decompositions.hpp"

namespace reluflow::layered {
namespace {

/// Normals count as dependent when the least eigenvalue of their normalised Gram matrix falls below this.
constexpr double kDependent = 1e-9;
/// The sine of a normal with the span of others below which it is in it.
constexpr double kSpanned = 1e-6;
/// Of what is not, the least eigenvalue is about the square of that: what two multipliers share is known to 1e-4 then.
constexpr double kNearlyDependent = 0.1 * kSpanned * kSpanned;

}  // namespace

void SlidingSeries::start(const Activity& activity) {
    boundaries_ = &activity.sliding();
    members_.clear();
    multiplier_.assign(boundaries_->size(), Row{});
    find_groups(activity);
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
            if (!member.has_input || member.input.node < 0) member.factor[0] = member.input.value;
            members_.push_back(member);
        }
    }
}

void SlidingSeries::find_groups(const Activity& activity) {
    groups_ = sliding_groups(activity);
    grouped_.assign(boundaries_->size(), 0);
    std::vector<char> spanned(boundaries_->size(), 0);
    for (const SlidingGroup& group : groups_)
        for (std::size_t k = 0; k < group.boundaries.size(); ++k) {
            grouped_[group.boundaries[k]] = 1;
            spanned[group.boundaries[k]] = group.is_spanned[k];
        }
    independent_.clear();
    for (int b = 0; b < count(); ++b)
        if (spanned[b] == 0) independent_.push_back(b);
}

bool SlidingSeries::factor(const Fields& fields, Index parameters) {
    const int size = count();
    normals_.setZero(size, parameters);
    fields_.resize(size);
    for (Field& field : fields_) field.delta.clear();
    for (const int b : independent_) {
        if ((*boundaries_)[b].acts_on_parameter())
            normals_(b, (*boundaries_)[b].parameter) = 1.0;
        else
            make_normal(fields, *carrier(b));
    }
    if (factor_gram(kDependent)) return true;
    keep_independent();
    return factor_gram(kNearlyDependent);
}

// Of normals that depend on each other by the weights some hold what all of them hold: each is the one that has most
// beside those before, as others may leave no more than rounding between two of them.
void SlidingSeries::keep_independent() {
    std::vector<std::pair<int, Vector>> rests;
    for (const int b : independent_)
        if (const double length = normals_.row(b).norm(); length > 0.0)
            rests.emplace_back(b, normals_.row(b).transpose() / length);
    independent_.clear();
    while (!rests.empty()) {
        const auto size = [](const auto& one) { return one.second.norm(); };
        const auto next = std::ranges::max_element(rests, {}, size);
        if (size(*next) <= kSpanned) break;
        const Vector e = next->second.normalized();
        independent_.push_back(next->first);
        rests.erase(next);
        for (auto& [b, rest] : rests)
            for (int pass = 0; pass < 2; ++pass) rest -= rest.dot(e) * e;
    }
    std::ranges::sort(independent_);
}

// False if the normals depend on each other.
bool SlidingSeries::factor_gram(double least) {
    const auto rank = static_cast<Index>(independent_.size());
    gram_.resize(rank, rank);
    for (Index i = 0; i < rank; ++i)
        for (Index j = 0; j < rank; ++j) gram_(i, j) = normals_.row(independent_[i]).dot(normals_.row(independent_[j]));
    const Vector length = gram_.diagonal().cwiseSqrt();
    if ((length.array() <= 0.0).any()) return false;
    const Matrix scaled = length.cwiseInverse().asDiagonal() * gram_ * length.cwiseInverse().asDiagonal();
    if (rank > 0 && least_eigenvalue(scaled) < least) return false;  // rank 0: nothing moves what slides
    units_ = length.unaryExpr([](double one) { return std::ldexp(1.0, -std::ilogb(one)); });
    factors_.matrix(static_cast<int>(rank)) = units_.asDiagonal() * gram_ * units_.asDiagonal();
    factors_.factor();
    return true;
}

// Normals of other layers have other units: pivots are looked for in the Gram matrix of normals of length one or so.
void SlidingSeries::solve_gram(Vector& x) const {
    x = x.cwiseProduct(units_);
    factors_.solve(x);
    x = x.cwiseProduct(units_);
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
    solved_.resize(static_cast<Index>(independent_.size()));
    for (std::size_t i = 0; i < independent_.size(); ++i) solved_[static_cast<Index>(i)] = rhs[independent_[i]];
    solve_gram(solved_);
    for (std::size_t i = 0; i < independent_.size(); ++i)
        multiplier_[independent_[i]][k] = solved_[static_cast<Index>(i)];
}

Vector SlidingSeries::moved_by(const Vector& errors) const {
    const auto rank = static_cast<Index>(independent_.size());
    Matrix inverse(rank, rank);
    Matrix independent(rank, normals_.cols());
    Vector column;
    for (Index i = 0; i < rank; ++i) {
        column = Vector::Unit(rank, i);
        solve_gram(column);
        inverse.col(i) = column;
        independent.row(i) = normals_.row(independent_[i]);
    }
    const Vector moved = (inverse * independent).cwiseAbs() * errors;
    Vector all = Vector::Zero(count());
    for (Index i = 0; i < rank; ++i) all[independent_[i]] = moved[i];
    return all;
}

Vector SlidingSeries::shift_by(const Vector& offsets) const {
    Vector solved(static_cast<Index>(independent_.size()));
    for (std::size_t i = 0; i < independent_.size(); ++i) solved[static_cast<Index>(i)] = offsets[independent_[i]];
    solve_gram(solved);
    Vector shift = Vector::Zero(normals_.cols());
    for (std::size_t i = 0; i < independent_.size(); ++i)
        shift += solved[static_cast<Index>(i)] * normals_.row(independent_[i]).transpose();
    return shift;
}

void SlidingSeries::project(Vector& change) const {
    if (!empty()) change -= shift_by(normals_ * change);
}

void SlidingSeries::prescribe(int k, const Vector& multipliers) {
    for (int b = 0; b < count(); ++b) multiplier_[b][k] = multipliers[b];
}

void SlidingSeries::spread(int k, std::vector<SampleSeries>& delta) {
    for (int b = 0; b < count(); ++b) {
        const Boundary& boundary = (*boundaries_)[b];
        if (fields_[b].delta.empty()) continue;
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
