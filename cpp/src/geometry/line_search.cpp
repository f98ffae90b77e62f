#include "geometry/line_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
/// So many numbers are added up; in few dimensions as many as there are.
constexpr double kMostNumbers = 2e8;
constexpr int kFewDimensions = 3;
/// Lines on one way uphill; some per dimension are usual.
constexpr int kMostPasses = 200;
/// Where repelling boundaries do not span the space, the others count a little in what pulls are divided by uphill.
constexpr double kFlatWeight = 1e-9;

/// The way in the level above.
Vector reflected(const Vector& mirror, const Vector& way) {
    Vector out(way.size() + 1);
    out << 0.0, way;
    return out - 2.0 * mirror.dot(out) * mirror;
}

}  // namespace

void LineSearch::resize(int count, int rank) {
    count_ = count;
    rank_ = rank;
    levels_.resize(static_cast<std::size_t>(std::max(rank, 1)));
    for (int depth = 0; depth < rank; ++depth) {
        Level& level = levels_[static_cast<std::size_t>(depth)];
        level.normals.resize(count, dimensions(depth));
        level.rest.resize(dimensions(depth));
    }
    repels_.assign(static_cast<std::size_t>(count), 0);
    middle_.setZero(count);
    half_.setZero(count);
    across_.resize(count);
    dots_.resize(count);
    direction_.resize(2);
}

void LineSearch::set_rest(const double* rest) {
    levels_.front().rest = Eigen::Map<const Vector>(rest, rank_);
}

void LineSearch::set_boundary(int w, const double* normal, bool repels) {
    levels_.front().normals.row(w) = Eigen::Map<const Eigen::RowVectorXd>(normal, rank_);
    repels_[static_cast<std::size_t>(w)] = repels;
}

void LineSearch::set_pulls(int w, double below, double above) noexcept {
    middle_[w] = 0.5 * below + 0.5 * above;
    half_[w] = 0.5 * above - 0.5 * below;
}

double LineSearch::cost() const noexcept {
    const auto lines = static_cast<double>(std::count(repels_.begin(), repels_.end(), 0));
    double cost = count_;
    for (int i = 0; i < rank_ - 1; ++i) cost *= std::max(lines - i, 0.0) / (i + 1.0);
    return cost;
}

bool LineSearch::can_look_at_all() const noexcept {
    return rank_ <= kFewDimensions || cost() <= kMostNumbers;
}

double LineSearch::rounding() const noexcept {
    const double sum = levels_.front().rest.lpNorm<1>() + middle_.lpNorm<1>() + half_.lpNorm<1>();
    return kCornerUlps * kEps * sum;
}

void LineSearch::begin(double threshold, const Visit& visit) {
    threshold_ = threshold;
    visit_ = &visit;
    largest_ = highest_ = -std::numeric_limits<double>::infinity();
    climbs_ = false;
    top_.resize(0);
}

bool LineSearch::look_at_all(double threshold, const Visit& visit) {
    begin(threshold, visit);
    return spans_lines() ? look_along(0, 0) : look_across();
}

/// Goes down to the subspace along a boundary. False if it is all of the level to rounding.
bool LineSearch::enter(int depth, int boundary) {
    Level& level = levels_[static_cast<std::size_t>(depth)];
    Level& next = levels_[static_cast<std::size_t>(depth + 1)];
    level.mirror = level.normals.row(boundary).transpose();
    const double length = level.mirror.norm();
    if (length <= kRankTol) return false;
    level.mirror[0] += std::copysign(length, level.mirror[0]);
    level.mirror.normalize();
    dots_.noalias() = level.normals * level.mirror;
    for (int k = 1; k < dimensions(depth); ++k)
        next.normals.col(k - 1) = level.normals.col(k) - 2.0 * level.mirror[k] * dots_;
    next.rest = (level.rest - 2.0 * level.mirror.dot(level.rest) * level.mirror).tail(next.rest.size());
    return true;
}

/// The boundary with the longest normal in a level; -1 if none has one.
int LineSearch::widest(int depth, bool repelling) const noexcept {
    const Level& level = levels_[static_cast<std::size_t>(depth)];
    int found = -1;
    double longest = kRankTol;
    for (int w = 0; w < count_; ++w) {
        if ((repels_[static_cast<std::size_t>(w)] != 0) != repelling || level.normals.row(w).norm() <= longest)
            continue;
        longest = level.normals.row(w).norm();
        found = w;
    }
    return found;
}

/// Whether the boundaries that do not repel meet in lines. If not, the levels are along as many as there are.
bool LineSearch::spans_lines() {
    for (spanned_ = 0; spanned_ < rank_ - 1; ++spanned_) {
        const int next = widest(spanned_, false);
        if (next < 0) return false;
        enter(spanned_, next);
    }
    return true;
}

/// At right angles to the boundaries that do not repel.
bool LineSearch::look_across() {
    const int steepest = widest(spanned_, true);
    if (steepest < 0) return false;
    const Level& level = levels_[static_cast<std::size_t>(spanned_)];
    return look_at(spanned_, level.normals.row(steepest).normalized().transpose());
}

/// All lines along the boundaries that were entered, and others from `first` on.
bool LineSearch::look_along(int depth, int first) {
    if (dimensions(depth) == 1) return look_at(depth, Vector::Ones(1));
    for (int w = first; w < count_; ++w) {
        if (repels_[static_cast<std::size_t>(w)] != 0) continue;
        if (dimensions(depth) == 2) {
            if (look_at_line(depth, w)) return true;
        } else if (enter(depth, w) && look_along(depth + 1, w + 1)) {
            return true;
        }
    }
    return false;
}

/// Precondition: two dimensions are left.
bool LineSearch::look_at_line(int depth, int boundary) {
    const auto normal = levels_[static_cast<std::size_t>(depth)].normals.row(boundary);
    const double length = normal.norm();
    if (length <= kRankTol) return false;
    direction_ << -normal[1] / length, normal[0] / length;
    return look_at(depth, direction_);
}

bool LineSearch::look_at(int depth, const Vector& direction) {
    const Level& level = levels_[static_cast<std::size_t>(depth)];
    across_.noalias() = level.normals.col(0) * direction[0];
    for (int k = 1; k < dimensions(depth); ++k) across_ += level.normals.col(k) * direction[k];
    across_ = (across_.array().abs() <= kOnLine).select(0.0, across_);
    const double odd = level.rest.dot(direction) + middle_.dot(across_);
    const double even = half_.dot(across_.cwiseAbs());
    largest_ = std::max(largest_, even + std::abs(odd));
    const double forwards = odd < 0.0 ? -1.0 : 1.0;
    const double height = climbs_ ? (even + std::abs(odd)) / weights_.dot(across_.cwiseAbs()) : 0.0;
    if (climbs_ && height > highest_) {
        highest_ = height;
        top_ = lifted(depth, forwards * direction);
    }
    return (even + std::abs(odd) > threshold_ && visit(depth, direction, forwards)) ||
           (even - std::abs(odd) > threshold_ && visit(depth, direction, -forwards));
}

/// A direction of a level in all coordinates.
Vector LineSearch::lifted(int depth, Vector way) const {
    for (int level = depth - 1; level >= 0; --level)
        way = reflected(levels_[static_cast<std::size_t>(level)].mirror, way);
    return way;
}

bool LineSearch::visit(int depth, const Vector& direction, double side) {
    return (*visit_)(lifted(depth, side * direction).data());
}

bool LineSearch::climb_from(const double* way, double threshold, const Visit& visit) {
    begin(threshold, visit);
    if (!spans_lines()) return look_across();
    if (rank_ == 1) return look_along(0, 0);
    if (!find_line(way)) return false;
    climbs_ = true;
    weights_.resize(count_);
    for (int w = 0; w < count_; ++w) weights_[w] = repels_[static_cast<std::size_t>(w)] != 0 ? 1.0 : kFlatWeight;
    std::vector<int> best;
    for (int pass = 0; pass < kMostPasses; ++pass) {
        const double before = highest_;
        for (std::size_t i = 0; i < line_.size(); ++i)
            if (look_beside(i, best)) return true;
        if (!(highest_ > before)) break;
        line_ = best;
    }
    return false;
}

/// A line near a direction: along the boundary at the smallest angle to it, in that along the next one, and so on.
bool LineSearch::find_line(const double* way) {
    line_.clear();
    Vector direction = Eigen::Map<const Vector>(way, rank_);
    for (int depth = 0; depth < rank_ - 1; ++depth) {
        const Level& level = levels_[static_cast<std::size_t>(depth)];
        int nearest = -1;
        double least = std::numeric_limits<double>::infinity();
        for (int w = 0; w < count_; ++w) {
            const double length = level.normals.row(w).norm();
            if (repels_[static_cast<std::size_t>(w)] != 0 || length <= kRankTol) continue;
            const double sine = std::abs(level.normals.row(w).dot(direction)) / length;
            if (sine >= least) continue;
            least = sine;
            nearest = w;
        }
        if (nearest < 0 || !enter(depth, nearest)) return false;
        line_.push_back(nearest);
        direction = Vector((direction - 2.0 * level.mirror.dot(direction) * level.mirror).tail(rank_ - depth - 1));
    }
    return true;
}

/// All lines that share the boundaries of the present one but for one of them. `best` becomes the best of them, if it
/// is better than what was seen before.
bool LineSearch::look_beside(std::size_t dropped, std::vector<int>& best) {
    int depth = 0;
    for (std::size_t i = 0; i < line_.size(); ++i)
        if (i != dropped && !enter(depth++, line_[i])) return false;
    for (int w = 0; w < count_; ++w) {
        if (repels_[static_cast<std::size_t>(w)] != 0) continue;
        const double before = highest_;
        if (look_at_line(depth, w)) return true;
        if (!(highest_ > before)) continue;
        best = line_;
        best[dropped] = w;
    }
    return false;
}

}  // namespace reluflow
