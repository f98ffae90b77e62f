#include "layered/directions.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "problem/parallels.hpp"

namespace reluflow::layered {
namespace {

// Whole numbers repeat in a column; rows that differ may then agree in all that a unit reads of them.
bool has_repeats(const Matrix& X) {
    std::vector<double> column(static_cast<std::size_t>(X.rows()));
    for (Index c = 0; c < X.cols(); ++c) {
        for (Index i = 0; i < X.rows(); ++i) column[i] = std::abs(X(i, c));
        std::ranges::sort(column);
        for (std::size_t k = 1; k < column.size(); ++k)
            if (column[k] != 0.0 && column[k] == column[k - 1]) return true;
    }
    return false;
}

}  // namespace

Directions::Directions(const Matrix& X)
    : leader_(static_cast<std::size_t>(X.rows())), ratio_(static_cast<std::size_t>(X.rows()), 1.0) {
    std::iota(leader_.begin(), leader_.end(), Index{0});
    std::vector<Index> rows;
    for (Index i = 0; i < X.rows(); ++i)
        if (X.row(i).cwiseAbs().maxCoeff() > 0.0) rows.push_back(i);
    Matrix kept(static_cast<Index>(rows.size()), X.cols());
    for (std::size_t k = 0; k < rows.size(); ++k) kept.row(static_cast<Index>(k)) = X.row(rows[k]);
    const Parallels parallels = find_parallels(kept);
    any_ = parallels.count < kept.rows() || has_repeats(X);
    std::vector<Index> first(static_cast<std::size_t>(parallels.count), -1);
    for (std::size_t k = 0; k < rows.size(); ++k) {
        Index& leader = first[parallels.boundary[k]];
        if (leader < 0) leader = rows[k];
        leader_[rows[k]] = leader;
        Index largest = 0;
        X.row(leader).cwiseAbs().maxCoeff(&largest);
        ratio_[rows[k]] = X(rows[k], largest) / X(leader, largest);
    }
}

}  // namespace reluflow::layered
