/// What slides in one step: normals, their Gram matrix, and the series of multipliers and of the bounds they keep to.
#pragma once

#include <array>
#include <vector>

#include "base/tolerances.hpp"
#include "base/types.hpp"
#include "layered/activity.hpp"
#include "layered/dependence.hpp"
#include "layered/graph.hpp"
#include "layered/sample_series.hpp"
#include "numeric/lu.hpp"

namespace reluflow::layered {

using Row = std::array<double, kMaxOrder + 2>;

/// A member of a sliding boundary: what arrives above it (β, from h; γ, from a skip) and the factor t of z = w t.
/// `carry`: what one unit of the boundary's multiplier is at its z; 0 if the parameter or another member has it.
struct Member {
    int boundary = 0;
    Place place;
    Input input;
    bool has_input = false;
    double carry = 0.0;
    Row above{}, skip{}, factor{};
};

class SlidingSeries {
  public:
    /// What the normals are made of: values of order 0.
    struct Fields {
        const Graph& graph;
        const Activity& activity;
        const std::vector<EdgeSeries>& entries;
        const std::vector<const SampleSeries*>& z;
        const std::vector<const SampleSeries*>& h;
    };

    bool empty() const noexcept { return boundaries_ == nullptr || boundaries_->empty(); }
    int count() const noexcept { return boundaries_ ? static_cast<int>(boundaries_->size()) : 0; }
    const std::vector<Boundary>& boundaries() const noexcept { return *boundaries_; }

    /// Reads the sliding boundaries; their order must not change during the step.
    void start(const Activity& activity);
    /// The same boundaries at another place in memory.
    void rebind(const Activity& activity) noexcept { boundaries_ = &activity.sliding(); }
    /// Normals and Gram matrix at order 0. False if the normals depend on each other.
    bool factor(const Fields& fields, Index parameters);

    std::vector<Member>& members() noexcept { return members_; }
    const std::vector<Member>& members() const noexcept { return members_; }
    const Row& multiplier(int b) const noexcept { return multiplier_[b]; }
    /// Boundaries whose normals depend on each other; those that others span have multiplier zero.
    const std::vector<SlidingGroup>& groups() const noexcept { return groups_; }
    bool is_grouped(int b) const noexcept { return grouped_[b] != 0; }
    auto normal(int b) const { return normals_.row(b); }

    /// The member that carries the multiplier of boundary b, or null if its parameter does.
    const Member* carrier(int b) const noexcept;

    /// Solves Gram x = rhs in place and stores x as order k of the multipliers.
    void solve(int k, Vector& rhs);
    /// How far errors up to these sizes in the gradient may move each multiplier: |Gram⁻¹ N| errors. After factor().
    Vector moved_by(const Vector& errors) const;
    /// The least shift of θ that moves what the boundaries hold by these offsets. After factor().
    Vector shift_by(const Vector& offsets) const;
    /// Takes from `change` what moves anything off its boundary. After factor().
    void project(Vector& change) const;
    /// Order k of the multipliers as given, one for each boundary.
    void prescribe(int k, const Vector& multipliers);
    /// Adds what multipliers of order k send down their samples to δ, β and γ.
    void spread(int k, std::vector<SampleSeries>& delta);

  private:
    void find_groups(const Activity& activity);
    bool factor_gram(double least);
    void solve_gram(Vector& x) const;
    void keep_independent();
    struct Field {
        std::vector<Vector> delta, above, skip;  // by node: what one unit of μ sends down
    };
    void make_field(const Fields& fields, const Member& member, Field& field) const;
    void make_normal(const Fields& fields, const Member& member);

    const std::vector<Boundary>* boundaries_ = nullptr;
    std::vector<Member> members_;
    std::vector<Row> multiplier_;
    std::vector<SlidingGroup> groups_;
    std::vector<char> grouped_;
    std::vector<int> independent_;
    Vector solved_;
    std::vector<Field> fields_;
    Matrix normals_, gram_;
    Vector units_;  // one over the power of two next to the length of each independent normal
    LuFactors factors_;
};

}  // namespace reluflow::layered
