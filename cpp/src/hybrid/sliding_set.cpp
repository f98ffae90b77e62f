#include "hybrid/sliding_set.hpp"

#include <algorithm>
#include <cmath>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

double dot(const double* a, const double* b, Index size) noexcept {
    return Eigen::Map<const Vector>(a, size).dot(Eigen::Map<const Vector>(b, size));
}

/// Rows whose parts are taken from a vector together: one by one each would wait for the one before.
constexpr int kTogether = 4;

/// v -= Σ_i (q_i·v) q_i over orthonormal rows, one after the other in memory.
template <int Count>
void take_rows(const double* q, Index size, double* v) noexcept {
    double parts[Count];
    for (int i = 0; i < Count; ++i) parts[i] = dot(q + i * size, v, size);
    for (Index k = 0; k < size; ++k) {
        double taken = 0.0;
        for (int i = 0; i < Count; ++i) taken += parts[i] * q[i * size + k];
        v[k] -= taken;
    }
}

}  // namespace

SlidingSet::SlidingSet(Index rank, Index room) : rank_(rank) {
    const Index boundaries = room < 0 ? rank : std::min(rank, room);
    boundaries_.reserve(boundaries);
    q_.reserve(boundaries * rank);
    r_.reserve(boundaries * (boundaries + 1) / 2);
}

void SlidingSet::clear() noexcept {
    boundaries_.clear();
    dependent_.clear();
    q_.clear();
    r_.clear();
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
        for (int i = 0; i < h; ++i) {
            const double part = dot(row(i), q, rank_);
            column[i] += part;
            for (Index k = 0; k < rank_; ++k) q[k] -= part * row(i)[k];
        }
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
    clear();
    for (const int boundary : boundaries)
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
    int i = 0;
    for (; i + kTogether <= size(); i += kTogether) take_rows<kTogether>(row(i), rank_, v);
    for (; i < size(); ++i) take_rows<1>(row(i), rank_, v);
}

/// Twice is enough (Kahan, Parlett).
void SlidingSet::project_fully(double* v) const noexcept {
    project(v);
    project(v);
}

void SlidingSet::project(double* v, double* coordinates) const noexcept {
    for (int i = 0; i < size(); ++i) {
        const double* q = row(i);
        const double part = dot(q, v, rank_);
        coordinates[i] = part;
        for (Index k = 0; k < rank_; ++k) v[k] -= part * q[k];
    }
}

void SlidingSet::multipliers(const double* coordinates, double* beta) const noexcept {
    for (int i = size() - 1; i >= 0; --i) {
        double value = -coordinates[i];
        for (int h = i + 1; h < size(); ++h) value -= r_[h * (h + 1) / 2 + i] * beta[h];
        beta[i] = value / r_[i * (i + 1) / 2 + i];
    }
}

/// The lengths of the rows of R⁻¹, from its columns.
void SlidingSet::condition(double* most, double* column) const noexcept {
    std::fill_n(most, size(), 0.0);
    for (int j = 0; j < size(); ++j) {
        for (int i = j; i >= 0; --i) {
            double value = i == j ? 1.0 : 0.0;
            for (int h = i + 1; h <= j; ++h) value -= r_[h * (h + 1) / 2 + i] * column[h];
            column[i] = value / r_[i * (i + 1) / 2 + i];
            most[i] += column[i] * column[i];
        }
    }
    for (int i = 0; i < size(); ++i) most[i] = std::sqrt(most[i]);
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
    condition(work, work + size());
    double least = 1.0;
    for (int i = 0; i < size(); ++i) least = std::min(least, 1.0 / work[i]);
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
