/// The continuations at a corner by the cells of its repelling boundaries, where these are fewer than choices of sides.
#include <algorithm>
#include <cmath>

#include "geometry/arrangement.hpp"
#include "hybrid/transition.hpp"

namespace reluflow {

/// The most cells that the repelling boundaries make: 2 Σ_{i < rank} (k - 1 over i). No more than kMostNodes; that many
/// as well where there are so few boundaries that the search lists continuations that stay on some of them.
int TransitionSolver::count_cells() const {
    const auto others = static_cast<double>(repelling_.size()) - 1.0;
    if (repelling_.size() <= kMostStood) return kMostNodes;
    double cells = 0.0;
    double choices = 2.0;
    for (int i = 0; i < corner_->rank && cells < kMostNodes; ++i) {
        cells += choices;
        choices *= (others - i) / (i + 1.0);
    }
    return static_cast<int>(std::min<double>(cells, kMostNodes));
}

/// Lists the continuations anew: the velocity of each cell, if it keeps the neuron on the sides that the cell is on.
/// False if there are too many cells, a fit fails, or rounding hides every way out; what is listed then is right.
bool TransitionSolver::list_by_cells() {
    if (most_nodes_ == kMostNodes) return false;
    const Corner& corner = *corner_;
    const auto count = static_cast<Index>(repelling_.size());
    Matrix normals(count, corner.rank);
    for (Index i = 0; i < count; ++i)
        normals.row(i) = Eigen::Map<const Eigen::RowVectorXd>(corner.normal(repelling_[i]), corner.rank);
    const auto cells = enumerate_cells(normals, {most_nodes_}, [](Index) { return Request::go_on; });
    if (cells.status != ArrangementStatus::complete) return false;
    found_count_ = 0;
    rejected_.clear();
    nodes_ = 0;
    for (Index cell = 0; cell < cells.count; ++cell) {
        for (Index i = 0; i < count; ++i)
            choice_[repelling_[i]] = cells.patterns[cell * count + i] != 0 ? Choice::above : Choice::below;
        if (!fit()) return false;
        if (!is_ruled_out(0.0)) accept();
    }
    cut_short_ = found_count_ == 0;
    return !cut_short_;
}

}  // namespace reluflow
