#include "numeric/box_least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"
#include "numeric/orthonormal.hpp"

namespace reluflow {

namespace {

/// Bound of the passes per vector; one or two are usual.
constexpr int kPassesPerVector = 12;

double dot(const double* a, const double* b, int n) noexcept {
    return Eigen::Map<const Vector>(a, n).dot(Eigen::Map<const Vector>(b, n));
}

}  // namespace

void BoxLeastSquares::resize(int count, int rank) {
    count_ = count;
    rank_ = rank;
    vectors_.resize(static_cast<std::size_t>(count * rank));
    offset_.resize(rank);
    residual_.resize(rank);
    left_.resize(rank);
    column_.resize(rank);
    for (auto* numbers : {&low_, &high_, &c_, &target_}) numbers->resize(count);
    place_.assign(count, Place::low);
    barred_.assign(count, 0);
}

void BoxLeastSquares::reserve(int count, int rank) {
    resize(count, rank);
    inside_.reserve(rank);
    others_.reserve(rank);
    q_.reserve(static_cast<std::size_t>((rank + 1) * rank));
    r_.reserve(static_cast<std::size_t>((rank + 1) * (rank + 2) / 2));
}

double BoxLeastSquares::rate(int w) const noexcept {
    return dot(residual_.data(), vector(w), rank_);
}

/// Adds a vector to the factors of those inside (Gram-Schmidt, twice). False, and nothing changed, if it depends on
/// them.
bool BoxLeastSquares::add_inside(int w) {
    const auto h = static_cast<int>(inside_.size());
    if (h >= rank_) return false;
    q_.resize(static_cast<std::size_t>((h + 1) * rank_));
    r_.resize(static_cast<std::size_t>((h + 1) * (h + 2) / 2));
    double* q = q_.data() + h * rank_;
    double* column = r_.data() + h * (h + 1) / 2;
    std::copy_n(vector(w), rank_, q);
    std::fill_n(column, h + 1, 0.0);
    for (int pass = 0; pass < 2; ++pass) take_out(q_.data(), h, rank_, q, column);
    column[h] = std::sqrt(dot(q, q, rank_));
    if (column[h] < kRankTol) return false;
    for (int k = 0; k < rank_; ++k) q[k] /= column[h];
    inside_.push_back(w);
    return true;
}

/// Factors the set inside anew; what depends on the others goes to an end of its interval. Free vectors come first:
/// what takes the place of one must never end.
void BoxLeastSquares::keep_independent() {
    inside_.clear();
    for (const bool is_free : {true, false})
        for (int w = 0; w < count_; ++w) {
            if (place_[w] != Place::inside || std::isinf(low_[w]) != is_free || add_inside(w)) continue;
            if (is_free) low_[w] = high_[w] = 0.0;  // other free ones do for it what it could do
            place_[w] = std::abs(low_[w]) <= std::abs(high_[w]) ? Place::low : Place::high;
        }
}

/// Computes the residual with the coefficients inside free, and these coefficients as target_.
void BoxLeastSquares::refit() {
    std::copy(offset_.begin(), offset_.end(), residual_.begin());
    double size = weight_;
    for (int w = 0; w < count_; ++w) {
        if (place_[w] == Place::inside) continue;
        c_[w] = place_[w] == Place::low ? low_[w] : high_[w];
        if (c_[w] == 0.0) continue;
        size += std::abs(c_[w]);
        for (int k = 0; k < rank_; ++k) residual_[k] += c_[w] * vector(w)[k];
    }
    const auto count = static_cast<int>(inside_.size());
    for (int i = 0; i < count; ++i) target_[inside_[i]] = 0.0;
    for (int pass = 0; pass < 2; ++pass) {
        take_out_of_each(q_.data(), count, rank_, 1, residual_.data(), column_.data());
        solve_triangle(r_.data(), count, column_.data());
        for (int i = 0; i < count; ++i) target_[inside_[i]] -= column_[i];
    }
    for (const int w : inside_) size += std::abs(target_[w]);
    tolerance_ = kCornerUlps * std::numeric_limits<double>::epsilon() * size;
}

/// Makes the start feasible: coefficients that would leave their interval are fixed at that end, until none would.
void BoxLeastSquares::clip() {
    for (bool clipped = true; clipped;) {
        clipped = false;
        keep_independent();
        refit();
        for (const int w : inside_) {
            if (target_[w] >= low_[w] && target_[w] <= high_[w]) continue;
            place_[w] = target_[w] < low_[w] ? Place::low : Place::high;
            clipped = true;
        }
    }
    for (const int w : inside_) c_[w] = target_[w];
}

/// The vector at an end of its interval along which the residual would shrink fastest; -1 when there is none.
int BoxLeastSquares::worst() const noexcept {
    int found = -1;
    double violation = tolerance_;
    for (int w = 0; w < count_; ++w) {
        if (place_[w] == Place::inside || barred_[w] || low_[w] == high_[w]) continue;
        const double excess = place_[w] == Place::low ? -rate(w) : rate(w);
        if (excess <= violation) continue;
        violation = excess;
        found = w;
    }
    return found;
}

/// Frees c_w and moves towards the optimum; a coefficient that reaches an end on the way is fixed there. False when c_w
/// cannot move at all, or those inside would depend on each other with it: they do for it what it could do, and to put
/// one of them to an end instead would be a step back.
bool BoxLeastSquares::admit(int w) {
    others_.assign(inside_.begin(), inside_.end());
    const Place from = place_[w];
    place_[w] = Place::inside;
    keep_independent();
    if (inside_.size() <= others_.size()) {
        for (const int v : others_) place_[v] = Place::inside;
        place_[w] = from;
        keep_independent();
        return false;
    }
    while (true) {
        refit();
        double fraction = 1.0;
        int blocking = -1;
        for (const int v : inside_) {
            const double way = target_[v] - c_[v];
            const double room = way > 0.0 ? high_[v] - c_[v] : c_[v] - low_[v];  // never negative: c_ is clamped
            if (std::abs(way) > room && room / std::abs(way) < fraction) {
                fraction = room / std::abs(way);
                blocking = v;
            }
        }
        if (blocking < 0) break;
        const bool up = target_[blocking] > c_[blocking];
        for (const int v : inside_) c_[v] = std::clamp(c_[v] + fraction * (target_[v] - c_[v]), low_[v], high_[v]);
        place_[blocking] = up ? Place::high : Place::low;
        keep_independent();
        if (blocking == w && fraction == 0.0) {
            refit();
            return false;
        }
    }
    // What takes exactly its room may end beyond it by rounding.
    for (const int v : inside_) c_[v] = std::clamp(target_[v], low_[v], high_[v]);
    return true;
}

/// Of the vectors at an end whose rate is within tolerance() the one along which the residual would shrink fastest in
/// the part that those inside leave of it. The residual is at right angles to these, so a rate is known to that part of
/// the tolerance: beside one inside, at a small angle, it tells which of the two has to be there.
int BoxLeastSquares::worst_beside() {
    const auto inside = inside_.size();
    const double unit = kCornerUlps * std::numeric_limits<double>::epsilon() * length();
    int found = -1;
    double violation = tolerance_;
    for (int w = 0; w < count_ && inside > 0; ++w) {
        if (place_[w] == Place::inside || barred_[w] || low_[w] == high_[w]) continue;
        const double excess = place_[w] == Place::low ? -rate(w) : rate(w);
        if (excess <= unit || excess <= kRankTol * violation || !add_inside(w)) continue;
        const double outside = last_outside();
        inside_.resize(inside);
        if (excess <= unit + outside * violation) continue;
        violation = (excess - unit) / outside;
        found = w;
    }
    return found;
}

double BoxLeastSquares::length() const noexcept {
    return std::sqrt(dot(residual_.data(), residual_.data(), rank_));
}

double BoxLeastSquares::last_outside() const noexcept {
    const std::size_t h = inside_.size() - 1;
    return r_[h * (h + 3) / 2];
}

void BoxLeastSquares::signs(std::int8_t* signs) {
    for (int w = 0; w < count_; ++w) {
        const double along = rate(w);
        signs[w] = std::abs(along) <= tolerance_ ? 0 : (along > 0.0 ? 1 : -1);
    }
    if (length() <= tolerance_) return;
    const auto inside = inside_.size();
    const double unit = kCornerUlps * std::numeric_limits<double>::epsilon() * length();
    left_ = residual_;
    for (int w = 0; w < count_; ++w) {
        if (signs[w] != 0 || place_[w] == Place::inside || !add_inside(w)) continue;
        const double* q = q_.data() + (inside_.size() - 1) * static_cast<std::size_t>(rank_);
        const double part = dot(q, left_.data(), rank_);
        if (std::abs(part) <= tolerance_ + unit / last_outside()) {
            for (int k = 0; k < rank_; ++k) left_[k] -= part * q[k];
        } else {
            signs[w] = part > 0.0 ? 1 : -1;
            inside_.pop_back();
        }
    }
    inside_.resize(inside);
}

bool BoxLeastSquares::solve(double weight) {
    weight_ = weight;
    std::fill(barred_.begin(), barred_.end(), char{0});
    clip();
    int beside = 0;
    for (int pass = 0; pass < kPassesPerVector * (count_ + 1); ++pass) {
        int next = worst();
        if (next < 0 && beside++ < count_) next = worst_beside();
        if (next < 0) return true;
        if (admit(next))
            std::fill(barred_.begin(), barred_.end(), char{0});
        else
            barred_[next] = 1;
    }
    return false;
}

double BoxLeastSquares::split(int w, double* coefficients) const {
    std::copy_n(vector(w), rank_, column_.begin());
    const auto count = static_cast<int>(inside_.size());
    take_out_of_each(q_.data(), count, rank_, 1, column_.data(), coefficients);
    solve_triangle(r_.data(), count, coefficients);
    return std::sqrt(dot(column_.data(), column_.data(), rank_));
}

}  // namespace reluflow
