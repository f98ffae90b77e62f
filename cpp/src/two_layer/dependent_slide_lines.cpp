/// When a neuron leaves boundaries that depend on each other, by the lines in which they meet.
#include <algorithm>
#include <cmath>

#include "two_layer/dependent_slide.hpp"

namespace reluflow {

namespace {

/// Up to so many repelling boundaries their sides are few cases.
constexpr int kFewSides = 4;
/// A boundary at so small a sine to a line is along it, as in the tableau of a basis.
constexpr double kAlong = 1e-9;

}  // namespace

bool DependentSlide::has_lines() const {
    return rest_.cols() <= kMostLineDimensions && std::count(attracts_.begin(), attracts_.end(), 0) > kFewSides;
}

/// The pull along a direction is linear in it between the boundaries, so it is nowhere positive unless it is on a line
/// in which they meet (TransitionSolver::has_no_way_out). While it is not, whatever sides repelling boundaries have,
/// the attracting ones can take up the pull.
void DependentSlide::follow_lines(double end) {
    const auto count = static_cast<int>(set_.size());
    changes_.resize(count);
    for (int w = 0; w < count; ++w) {
        changes_[w] = 0.0;
        for (int k = order_; k >= 1; --k)
            changes_[w] = (changes_[w] + std::max(std::abs(below_(w, k)), std::abs(above_(w, k)))) * end;
    }
    any_line(normals_.data(), count, static_cast<int>(rest_.cols()), [&](const Direction& line) {
        follow_line(line, end);
        follow_line(-line, end);
        return false;
    });
}

/// When the pull along a direction becomes positive. Of the boundaries that are not along it the one that it is
/// steepest to stands for all: its multiplier would come to its end then.
void DependentSlide::follow_line(const Direction& way, double end) {
    const auto count = static_cast<int>(set_.size());
    const auto rank = static_cast<int>(rest_.cols());
    int steepest = 0;
    double largest = 0.0;
    Coefficients gap{};
    double change = 0.0;
    for (int k = order_; k >= 0; --k) {
        const double rest = padded(rest_.row(k).data(), rank).dot(way);
        gap[k] = -sign_ * rest;
        change = k > 0 ? (change + std::abs(rest)) * end : change;
    }
    const auto across = [&](int w) { return padded(normals_.row(w).data(), rank).dot(way); };
    for (int w = 0; w < count; ++w) {
        const double z = across(w);
        if (std::abs(z) <= kAlong) continue;
        const bool above = (z > 0.0) == takes_own_side(w);
        gap[0] -= sign_ * (above ? above_(w, 0) : below_(w, 0)) * z;
        change += changes_[w] * std::abs(z);
        if (std::abs(z) <= largest) continue;
        largest = std::abs(z);
        steepest = w;
    }
    const double known_to = noise_ * (1.0 + way.lpNorm<1>() / largest) + unknown_ / largest;
    if (!(largest > 0.0) || gap[0] > change + known_to * largest) return;
    for (int w = 0; w < count; ++w) {
        const double z = across(w);
        if (std::abs(z) <= kAlong) continue;
        const double* pull = (z > 0.0) == takes_own_side(w) ? above_.row(w).data() : below_.row(w).data();
        for (int k = 1; k <= order_; ++k) gap[k] -= sign_ * pull[k] * z;
    }
    for (int k = 0; k <= order_; ++k) gap[k] /= largest;
    const bool is_out = gap[0] < -known_to;
    const auto [root, seen, rests] = known_fall(gap, order_, known_to, end);
    if (!is_out && (root == kNoRoot || is_taken_back(motion_, piece_, gap, order_, known_to, end))) return;
    const double u = is_out ? 0.0 : root;
    if (!(u < first_.u)) return;
    const auto side = static_cast<std::int8_t>(across(steepest) > 0.0 ? 1 : -1);
    first_ = {u, set_[static_cast<std::size_t>(steepest)], side,
              is_out ? kUnknownJump : jump_on_leaving(gap, order_, root), is_out ? 0.0 : seen};
    way_out_.sides.resize(set_.size());
    for (int w = 0; w < count; ++w) {
        const double z = across(w);
        way_out_.sides[static_cast<std::size_t>(w)] =
            static_cast<std::int8_t>(std::abs(z) <= kAlong ? 0 : (z > 0.0 ? 1 : -1));
    }
}

/// In a direction the pull of a boundary is that of its side there; one that is stood on is used like an attracting
/// one.
bool DependentSlide::takes_own_side(int w) const noexcept {
    return !stands_ || rises(w) != (sign_ > 0.0);
}

}  // namespace reluflow
