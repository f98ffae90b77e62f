/// The pulls of cell_rest.cpp, all of them as unknowns of one bounded least-squares problem.
///
/// Let B_a and S_a be what arrives above a place and past it, from above downwards. As there, wherever x_a has a normal
/// of its own, or may have either sign,
///
///     B_a ψ(x) + S_a x <= π_a x     with π_a = S_a + B_a + s_a,  0 <= s_a <= -(1 - leak) B_a,
///
/// and what is kept has any π_a. A place without a normal of its own moves by what it reads alone, x_a = Σ_b t_b with
/// t_b = W_ab ψ(x_b) + G_ab x_b, and more is known of it. So it is where its normal is Σ_b c_b n_b: then n_b·d is x_b
/// without what b reads, and it reads c_b x_b and what is left of the rest. What attracts most comes first, so that the
/// normals of what may repel are those of places that hold them.
///
///     all t_b >= 0, or all <= 0:   ψ(x_a) = x_a, or leak x_a
///     it reads one place:          ψ(t_b) has one slope on each side of x_b = 0, so it is a hinge of x_b
///     B_a >= 0:                    ψ(Σ t_b) <= Σ ψ(t_b), which are such hinges
///     B_a of either sign:          B_a = u - w with u, w >= 0, as one of B_a = u and one of B_a = -w
///
/// Where a place has a side s only directions count that have it: π_a = slope B_a + S_a + λ s with λ >= 0, and ψ of
/// what reads it has one slope there.
///
/// All of B, S and π are affine in s and in the pulls of what is kept. Where they add up with the velocity to zero, the
/// loss to first order with ½|d|² is ½|d|² at the least, so that d = 0 is best. Bounds that depend on other unknowns
/// are rows of the problem, with a slack each, in units of a velocity.
#include "layered/rest_proof.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/box_least_squares.hpp"

namespace reluflow::layered {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Pulls that are so many times the forces are those of normals that depend on each other but for rounding.
constexpr double kMostTerms = 1e6;
/// A part of a normal below this is the rounding of a solve.
constexpr double kNoPart = 1e-13;
/// What is kept is at zero in a direction that moves it by less than this part of its row.
constexpr double kStands = 1e-9;

}  // namespace

RestProof::RestProof(const LocalForm& form, const std::vector<char>& kept, const std::vector<int>& sides)
    : form_(form),
      kept_(kept),
      sides_(sides),
      through_h_(form.through_h),
      through_z_(form.through_z),
      constant_(3 * form.count()),
      rank_(form.velocity.size()),
      above_(Matrix::Zero(form.count(), constant_ + 1)),
      skip_(above_),
      pull_(above_),
      spread_(above_),
      bounds_(Matrix::Zero(form.count(), constant_ + 1)),
      high_(Vector::Zero(constant_)),
      low_(high_) {
    above_.col(constant_) = form.beta;
    skip_.col(constant_) = form.gamma;
    negligible_ = kSameDirection * form.rounding(Vector::Zero(rank_));
}

bool RestProof::succeeds() {
    find_what_moves();
    find_what_stands_in();
    for (int a = form_.count() - 1; a >= 0; --a)
        if (!give_pull(a)) {
            unbounded_ = a;
            return false;
        }
    return balances();
}

double RestProof::passed(int a, int b, bool up) const {
    return (up ? 1.0 : form_.leak[b]) * through_h_(a, b) + through_z_(a, b);
}

// How long the rows of each place may be.
void RestProof::find_what_moves() {
    sizes_.setZero(form_.count());
    for (int a = 0; a < form_.count(); ++a) {
        sizes_[a] = form_.normals.row(a).norm();
        for (int b = 0; b < a; ++b)
            if (kept_[b] == 0)
                sizes_[a] += std::max(std::abs(passed(a, b, true)), std::abs(passed(a, b, false))) * sizes_[b];
    }
}

// What each place reads of what may move, with others in the place of its normal where that is in their span.
void RestProof::find_what_stands_in() {
    reads_.resize(kept_.size());
    reads_alone_.assign(kept_.size(), 0);
    for (int a = 0; a < form_.count(); ++a) {
        reads_alone_[a] = form_.normals.row(a).isZero(0.0) || stand_in(a) ? 1 : 0;
        for (int b = 0; b < a; ++b)
            if (kept_[b] == 0 && sizes_[b] > 0.0 && (passed(a, b, true) != 0.0 || passed(a, b, false) != 0.0))
                reads_[a].push_back(b);
    }
}

// Puts places before `a` that have normals of their own in the place of its normal. False if it has its own.
bool RestProof::stand_in(int a) {
    const Vector own = form_.normals.row(a).transpose();
    Vector rest = own.normalized();
    Vector parts = Vector::Zero(static_cast<Index>(basis_.size()));
    for (int pass = 0; pass < 2; ++pass)
        for (std::size_t k = 0; k < basis_.size(); ++k) {
            const double part = rest.dot(units_[k]);
            parts[static_cast<Index>(k)] += part;
            rest -= part * units_[k];
        }
    if (rest.norm() > kDependentRow) {
        basis_.push_back(a);
        units_.push_back(rest.normalized());
        return false;
    }
    for (std::size_t k = basis_.size(); k-- > 0;) {  // the normals of the basis are a triangle in these units
        const int b = basis_[k];
        const double part = parts[static_cast<Index>(k)] / form_.normals.row(b).dot(units_[k]);
        if (std::abs(part) * form_.normals.row(b).norm() <= kNoPart) continue;
        for (std::size_t j = 0; j < k; ++j) parts[static_cast<Index>(j)] -= part * form_.normals.row(b).dot(units_[j]);
        const double times = part * own.norm();
        through_h_.row(a) -= times * through_h_.row(b);
        through_z_.row(a) -= times * through_z_.row(b);
        through_z_(a, b) += times;
    }
    return true;
}

bool RestProof::give_pull(int a) {
    if (kept_[a] != 0) {
        const int unknown = add_unknown(-kInfinity, kInfinity);
        pull_(a, unknown) = 1.0;
        send(a);
    } else if (sides_[a] != 0) {
        pull_.row(a) = (sides_[a] > 0 ? 1.0 : form_.leak[a]) * above_.row(a) + skip_.row(a);
        pull_(a, add_unknown(0.0, kInfinity)) = sides_[a];
        send(a);
    } else if (sizes_[a] > 0.0) {
        const bool has_normal = reads_alone_[a] == 0;
        const int side = has_normal ? 0 : side_of(a);
        if (side != 0) {
            pull_.row(a) = (side > 0 ? 1.0 : form_.leak[a]) * above_.row(a) + skip_.row(a);
            send(a);
        } else if (!has_normal && (reads_[a].size() <= 1 || (is_known(a) && above_(a, constant_) > 0.0))) {
            pull_.row(a) = skip_.row(a);
            send(a);
            spread_.row(a) = above_.row(a);
            send_hinges(a);
        } else {
            return choose_slope(a);
        }
    }
    return true;
}

int RestProof::add_unknown(double low, double high) {
    low_[count_] = low;
    high_[count_] = high;
    return count_++;
}

bool RestProof::is_known(int a) const {
    return above_.row(a).head(constant_).isZero(0.0);
}

// The side on which a place is that reads others alone; 0 if that is not known.
int RestProof::side_of(int a) const {
    bool up = true;
    bool down = true;
    for (const int b : reads_[a]) {
        const double above = sides_[b] < 0 ? 0.0 : passed(a, b, true);
        const double below = sides_[b] > 0 ? 0.0 : passed(a, b, false);
        up = up && above >= 0.0 && below <= 0.0;
        down = down && above <= 0.0 && below >= 0.0;
    }
    return up ? 1 : down ? -1 : 0;
}

bool RestProof::choose_slope(int a) {
    const double part = 1.0 - form_.leak[a];
    if (is_known(a)) {
        const double above = above_(a, constant_);
        if (above * sizes_[a] > negligible_) return false;
        pull_.row(a) = above_.row(a) + skip_.row(a);
        pull_(a, add_unknown(0.0, std::max(0.0, -part * above))) = 1.0;
    } else {
        if (reads_alone_[a] != 0) {
            const int repelling = add_unknown(0.0, kInfinity);
            spread_(a, repelling) = 1.0;
            send_hinges(a);
        }
        pull_.row(a) = above_.row(a) - spread_.row(a) + skip_.row(a);
        const int slope = add_unknown(0.0, kInfinity);
        pull_(a, slope) = 1.0;
        auto bound = bounds_.row(std::ssize(bounded_));
        bounded_.push_back(a);
        bound = part * sizes_[a] * (above_.row(a) - spread_.row(a));
        bound[slope] += sizes_[a];
        bound[add_unknown(0.0, kInfinity)] = sizes_[a];
    }
    send(a);
    return true;
}

void RestProof::send(int a) {
    for (int b = 0; b < a; ++b) {
        if (form_.through_h(a, b) != 0.0) above_.row(b) += form_.through_h(a, b) * pull_.row(a);
        if (form_.through_z(a, b) != 0.0) skip_.row(b) += form_.through_z(a, b) * pull_.row(a);
    }
}

// ψ of each term as a hinge of what it reads: its slopes on both sides of x_b = 0.
RestProof::Slopes RestProof::hinge(int a, int b) const {
    const auto psi = [&](double x) { return std::max(x, form_.leak[a] * x); };
    const double up = psi(passed(a, b, true));
    const double down = -psi(-passed(a, b, false));
    if (sides_[b] != 0) return sides_[b] > 0 ? Slopes{up, up} : Slopes{down, down};
    return {up, down};
}

// Pulls with them what a place reads, as they are those of h ψ(x_b) + z x_b.
void RestProof::send_hinges(int a) {
    for (const int b : reads_[a]) {
        const auto [up, down] = hinge(a, b);
        const double h = (up - down) / (1.0 - form_.leak[b]);
        above_.row(b) += h * spread_.row(a);
        skip_.row(b) += (up - h) * spread_.row(a);
    }
}

// Whether some unknowns make all pulls and the velocity zero, and keep to all bounds.
bool RestProof::balances() {
    const Index n_bounds = std::ssize(bounded_);
    const Index n_rows = rank_ + n_bounds;
    Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(n_rows, constant_ + 1);
    rows.topRows(rank_) = form_.normals.transpose() * pull_;
    rows.bottomRows(n_bounds) = bounds_.topRows(n_bounds);
    double forces = form_.scale + form_.velocity.norm();
    for (int a = 0; a < form_.count(); ++a) forces += (std::abs(form_.beta[a]) + std::abs(form_.gamma[a])) * sizes_[a];
    std::vector<int> used;
    for (int k = 0; k < count_; ++k)
        if (rows.col(k).norm() > 0.0) used.push_back(k);
    problem_.resize(static_cast<int>(used.size()), static_cast<int>(n_rows));
    for (std::size_t k = 0; k < used.size(); ++k) {
        const auto column = rows.col(used[k]);
        const double length = column.norm();
        const auto w = static_cast<int>(k);
        for (Index e = 0; e < n_rows; ++e) problem_.vector(w)[e] = column[e] / length;
        problem_.set_interval(w, low_[used[k]] * length, high_[used[k]] * length);
        problem_.set_place(w, BoxLeastSquares::Place::inside);
    }
    rows.col(constant_).head(rank_) += form_.velocity;
    std::copy_n(rows.col(constant_).data(), n_rows, problem_.offset());
    if (!problem_.solve(forces)) return false;
    double size = forces;
    for (int w = 0; w < problem_.count(); ++w) size += std::abs(problem_.coefficient(w));
    unknowns_ = Vector::Zero(constant_ + 1);
    unknowns_[constant_] = 1.0;
    for (std::size_t k = 0; k < used.size(); ++k)
        unknowns_[used[k]] = problem_.coefficient(static_cast<int>(k)) / rows.col(used[k]).norm();
    left_ = Eigen::Map<const Vector>(problem_.residual(), rank_);
    missed_ = Eigen::Map<const Vector>(problem_.residual() + rank_, n_bounds);
    negligible_ += kSameDirection * kActingRounding * size;
    const double left = Eigen::Map<const Vector>(problem_.residual(), n_rows).norm();
    return size <= kMostTerms * forces && left <= negligible_;
}

// How places move in a direction, and what the loss falls by.
double RestProof::move(const Vector& d, Vector& x, bool& is_kept) const {
    x.setZero(form_.count());
    double fall = form_.velocity.dot(d);
    double size = std::abs(fall);
    is_kept = true;
    for (int a = 0; a < form_.count(); ++a) {
        x[a] = form_.normals.row(a).dot(d);
        for (int b = 0; b < a; ++b)
            x[a] += form_.through_h(a, b) * std::max(x[b], form_.leak[b] * x[b]) + form_.through_z(a, b) * x[b];
        if (kept_[a] != 0) {
            is_kept = is_kept && std::abs(x[a]) <= kStands * sizes_[a] * d.norm();
            fall += pull_.row(a).dot(unknowns_) * x[a];  // by rounding: what it takes to keep it
            x[a] = 0.0;
            continue;
        }
        const double own = form_.beta[a] * std::max(x[a], form_.leak[a] * x[a]) + form_.gamma[a] * x[a];
        fall += own;
        size += std::abs(own);
    }
    return fall > kActingRounding * size ? fall : 0.0;
}

bool RestProof::moves() const {
    Vector x;
    bool is_kept = false;
    return left_.size() > 0 && move(left_, x, is_kept) > negligible_ * left_.norm() && is_kept;
}

int RestProof::loosest() const {
    if (left_.size() == 0) return unbounded_;
    Vector x;
    bool is_kept = false;
    move(left_, x, is_kept);
    const auto psi = [&](int a, double z) { return std::max(z, form_.leak[a] * z); };
    int found = -1;
    double most = 0.0;
    for (int a = 0; a < form_.count(); ++a) {
        if (!is_kept || kept_[a] != 0 || sides_[a] != 0 || sizes_[a] == 0.0) continue;  // by missed bounds, if not
        double bound = (pull_.row(a).dot(unknowns_) - skip_.row(a).dot(unknowns_)) * x[a];
        const double spread = spread_.row(a).dot(unknowns_);
        for (const int b : reads_[a]) {
            const auto [up, down] = hinge(a, b);
            bound += spread * (x[b] > 0.0 ? up : down) * x[b];
        }
        const double loose = bound - above_.row(a).dot(unknowns_) * psi(a, x[a]);
        if (loose <= most) continue;
        most = loose;
        found = a;
    }
    if (found >= 0 || missed_.size() == 0) return found;
    Index worst = 0;
    const double missed = missed_.cwiseAbs().maxCoeff(&worst);
    return missed > 0.0 ? bounded_[static_cast<std::size_t>(worst)] : -1;
}

}  // namespace reluflow::layered
