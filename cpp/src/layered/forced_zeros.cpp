#include "layered/forced_zeros.hpp"

#include <algorithm>

#include "numeric/decompositions.hpp"

namespace reluflow::layered {
namespace {

/// A singular value below this part of the largest is zero, and so is a share in what is free.
constexpr double kDependent = 1e-9;

/// The pre-activations of one sample as linear combinations of those that read an input or a bias and so are free.
class Combinations {
  public:
    Combinations(const Activity& activity, const Vector& theta, Index sample, const std::vector<Place>& zero)
        : activity_(activity), theta_(theta), sample_(sample), zero_(zero) {
        const Graph& graph = activity.graph();
        Index width = 0;
        for (int v = 1; v < graph.count(); ++v) width += graph.node(v).size;
        for (int v = 0; v < graph.count(); ++v) {
            rows_.emplace_back(Eigen::MatrixXd::Zero(graph.node(v).size, v == 0 ? 0 : width));
            for (Index u = 0; v > 0 && u < graph.node(v).size; ++u) add({v, sample, u});
        }
    }

    bool any_relation() const noexcept { return any_held_; }

    /// Whether the relations leave a place nothing but zero, for all that moves and is not known to be zero.
    std::vector<Place> forced() const {
        Eigen::MatrixXd system(static_cast<Index>(relations_.size()), free_);
        for (std::size_t r = 0; r < relations_.size(); ++r)
            system.row(static_cast<Index>(r)) = relations_[r].head(free_).normalized();
        const Eigen::MatrixXd kernel = null_space(system, kDependent);
        std::vector<Place> found;
        for (const Place& p : moving_) {
            const Eigen::RowVectorXd row = rows_[p.node].row(p.unit).head(free_);
            if ((row * kernel).norm() <= kDependent * row.norm()) found.push_back(p);
        }
        return found;
    }

  private:
    bool is_zero(const Place& p) const { return std::ranges::find(zero_, p) != zero_.end(); }

    void add(const Place& p) {
        const Mode mode = activity_.mode(p);
        if (mode == Mode::empty) return;
        auto row = rows_[p.node].row(p.unit);
        const bool is_free = !combine(p, row);
        const bool moves = mode == Mode::moving && !is_zero(p);
        if (moves) moving_.push_back(p);
        if (is_free) {
            row.setZero();
            if (moves) row[free_++] = 1.0;
            return;
        }
        if (moves) return;
        if (row.squaredNorm() > 0.0) {
            relations_.emplace_back(row);
            any_held_ = any_held_ || mode == Mode::sliding;
        }
        row.setZero();
    }

    /// False if the place reads an input or a bias.
    template <class Values>
    bool combine(const Place& p, Values& row) const {
        const Graph& graph = activity_.graph();
        const Node& node = graph.node(p.node);
        if (!node.bias.empty() && node.bias[p.unit] >= 0) return false;
        for (const int e : node.incoming) {
            const Edge& edge = graph.edges()[e];
            for (Index c = 0; c < edge.cols; ++c) {
                if (!activity_.reads(edge, p, c)) continue;
                if (edge.source == 0) return false;
                const double slope = edge.tap == Tap::activated ? activity_.slopes(edge.source)(sample_, c) : 1.0;
                row += (edge.entry(p.unit, c, theta_) * slope) * rows_[edge.source].row(c);
            }
        }
        return true;
    }

    const Activity& activity_;
    const Vector& theta_;
    Index sample_;
    const std::vector<Place>& zero_;
    std::vector<Eigen::MatrixXd> rows_;  // by node and unit, one column for each free place
    std::vector<Eigen::RowVectorXd> relations_;
    std::vector<Place> moving_;
    Index free_ = 0;
    bool any_held_ = false;
};

bool any_slides(const Activity& activity, Index sample) {
    const auto here = [&](const Place& p) { return p.sample == sample; };
    return std::ranges::any_of(activity.sliding(),
                               [&](const Boundary& boundary) { return std::ranges::any_of(boundary.members, here); });
}

}  // namespace

std::vector<Place> forced_zeros(const Activity& activity, const Vector& theta, Index sample,
                                const std::vector<Place>& zero) {
    std::vector<Place> found;
    if (!any_slides(activity, sample)) return found;
    const Combinations all(activity, theta, sample, zero);
    if (!all.any_relation()) return found;
    std::vector<Place> known = zero;
    for (const Place& p : all.forced()) {
        if (!activity.graph().node(p.node).linear && !activity.reads_only(p, known)) found.push_back(p);
        known.push_back(p);
    }
    return found;
}

}  // namespace reluflow::layered
