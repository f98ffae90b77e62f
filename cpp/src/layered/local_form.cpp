#include "layered/local_form.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace reluflow::layered {
namespace {

/// A row below this part of its terms is their rounding.
constexpr double kNoRow = 1e-10;
/// A rate above this part of its terms has a sign.
constexpr double kSure = 1e-9;

struct Bounds {
    double low = 0.0;
    double high = 0.0;

    void add(double factor, const Bounds& other) noexcept {
        low += factor * (factor > 0.0 ? other.low : other.high);
        high += factor * (factor > 0.0 ? other.high : other.low);
    }
    double size() const noexcept { return std::max(std::abs(low), std::abs(high)); }
};

/// What multipliers and rates can be in any critical point.
class AllBounds {
  public:
    AllBounds(const LocalForm& form, const std::vector<int>& open)
        : form_(form), open_(open), sides_(open.size(), 0), pulls_(open.size()), rates_(open.size()) {
        Matrix rows(static_cast<Index>(open.size()), form.normals.cols());
        for (std::size_t k = 0; k < open.size(); ++k) rows.row(static_cast<Index>(k)) = form.normals.row(open[k]);
        gram_ = rows * rows.transpose();
        at_rest_ = rows * form.velocity;
        size_ = rows.rowwise().norm() * form.velocity.norm();
    }

    /// True if more signs are known than before.
    bool tighten() {
        pull();
        bool any = false;
        for (std::size_t k = 0; k < open_.size(); ++k) any = move(k) || any;
        return any;
    }
    const std::vector<int>& sides() const noexcept { return sides_; }

  private:
    // A critical point is a mean of gradients, each with slopes of its own.
    void pull() {
        for (std::size_t k = open_.size(); k-- > 0;) {
            const int a = open_[k];
            Bounds above{form_.beta[a], form_.beta[a]};
            Bounds skip{form_.gamma[a], form_.gamma[a]};
            for (std::size_t c = k + 1; c < open_.size(); ++c) {
                above.add(form_.through_h(open_[c], a), pulls_[c]);
                skip.add(form_.through_z(open_[c], a), pulls_[c]);
            }
            const double leak = form_.leak[a];
            if (sides_[k] < 0) above = {leak * above.low, leak * above.high};
            if (sides_[k] == 0)
                above = {std::min(above.low, leak * above.low), std::max(above.high, leak * above.high)};
            pulls_[k] = {above.low + skip.low, above.high + skip.high};
        }
    }

    bool move(std::size_t k) {
        const int a = open_[k];
        Bounds rate{at_rest_[static_cast<Index>(k)], at_rest_[static_cast<Index>(k)]};
        double size = size_[static_cast<Index>(k)];
        const auto add = [&](double factor, const Bounds& other) {
            rate.add(factor, other);
            size += std::abs(factor) * other.size();
        };
        for (std::size_t c = 0; c < open_.size(); ++c)
            add(gram_(static_cast<Index>(k), static_cast<Index>(c)), pulls_[c]);
        for (std::size_t b = 0; b < k; ++b) {
            const double leak = form_.leak[open_[b]];
            const auto psi = [&](double x) { return x > 0.0 ? x : leak * x; };
            add(form_.through_h(a, open_[b]), {psi(rates_[b].low), psi(rates_[b].high)});
            add(form_.through_z(a, open_[b]), rates_[b]);
        }
        rates_[k] = rate;
        if (sides_[k] != 0) return false;
        if (rate.low > kSure * size) sides_[k] = 1;
        if (rate.high < -kSure * size) sides_[k] = -1;
        return sides_[k] != 0;
    }

    const LocalForm& form_;
    const std::vector<int>& open_;
    std::vector<int> sides_;
    std::vector<Bounds> pulls_, rates_;
    Matrix gram_;
    Vector at_rest_, size_;
};

}  // namespace

LocalForm::LocalForm(const LocalModel& model, std::vector<int> groups)
    : normals(model.normals()), velocity(model.velocity()), group(std::move(groups)) {
    const Index n = model.count();
    through_h.setZero(n, n);
    through_z.setZero(n, n);
    beta.resize(n);
    gamma.resize(n);
    leak.resize(n);
    Vector sizes(n);
    scale = 0.0;
    double along = 0.0;
    for (int a = 0; a < n; ++a) {
        if (model.is_negligible(a, kNoRow)) normals.row(a).setZero();
        beta[a] = model.beta(a);
        gamma[a] = model.gamma(a);
        leak[a] = model.leak(a);
        // Places that read nothing but others have no normal of their own, and move with those they read.
        sizes[a] = normals.row(a).norm();
        for (int b = 0; b < a; ++b) {
            through_h(a, b) = model.through_h(a, b);
            through_z(a, b) = model.through_z(a, b);
            sizes[a] += (std::abs(through_h(a, b)) + std::abs(through_z(a, b))) * sizes[b];
        }
        scale = std::max(scale, (std::abs(beta[a]) + std::abs(gamma[a])) * sizes[a]);
        const double length = normals.row(a).norm();
        if (length > 0.0) along += std::pow(normals.row(a).dot(velocity) / length, 2);
    }
    scale = std::max(scale, std::sqrt(along));
}

void LocalForm::put_in(int a, int side) {
    const double slope = side > 0 ? 1.0 : leak[a];
    const double pull = slope * beta[a] + gamma[a];
    velocity += pull * normals.row(a).transpose();
    beta += pull * through_h.row(a).transpose();
    gamma += pull * through_z.row(a).transpose();
    for (int c = a + 1; c < count(); ++c) {
        const double passed = slope * through_h(c, a) + through_z(c, a);
        through_h(c, a) = through_z(c, a) = 0.0;
        if (passed == 0.0) continue;
        const double size = normals.row(c).norm() + std::abs(passed) * normals.row(a).norm();
        normals.row(c) += passed * normals.row(a);
        if (normals.row(c).norm() <= kNoRow * size) normals.row(c).setZero();
        through_h.row(c) += passed * through_h.row(a);
        through_z.row(c) += passed * through_z.row(a);
    }
}

LocalForm LocalForm::part(const std::vector<int>& places) const {
    LocalForm some;
    some.normals = normals(places, Eigen::all);
    some.velocity = velocity;
    some.through_h = through_h(places, places);
    some.through_z = through_z(places, places);
    some.beta = beta(places);
    some.gamma = gamma(places);
    some.leak = leak(places);
    for (const int a : places) some.group.push_back(group[a]);
    some.scale = scale;
    return some;
}

std::vector<std::vector<int>> LocalForm::blocks(const std::vector<char>& left_out) const {
    std::vector<int> name(group.size());
    std::iota(name.begin(), name.end(), 0);
    const Matrix gram = normals * normals.transpose();
    for (int a = 0; a < count(); ++a)
        for (int b = 0; b < a; ++b) {
            const auto [low, high] = std::pair(std::min(name[a], name[b]), std::max(name[a], name[b]));
            if (left_out[a] != 0 || left_out[b] != 0 || low == high) continue;
            const bool reads = through_h(a, b) != 0.0 || through_z(a, b) != 0.0;
            if (reads || gram(a, b) != 0.0 || (group[a] >= 0 && group[a] == group[b]))
                for (int& one : name) one = one == high ? low : one;
        }
    std::vector<std::vector<int>> all(group.size());
    for (int a = 0; a < count(); ++a)
        if (left_out[a] == 0) all[name[a]].push_back(a);
    std::erase_if(all, [](const std::vector<int>& one) { return one.empty(); });
    return all;
}

std::vector<int> certain_signs(const LocalForm& form, const std::vector<int>& open) {
    AllBounds bounds(form, open);
    while (bounds.tighten()) {
    }
    return bounds.sides();
}

}  // namespace reluflow::layered
