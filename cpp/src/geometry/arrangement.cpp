#include "geometry/arrangement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "base/errors.hpp"
#include "geometry/arrangement_boundaries.hpp"
#include "geometry/arrangement_set.hpp"

namespace reluflow {
namespace {

using detail::Boundaries;
using detail::CellSet;

constexpr Index kAskEvery = 4096;  // cells between two calls of the hook: well below 0.1 s of work
/// Part of the way from a hyperplane to the next one at which a new point is put: the middle is farthest from both.
constexpr double kHalfWay = 0.5;

class Enumeration {
  public:
    Enumeration(const ArrangementSettings& settings, const ArrangementHook& hook) : settings_(settings), hook_(hook) {}

    ArrangementStatus status() const { return status_; }

    /// Interior points of all cells of `boundaries`, row after row.
    std::vector<double> points(const Boundaries& boundaries) {
        if (boundaries.size() == 0) return std::vector<double>(static_cast<std::size_t>(boundaries.dim()), 0.0);
        if (boundaries.dim() == 1) return {1.0, -1.0};
        if (boundaries.dim() == 2) return plane(boundaries);
        return space(boundaries);
    }

  private:
    /// In the plane: the bisectors between neighbouring lines.
    static std::vector<double> plane(const Boundaries& boundaries) {
        const Index n = boundaries.size();
        std::vector<double> angles;  // of the lines, in [0, π)
        for (Index i = 0; i < n; ++i) {
            const double angle =
                std::atan2(boundaries.normals(i, 0), -boundaries.normals(i, 1));  // the normal turned by 90 degrees
            angles.push_back(angle < 0 ? angle + std::numbers::pi : angle);
        }
        std::sort(angles.begin(), angles.end());
        std::vector<double> out;
        for (std::size_t i = 0; i < angles.size(); ++i) {
            const double next = i + 1 < angles.size() ? angles[i + 1] : angles[0] + std::numbers::pi;
            const double middle = 0.5 * (angles[i] + next);
            for (const double side : {1.0, -1.0}) {
                out.push_back(side * std::cos(middle));
                out.push_back(side * std::sin(middle));
            }
        }
        return out;
    }

    /// In three and more dimensions: every cell that hyperplane i cuts, found inside hyperplane i, gives one point on
    /// each side.
    std::vector<double> space(const Boundaries& boundaries) {
        CellSet cells(boundaries);
        for (Index i = 0; i < boundaries.size() && status_ == ArrangementStatus::complete; ++i) {
            const Vector v = detail::reflector(boundaries.normals.row(i));
            const std::vector<double> inside = points(detail::restricted(boundaries, i, v));
            cut(boundaries, i, v, inside, cells);
        }
        return cells.release_points();
    }

    /// Steps off hyperplane i to both sides at each point of `inside`, given in the coordinates of that hyperplane.
    void cut(const Boundaries& boundaries, Index i, const Vector& v, const std::vector<double>& inside,
             CellSet& cells) {
        const Index dim = boundaries.dim();
        const auto n_points = static_cast<Index>(inside.size()) / (dim - 1);
        const Vector normal = boundaries.normals.row(i);
        const Vector slopes = boundaries.normals.topRows(i) * normal;
        Vector point(dim);
        for (Index c = 0; c < n_points; ++c) {
            point[0] = 0;
            point.tail(dim - 1) = Eigen::Map<const Vector>(inside.data() + c * (dim - 1), dim - 1);
            point -= 2 * point.dot(v) * v;
            const Vector heights = boundaries.normals.topRows(i) * point;
            for (const double side : {1.0, -1.0}) {
                const double step = kHalfWay * room(heights, side * slopes);
                cells.insert((point + (side * step) * normal).normalized());
            }
            if (!go_on(cells.size())) return;
        }
    }

    /// How far one can go before a height changes its sign; at most 2, so that a step is at most 1.
    static double room(const Vector& heights, const Vector& slopes) {
        double distance = 2.0;
        for (Index k = 0; k < heights.size(); ++k)
            if (heights[k] * slopes[k] < 0) distance = std::min(distance, -heights[k] / slopes[k]);
        return distance;
    }

    bool go_on(Index found) {
        if (found > settings_.max_count) status_ = ArrangementStatus::over_limit;
        if (status_ == ArrangementStatus::complete && ++asked_ % kAskEvery == 0) {
            const Request request = hook_(found);
            if (request == Request::stop) status_ = ArrangementStatus::stopped;
            if (request == Request::interrupt) status_ = ArrangementStatus::interrupted;
        }
        return status_ == ArrangementStatus::complete;
    }

    const ArrangementSettings settings_;
    const ArrangementHook& hook_;
    ArrangementStatus status_ = ArrangementStatus::complete;
    Index asked_ = 0;
};

/// The sign bytes of the points on the caller's rows.
std::vector<std::uint8_t> patterns_of(const MatrixView& X, const std::vector<double>& points, Index count) {
    const Eigen::Map<const Matrix> rows(points.data(), count, X.cols());
    std::vector<std::uint8_t> patterns;
    patterns.reserve(static_cast<std::size_t>(count * X.rows()));
    Vector heights(X.rows());
    for (Index c = 0; c < count; ++c) {
        heights.noalias() = X * rows.row(c).transpose();
        for (Index i = 0; i < X.rows(); ++i) patterns.push_back(heights[i] >= 0 ? 1 : 0);
    }
    return patterns;
}

}  // namespace

const char* name(ArrangementStatus status) noexcept {
    switch (status) {
        case ArrangementStatus::complete: return "complete";
        case ArrangementStatus::over_limit: return "over_limit";
        case ArrangementStatus::stopped: return "stopped";
        case ArrangementStatus::interrupted: return "interrupted";
    }
    return "unknown";
}

ArrangementResult enumerate_cells(MatrixView X, const ArrangementSettings& settings, const ArrangementHook& hook) {
    if (X.rows() < 1 || X.cols() < 1)
        throw InvalidArgument("X", std::to_string(X.rows()) + " rows of " + std::to_string(X.cols()),
                              "at least 1 by 1");
    Enumeration enumeration(settings, hook);
    ArrangementResult result;
    result.points = enumeration.points(detail::distinct_boundaries(X));
    result.count = static_cast<Index>(result.points.size()) / X.cols();
    result.status = result.count > settings.max_count ? ArrangementStatus::over_limit : enumeration.status();
    result.patterns = patterns_of(X, result.points, result.count);
    return result;
}

Index count_boundaries(MatrixView X) {
    return detail::distinct_boundaries(X).size();
}

}  // namespace reluflow
