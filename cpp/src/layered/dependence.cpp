#include "layered/dependence.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "numeric/decompositions.hpp"

namespace reluflow::layered {
namespace {

/// The sine below which a normal is in the span of others.
constexpr double kDependent = 1e-10;
/// Rays, or faces, of one arrangement at most.
constexpr std::size_t kMaxRays = 2000;

void take_ray(const Eigen::MatrixXd& normals, const std::vector<Index>& chosen,
              std::vector<Eigen::RowVectorXd>& found) {
    Eigen::MatrixXd rows(static_cast<Index>(chosen.size()), normals.rows());
    for (std::size_t k = 0; k < chosen.size(); ++k)
        rows.row(static_cast<Index>(k)) = normals.col(chosen[k]).normalized();
    const Eigen::MatrixXd kernel =
        chosen.empty() ? Eigen::MatrixXd::Identity(normals.rows(), normals.rows()) : null_space(rows, kDependent);
    if (kernel.cols() != 1) return;
    Eigen::RowVectorXd ray = kernel.col(0).transpose() * normals;
    for (Index k = 0; k < ray.size(); ++k)
        if (std::abs(ray[k]) < kDependent * normals.col(k).norm()) ray[k] = 0.0;
    for (const Eigen::RowVectorXd& other : found)
        if ((other - ray).norm() < kDependent * ray.norm() || (other + ray).norm() < kDependent * ray.norm()) return;
    found.push_back(ray);
    found.emplace_back(-ray);
}

// All choices of `count` columns from `first` on.
void choose(const Eigen::MatrixXd& normals, Index first, Index count, std::vector<Index>& chosen,
            std::vector<Eigen::RowVectorXd>& found) {
    if (found.size() > kMaxRays) return;
    if (count == 0) return take_ray(normals, chosen, found);
    for (Index k = first; k + count <= normals.cols(); ++k) {
        chosen.push_back(k);
        choose(normals, k + 1, count - 1, chosen, found);
        chosen.pop_back();
    }
}

}  // namespace

Vector SpannedRows::rest(const Vector& row) const {
    Vector left = row.normalized();
    for (int round = 0; round < 2; ++round)
        for (const Vector& e : basis_) left -= left.dot(e) * e;
    return left;
}

bool SpannedRows::contains(const Vector& row) const {
    return row.norm() == 0.0 || rest(row).norm() < dependent_;
}

bool SpannedRows::add(const Vector& row) {
    if (contains(row)) return false;
    basis_.push_back(rest(row).normalized());
    return true;
}

std::vector<Eigen::RowVectorXd> rays_of(const Eigen::MatrixXd& normals) {
    std::vector<Eigen::RowVectorXd> found;
    std::vector<Index> chosen;
    choose(normals, 0, normals.rows() - 1, chosen, found);
    if (found.size() > kMaxRays) found.clear();
    return found;
}

// Every face is the composition of its rays.
std::vector<std::vector<int>> sign_vectors(const Eigen::MatrixXd& normals) {
    const auto count = static_cast<std::size_t>(normals.cols());
    std::set<std::vector<int>> known{std::vector<int>(count, 0)};
    std::vector<std::vector<int>> open{std::vector<int>(count, 0)};
    const std::vector<Eigen::RowVectorXd> rays = rays_of(normals);
    if (rays.empty()) return {};
    while (!open.empty()) {
        const std::vector<int> signs = open.back();
        open.pop_back();
        for (const Eigen::RowVectorXd& ray : rays) {
            std::vector<int> next = signs;
            for (std::size_t k = 0; k < count; ++k)
                if (next[k] == 0) next[k] = (ray[static_cast<Index>(k)] > 0.0) - (ray[static_cast<Index>(k)] < 0.0);
            if (known.insert(next).second) open.push_back(next);
        }
        if (known.size() > kMaxRays) return {};
    }
    return {known.begin(), known.end()};
}

Vector normal_of(const Activity& activity, const Boundary& boundary) {
    const Place& p = boundary.members.front();
    const bool stands_alone = boundary.inputs.empty();
    const int turn = stands_alone ? 1 : activity.input_sign(p, boundary.inputs.front());
    return turn * activity.row_of(p);
}

std::vector<SlidingGroup> sliding_groups(const Activity& activity) {
    std::vector<SlidingGroup> found;
    const std::vector<Boundary>& all = activity.sliding();
    std::vector<char> seen(all.size(), 0);
    for (std::size_t b = 0; b < all.size(); ++b) {
        const std::uint64_t form = activity.form_of(all[b].members.front());
        if (form == 0 || seen[b] != 0) continue;
        SlidingGroup group;
        std::vector<Vector> normals;
        SpannedRows span;
        bool depends = false;
        for (std::size_t c = b; c < all.size(); ++c) {
            if (activity.form_of(all[c].members.front()) != form) continue;
            seen[c] = 1;
            group.boundaries.push_back(static_cast<int>(c));
            normals.push_back(normal_of(activity, all[c]));
            group.is_spanned.push_back(span.add(normals.back()) ? 0 : 1);
            depends = depends || group.is_spanned.back() != 0;
        }
        if (!depends) continue;
        if (span.rank() == 0) {  // what nothing moves leaves along no ray
            found.push_back(std::move(group));
            continue;
        }
        // In coordinates of the independent ones, so that a_k of those is what their multiplier counts.
        Eigen::MatrixXd basis(normals.front().size(), span.rank());
        Index rank = 0;
        for (std::size_t k = 0; k < normals.size(); ++k)
            if (group.is_spanned[k] == 0) basis.col(rank++) = normals[k];
        Eigen::MatrixXd coordinates(rank, static_cast<Index>(normals.size()));
        for (std::size_t k = 0; k < normals.size(); ++k)
            coordinates.col(static_cast<Index>(k)) = least_squares(basis, normals[k]);
        group.rays = rays_of(coordinates);
        if (!group.rays.empty()) found.push_back(std::move(group));
    }
    return found;
}

}  // namespace reluflow::layered
