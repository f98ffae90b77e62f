#include "layered/local_form.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "layered/sign_bounds.hpp"

namespace reluflow::layered {
namespace {

/// A row below this part of its terms is their rounding.
constexpr double kNoRow = 1e-10;
/// Rows that differ by less than this part of one are equal.
constexpr double kEqual = 1e-14;

/// Whether one is t times the other, to rounding.
template <class One, class Other>
bool is_multiple(const One& one, double t, const Other& other, double size) {
    for (Index k = 0; k < one.size(); ++k)
        if (!(std::abs(one[k] - t * other[k]) <= kEqual * size)) return false;
    return true;
}

}  // namespace

LocalForm::LocalForm(const LocalModel& model, std::vector<int> groups, std::vector<Rest> rests)
    : normals(model.normals()), velocity(model.velocity()), group(std::move(groups)), rest(std::move(rests)) {
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
    hidden = model.velocity_error();
    for (int a = 0; a < n; ++a) hidden += model.pull_error(a) * sizes[a];
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
    for (const int a : places) some.rest.push_back(rest.empty() ? Rest::never : rest[a]);
    some.scale = scale;
    some.hidden = hidden;
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

LocalForm LocalForm::in_own_span(std::vector<Vector>& basis) const {
    for (int a = 0; a < count(); ++a)
        if (!normals.row(a).isZero(0.0)) add_direction(normals.row(a).transpose(), basis);
    LocalForm own = *this;
    const auto rank = static_cast<Index>(basis.size());
    own.normals.setZero(count(), rank);
    own.velocity.setZero(rank);
    for (Index k = 0; k < rank; ++k) {
        own.normals.col(k) = normals * basis[k];
        own.velocity[k] = velocity.dot(basis[k]);
    }
    return own;
}

void LocalForm::leave_out(const std::vector<Vector>& basis) {
    take_away(basis, velocity);
    for (Index a = 0; a < normals.rows(); ++a) {
        Vector row = normals.row(a).transpose();
        const double length = row.norm();
        take_away(basis, row);
        if (row.norm() <= kDependentRow * length) row.setZero();
        normals.row(a) = row.transpose();
    }
}

double LocalForm::rounding(const Vector& d) const noexcept {
    return kActingRounding * scale + kDirectionRounding * std::hypot(d.norm(), elsewhere) + hidden / kSameDirection;
}

bool LocalForm::is_same(const Vector& one, const Vector& other) const noexcept {
    return (one - other).norm() <= kSameDirection * rounding(other);
}

std::vector<LocalForm::Joined> LocalForm::join_equal(const std::vector<char>& left_out) {
    std::vector<Joined> joined(group.size());
    Vector sizes(count());
    for (int a = 0; a < count(); ++a) {
        sizes[a] = std::hypot(normals.row(a).norm(), through_h.row(a).norm(), through_z.row(a).norm());
        for (int b = 0; b < a && left_out[a] == 0 && sizes[a] > 0.0; ++b) {
            if (left_out[b] != 0 || joined[b].with >= 0 || sizes[b] == 0.0) continue;
            if (leak[a] != leak[b] || group[a] != group[b]) continue;
            const double t = sizes[a] / sizes[b];
            if (!is_multiple(through_h.row(a), t, through_h.row(b), sizes[a])) continue;
            if (!is_multiple(through_z.row(a), t, through_z.row(b), sizes[a])) continue;
            if (!is_multiple(normals.row(a), t, normals.row(b), sizes[a])) continue;
            joined[a] = {b, t};
            beta[b] += t * beta[a];
            gamma[b] += t * gamma[a];
            through_h.col(b) += t * through_h.col(a);
            through_z.col(b) += t * through_z.col(a);
            through_h.col(a).setZero();
            through_z.col(a).setZero();
            break;
        }
    }
    return joined;
}

std::vector<int> certain_signs(const LocalForm& form, const std::vector<int>& open) {
    std::vector<std::uint8_t> options(open.size(), kAnything);
    std::vector<int> sides(open.size(), 0);
    if (!SignBounds(form, open).follow(options)) return sides;  // by rounding
    for (std::size_t k = 0; k < open.size(); ++k) sides[k] = options[k] == kUp ? 1 : options[k] == kDown ? -1 : 0;
    return sides;
}

void take_away(const std::vector<Vector>& basis, Vector& v) {
    for (int pass = 0; pass < 2; ++pass)
        for (const Vector& e : basis) v -= v.dot(e) * e;
}

bool add_direction(const Vector& row, std::vector<Vector>& basis) {
    Vector rest = row.normalized();
    take_away(basis, rest);
    if (rest.norm() <= kDependentRow) return false;
    basis.push_back(rest.normalized());
    return true;
}

}  // namespace reluflow::layered
