#include "hybrid/sliding_set.hpp"

#include <algorithm>
#include <cmath>

#include "base/tolerances.hpp"
#include "numeric/orthonormal.hpp"

namespace reluflow {

namespace {

double dot(const double* a, const double* b, Index size) noexcept {
    return Eigen::Map<const Vector>(a, size).dot(Eigen::Map<const Vector>(b, size));
}

}  // namespace

SlidingSet::SlidingSet(Index rank, Index room) : rank_(rank) {
    const Index boundaries = room < 0 ? rank : std::min(rank, room);
    boundaries_.reserve(boundaries);
    q_.reserve(boundaries * rank);
    r_.reserve(boundaries * (boundaries + 1) / 2);
}

/// False, and nothing changed, when the normal depends on those already held.
bool SlidingSet::add(int boundary, const double* normal) {
    const int h = size();
    if (h >= rank_) return false;
    q_.insert(q_.end(), normal, normal + rank_);
    r_.resize(r_.size() + h + 1, 0.0);
    double* q = q_.data() + h * rank_;
    double* column = r_.data() + h * (h + 1) / 2;
    for (int pass = 0; pass < 2; ++pass)  // twice is enough for orthogonality to rounding (Kahan, Parlett)
        take_out(q_.data(), h, rank_, q, column);
    const double left = std::sqrt(dot(q, q, rank_));
    if (left < kRankTol) {
        q_.resize(q_.size() - rank_);
        r_.resize(r_.size() - h - 1);
        return false;
    }
    column[h] = left;
    for (Index k = 0; k < rank_; ++k) q[k] /= left;
    boundaries_.push_back(boundary);
    return true;
}

void SlidingSet::assign(std::span<const int> boundaries, const Matrix& normals) {
    const auto [kept, rest] =
        std::mismatch(boundaries_.begin(), boundaries_.end(), boundaries.begin(), boundaries.end());
    const std::size_t h = dependent_.empty() ? kept - boundaries_.begin() : 0;
    boundaries_.resize(h);
    dependent_.clear();
    q_.resize(h * rank_);
    r_.resize(h * (h + 1) / 2);
    for (const int boundary : boundaries.subspan(h))
        if (!add(boundary, normals.row(boundary).data())) dependent_.push_back(boundary);
}

void SlidingSet::coordinates(const double* v, double* coordinates) const noexcept {
    for (int i = 0; i < size(); ++i) coordinates[i] = dot(row(i), v, rank_);
}

void SlidingSet::project(double* v) const noexcept {
    if (size() == rank_) {  // nothing is left, to the last bit
        std::fill_n(v, rank_, 0.0);
        return;
    }
    take_out(q_.data(), size(), rank_, v);
}

/// Twice is enough (Kahan, Parlett).
void SlidingSet::project_fully(double* v) const noexcept {
    project(v);
    project(v);
}

void SlidingSet::project(double* v, int count, double* coordinates) const noexcept {
    take_out_of_each(q_.data(), size(), rank_, count, v, coordinates);
    if (size() == rank_) std::fill_n(v, count * rank_, 0.0);
}

void SlidingSet::multipliers(double* values) const noexcept {
    for (int i = 0; i < size(); ++i) values[i] = -values[i];
    solve_triangle(r_.data(), size(), values);
}

/// The length of a row of R⁻¹.
double SlidingSet::condition(int h, double* work) const noexcept {
    double square = 0.0;
    for (int j = h; j < size(); ++j) {
        const double* column = r_.data() + j * (j + 1) / 2;
        const double taken = j == h ? 1.0 : -dot(work + h, column + h, j - h);
        work[j] = taken / column[j];
        square += work[j] * work[j];
    }
    return std::sqrt(square);
}

double SlidingSet::length_outside(const double* v) const noexcept {
    double inside = 0.0;
    for (int i = 0; i < size(); ++i) {
        const double part = dot(row(i), v, rank_);
        inside += part * part;
    }
    return std::sqrt(std::max(0.0, 1.0 - inside));
}

double SlidingSet::least_sine(double* work) const noexcept {
    if (!dependent_.empty()) return 0.0;
    double least = 1.0;
    for (int i = 0; i < size(); ++i) least = std::min(least, 1.0 / condition(i, work));
    return least;
}

Vector SlidingSet::line() const {
    Vector best = Vector::Zero(rank_);
    for (Index axis = 0; axis < rank_; ++axis) {
        Vector v = Vector::Unit(rank_, axis);
        project_fully(v.data());
        if (v.norm() > best.norm()) best = v;
    }
    return best.normalized();
}

}  // namespace reluflow
