#include "reluflow/transition.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

namespace {

/// Multipliers this close to the ends of [0, 1] are at the end: the rounding of a small solve.
constexpr double kBoxTol = 1e-12;
/// Passes of the active-set method per wall before it is given up; it needs one or two.
constexpr int kPassesPerWall = 12;

/// Stands for the angle of a zero gradient; larger than any angle.
constexpr double kNowhere = 10.0;

/// A wall without a kink: what its samples add is the same on both sides, to rounding.
bool is_smooth(const Corner& corner, int wall) noexcept {
    return std::abs(corner.range[wall]) <= corner.rate_tol;
}

/// A wall that a neuron on it leaves on either side; a range below the rounding is no kink at all.
bool is_ridge(const Corner& corner, int wall) noexcept {
    return corner.output * corner.range[wall] > corner.rate_tol;
}

}  // namespace

void Corner::resize(int size) {
    walls.resize(size);
    before.resize(size);
    products.resize(size * size);
    rest.resize(size);
    base.resize(size);
    range.resize(size);
}

void TransitionSolver::reserve(int walls) {
    mode_.reserve(walls);
    ridges_.reserve(walls);
    free_.reserve(walls);
    for (auto* numbers : {&mu_, &target_, &c_, &rates_, &right_}) numbers->reserve(walls);
    factor_.reserve(walls * walls);
    found_.resize(1);
    found_.front().reserve(walls);
}

bool TransitionSolver::is_dependent(const Corner& corner) {
    // Cholesky of the Gram matrix: a pivot is the squared part of a normal outside the span of those before it.
    const int k = corner.size();
    factor_.assign(k * k, 0.0);
    for (int j = 0; j < k; ++j) {
        double pivot = corner.gram(j, j);
        for (int i = 0; i < j; ++i) pivot -= factor_[j * k + i] * factor_[j * k + i];
        // A Gram pivot carries 1e-16 of rounding, so a normal's own part is only seen down to 1e-8.
        if (pivot < 1e-14) return true;
        factor_[j * k + j] = std::sqrt(pivot);
        for (int row = j + 1; row < k; ++row) {
            double value = corner.gram(row, j);
            for (int i = 0; i < j; ++i) value -= factor_[row * k + i] * factor_[j * k + i];
            factor_[row * k + j] = value / factor_[j * k + j];
        }
    }
    return false;
}

void TransitionSolver::update_rates(const Corner& corner) {
    const int k = corner.size();
    for (int w = 0; w < k; ++w) c_[w] = corner.base[w] + mu_[w] * corner.range[w];
    for (int w = 0; w < k; ++w) {
        double rate = corner.rest[w];
        for (int other = 0; other < k; ++other) rate += corner.gram(w, other) * c_[other];
        rates_[w] = rate;
    }
}

/// Unknown c of the free and pinned walls with zero rate there, the others fixed; false when the walls are dependent.
bool TransitionSolver::solve_free(const Corner& corner) {
    free_.clear();
    for (int w = 0; w < corner.size(); ++w)
        if (mode_[w] == Mode::free || mode_[w] == Mode::pinned) free_.push_back(w);
    const int k = static_cast<int>(free_.size());
    factor_.assign(k * k, 0.0);
    right_.assign(k, 0.0);
    for (int i = 0; i < k; ++i) {
        double value = -corner.rest[free_[i]];
        for (int w = 0; w < corner.size(); ++w)
            if (mode_[w] == Mode::lower || mode_[w] == Mode::upper) value -= corner.gram(free_[i], w) * c_[w];
        for (int j = 0; j < i; ++j) {
            double entry = corner.gram(free_[i], free_[j]);
            for (int l = 0; l < j; ++l) entry -= factor_[i * k + l] * factor_[j * k + l];
            factor_[i * k + j] = entry / factor_[j * k + j];
            value -= factor_[i * k + j] * right_[j];
        }
        double pivot = corner.gram(free_[i], free_[i]);
        for (int j = 0; j < i; ++j) pivot -= factor_[i * k + j] * factor_[i * k + j];
        if (pivot < 1e-14) return false;
        factor_[i * k + i] = std::sqrt(pivot);
        right_[i] = value / factor_[i * k + i];
    }
    target_ = mu_;
    for (int i = k - 1; i >= 0; --i) {
        double value = right_[i];
        for (int j = i + 1; j < k; ++j) value -= factor_[j * k + i] * right_[j];
        right_[i] = value / factor_[i * k + i];
        const int w = free_[i];
        target_[w] = (right_[i] - corner.base[w]) / corner.range[w];
    }
    return true;
}

/// Least-norm element of the subdifferential over the valley walls, the ridge walls fixed or pinned (bounded least
/// squares).
bool TransitionSolver::solve_boxed(const Corner& corner) {
    const int k = corner.size();
    for (int pass = 0; pass < kPassesPerWall * (k + 1); ++pass) {
        update_rates(corner);
        if (!solve_free(corner)) return false;
        double fraction = 1.0;
        int blocking = -1;
        for (const int w : free_) {
            if (mode_[w] == Mode::pinned) continue;
            const double step = target_[w] - mu_[w];
            const double room = step > 0.0 ? 1.0 - mu_[w] : mu_[w];
            if (std::abs(step) > room && room / std::abs(step) < fraction) {
                fraction = room / std::abs(step);
                blocking = w;
            }
        }
        for (const int w : free_) mu_[w] += (mode_[w] == Mode::pinned ? 1.0 : fraction) * (target_[w] - mu_[w]);
        if (blocking >= 0) {
            const bool up = target_[blocking] > mu_[blocking];
            mode_[blocking] = up ? Mode::upper : Mode::lower;
            mu_[blocking] = up ? 1.0 : 0.0;
            continue;
        }
        update_rates(corner);
        int worst = -1;
        double violation = corner.rate_tol;
        for (int w = 0; w < k; ++w) {
            if (is_ridge(corner, w)) continue;
            const double rate = corner.output > 0.0 ? rates_[w] : -rates_[w];
            const double excess = mode_[w] == Mode::lower ? rate : (mode_[w] == Mode::upper ? -rate : 0.0);
            if (excess > violation) {
                violation = excess;
                worst = w;
            }
        }
        if (worst < 0) return true;
        if (is_smooth(corner, worst)) {  // both sides move alike
            mode_[worst] = mode_[worst] == Mode::lower ? Mode::upper : Mode::lower;
            mu_[worst] = 1.0 - mu_[worst];
        } else {
            mode_[worst] = Mode::free;
        }
    }
    return false;
}

void TransitionSolver::accept_if_consistent(const Corner& corner) {
    for (const int w : ridges_) {
        const double rate = corner.output > 0.0 ? rates_[w] : -rates_[w];
        if (mode_[w] == Mode::pinned && (mu_[w] < -kBoxTol || mu_[w] > 1.0 + kBoxTol)) return;
        if (mode_[w] == Mode::upper && rate <= corner.rate_tol) return;
        if (mode_[w] == Mode::lower && rate >= -corner.rate_tol) return;
    }
    add_found(corner);
}

void TransitionSolver::add_found(const Corner& corner) {
    if (found_count_ == found_.size()) found_.emplace_back();
    Sides& next = found_[found_count_];
    next.resize(corner.size());
    for (int w = 0; w < corner.size(); ++w) {
        const double rate = corner.output > 0.0 ? rates_[w] : -rates_[w];
        const bool solved = mode_[w] == Mode::free || mode_[w] == Mode::pinned;
        const bool zero = solved || std::abs(rate) <= corner.rate_tol;
        const std::int8_t sign = zero ? (mode_[w] == Mode::upper ? 1 : -1) : (rate > 0.0 ? 1 : -1);
        // Among independent walls a multiplier at the end of its box is still a multiplier.
        const bool leans = zero && !solved && dependent_;
        next[w] = leans ? static_cast<std::int8_t>(kLeaning * sign) : (zero ? std::int8_t{0} : sign);
    }
    const auto known = found_.begin() + static_cast<std::ptrdiff_t>(found_count_);
    if (std::find(found_.begin(), known, next) == known) ++found_count_;
}

void TransitionSolver::enumerate_ridges(const Corner& corner) {
    const int k = corner.size();
    int cases = 1;
    for (std::size_t i = 0; i < ridges_.size(); ++i) cases *= 3;
    for (int number = 0; number < cases; ++number) {
        for (int w = 0; w < k; ++w) {
            // Dependent walls cannot all be free at once: they start at a bound and become free one by one.
            // So do walls without a kink, whose multiplier has no effect.
            const bool free = corner.before[w] == 0 && !dependent_ && !is_smooth(corner, w);
            mode_[w] = corner.before[w] > 0 ? Mode::upper : (free ? Mode::free : Mode::lower);
            mu_[w] = corner.before[w] > 0 ? 1.0 : (free ? 0.5 : 0.0);
        }
        int digits = number;
        for (const int w : ridges_) {
            constexpr Mode choices[3] = {Mode::upper, Mode::lower, Mode::pinned};
            mode_[w] = choices[digits % 3];
            mu_[w] = mode_[w] == Mode::upper ? 1.0 : 0.0;
            digits /= 3;
        }
        if (solve_boxed(corner)) accept_if_consistent(corner);
    }
}

/// Walls through one point of a plane: every direction out of the corner lies in one of its sectors or on one of its
/// rays.
void TransitionSolver::enumerate_plane(const Corner& corner) {
    const int k = corner.size();
    plane_x_.resize(k);
    plane_y_.resize(k);
    plane_x_[0] = 1.0;
    plane_y_[0] = 0.0;
    int second = 1;
    while (second < k && 1.0 - corner.gram(0, second) * corner.gram(0, second) < 1e-12) ++second;
    if (second == k) return;
    const double cosine = corner.gram(0, second);
    const double sine = std::sqrt(1.0 - cosine * cosine);
    for (int w = 1; w < k; ++w) {
        plane_x_[w] = corner.gram(0, w);
        plane_y_[w] = (corner.gram(second, w) - cosine * corner.gram(0, w)) / sine;
        if (std::abs(plane_x_[w] * plane_x_[w] + plane_y_[w] * plane_y_[w] - 1.0) > 1e-10) return;  // not a plane
    }
    rays_.clear();
    for (int w = 0; w < k; ++w)
        for (const int sign : {1, -1}) rays_.emplace_back(std::atan2(sign * plane_x_[w], -sign * plane_y_[w]), w);
    std::sort(rays_.begin(), rays_.end());
    directions_.clear();
    for (std::size_t i = 0; i < rays_.size(); ++i) {
        const double here = rays_[i].first;
        const double next = i + 1 < rays_.size() ? rays_[i + 1].first : rays_[0].first + 2.0 * M_PI;
        try_plane_direction(corner, std::cos(here), std::sin(here), rays_[i].second);
        const double middle = 0.5 * (here + next);
        try_plane_direction(corner, std::cos(middle), std::sin(middle), -1);
        // The sector's gradient in the plane: e_0 and the part of e_second across it are the axes.
        directions_.push_back(std::atan2((rates_[second] - cosine * rates_[0]) / sine, rates_[0]));
        if (std::hypot(rates_[second], rates_[0]) <= corner.rate_tol) directions_.back() = kNowhere;
    }
    if (!surrounds_zero()) return;
    std::fill(mode_.begin(), mode_.end(), Mode::pinned);
    std::fill(rates_.begin(), rates_.end(), 0.0);
    add_found(corner);
}

/// True when zero is in the hull of the sectors' gradients: staying at the corner is a solution too.
bool TransitionSolver::surrounds_zero() {
    std::sort(directions_.begin(), directions_.end());
    if (directions_.empty() || directions_.back() == kNowhere) return true;
    double gap = directions_.front() + 2.0 * M_PI - directions_.back();
    for (std::size_t i = 1; i < directions_.size(); ++i) gap = std::max(gap, directions_[i] - directions_[i - 1]);
    return gap <= M_PI;
}

void TransitionSolver::try_plane_direction(const Corner& corner, double x, double y, int on_wall) {
    for (int w = 0; w < corner.size(); ++w) {
        const bool positive = plane_x_[w] * x + plane_y_[w] * y > 0.0;
        mode_[w] = w == on_wall ? Mode::pinned : (positive ? Mode::upper : Mode::lower);
        mu_[w] = positive ? 1.0 : 0.0;
    }
    update_rates(corner);
    if (!solve_free(corner)) return;
    mu_ = target_;
    update_rates(corner);
    for (int w = 0; w < corner.size(); ++w) {
        const double rate = corner.output > 0.0 ? rates_[w] : -rates_[w];
        if (w == on_wall ? (mu_[w] < 0.0 || mu_[w] > 1.0)
                         : (mode_[w] == Mode::upper ? rate <= corner.rate_tol : rate >= -corner.rate_tol))
            return;
    }
    add_found(corner);
}

Verdict TransitionSolver::decide(const Corner& corner) {
    const int k = corner.size();
    found_count_ = 0;
    mode_.assign(k, Mode::lower);
    mu_.assign(k, 0.0);
    c_.resize(k);
    rates_.resize(k);
    ridges_.clear();
    for (int w = 0; w < k; ++w)
        if (is_ridge(corner, w)) ridges_.push_back(w);
    dependent_ = is_dependent(corner);
    if (dependent_ && !ridges_.empty())
        enumerate_plane(corner);
    else if (static_cast<int>(ridges_.size()) <= kMaxRidges)
        enumerate_ridges(corner);
    if (found_count_ == 0) return Verdict::undecided;
    return found_count_ == 1 ? Verdict::unique : Verdict::branching;
}

int TransitionSolver::choose(BranchPolicy policy) const noexcept {
    // The policy's word decides wall by wall; among equals the first found wins.
    int best = 0;
    int best_score = -1;
    for (int i = 0; i < static_cast<int>(found_count_); ++i) {
        int score = 0;
        const Sides& sides = found_[i];
        // A neuron that stays where dependent walls meet can be followed no further: only if asked for.
        const bool stays = std::all_of(sides.begin(), sides.end(), [](std::int8_t side) { return is_zero(side); });
        if (dependent_ && stays && policy != BranchPolicy::stay && found_count_ > 1) continue;
        for (const auto side : sides) {
            if (policy == BranchPolicy::inactive) score += side < 0 ? 2 : (side == 0 ? 1 : 0);
            if (policy == BranchPolicy::active) score += side > 0 ? 2 : (side == 0 ? 1 : 0);
            if (policy == BranchPolicy::stay) score += side == 0 ? 2 : 0;
        }
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

}  // namespace reluflow
