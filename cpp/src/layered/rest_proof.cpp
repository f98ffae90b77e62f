/// The pulls of cell_rest.cpp, all of them as unknowns of one bounded least-squares problem.
///
/// Let B_a and S_a be what arrives above a place and past it, from above downwards. As there, wherever x_a has a normal
/// of its own, or may have either sign,
///
///     B_a ψ(x) + S_a x <= π_a x     with π_a = S_a + B_a + s_a,  0 <= s_a <= -(1 - leak) B_a,
///
/// and what is kept has any π_a. A place without a normal of its own moves by what it reads alone, x_a = Σ_b t_b with
/// t_b = W_ab ψ(x_b) + G_ab x_b, and more is known of it:
///
///     all t_b >= 0, or all <= 0:   ψ(x_a) = x_a, or leak x_a
///     it reads one place:          ψ(t_b) has one slope on each side of x_b = 0, so it is a hinge of x_b
///     B_a >= 0:                    ψ(Σ t_b) <= Σ ψ(t_b), which are such hinges
///     B_a of either sign:          B_a = u - w with u, w >= 0, as one of B_a = u and one of B_a = -w
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

class RestProof {
  public:
    RestProof(const LocalForm& form, const std::vector<char>& kept)
        : form_(form),
          kept_(kept),
          constant_(3 * form.count()),
          rank_(form.velocity.size()),
          above_(Matrix::Zero(form.count(), constant_ + 1)),
          skip_(above_),
          pull_(above_),
          bounds_(Matrix::Zero(form.count(), constant_ + 1)),
          high_(Vector::Zero(constant_)),
          low_(high_) {
        above_.col(constant_) = form.beta;
        skip_.col(constant_) = form.gamma;
        negligible_ = kSameDirection * form.rounding(Vector::Zero(rank_));
    }

    bool succeeds() {
        find_what_moves();
        for (int a = form_.count() - 1; a >= 0; --a)
            if (!give_pull(a)) return false;
        return balances();
    }

  private:
    double passed(int a, int b, bool up) const {
        return (up ? 1.0 : form_.leak[b]) * form_.through_h(a, b) + form_.through_z(a, b);
    }

    // What each place reads of what may move, and how long its rows may be.
    void find_what_moves() {
        reads_.resize(kept_.size());
        sizes_.setZero(form_.count());
        for (int a = 0; a < form_.count(); ++a) {
            sizes_[a] = form_.normals.row(a).norm();
            for (int b = 0; b < a; ++b) {
                if (kept_[b] != 0 || sizes_[b] == 0.0) continue;
                const double most = std::max(std::abs(passed(a, b, true)), std::abs(passed(a, b, false)));
                if (most > 0.0) reads_[a].push_back(b);
                sizes_[a] += most * sizes_[b];
            }
        }
    }

    bool give_pull(int a) {
        if (kept_[a] != 0) {
            const int unknown = add_unknown(-kInfinity, kInfinity);
            pull_(a, unknown) = 1.0;
            send(a);
        } else if (sizes_[a] > 0.0) {
            const bool has_normal = !form_.normals.row(a).isZero(0.0);
            const int side = has_normal ? 0 : side_of(a);
            if (side != 0) {
                pull_.row(a) = (side > 0 ? 1.0 : form_.leak[a]) * above_.row(a) + skip_.row(a);
                send(a);
            } else if (!has_normal && (reads_[a].size() == 1 || (is_known(a) && above_(a, constant_) > 0.0))) {
                pull_.row(a) = skip_.row(a);
                send(a);
                send_hinges(a, above_.row(a));
            } else {
                return choose_slope(a);
            }
        }
        return true;
    }

    int add_unknown(double low, double high) {
        low_[count_] = low;
        high_[count_] = high;
        return count_++;
    }

    bool is_known(int a) const { return above_.row(a).head(constant_).isZero(0.0); }

    // The side on which a place is that reads others alone; 0 if that is not known.
    int side_of(int a) const {
        bool up = true;
        bool down = true;
        for (const int b : reads_[a]) {
            up = up && passed(a, b, true) >= 0.0 && passed(a, b, false) <= 0.0;
            down = down && passed(a, b, true) <= 0.0 && passed(a, b, false) >= 0.0;
        }
        return up ? 1 : down ? -1 : 0;
    }

    bool choose_slope(int a) {
        const double part = 1.0 - form_.leak[a];
        if (is_known(a)) {
            const double above = above_(a, constant_);
            if (above * sizes_[a] > negligible_) return false;
            pull_.row(a) = above_.row(a) + skip_.row(a);
            pull_(a, add_unknown(0.0, std::max(0.0, -part * above))) = 1.0;
        } else {
            if (form_.normals.row(a).isZero(0.0)) {
                const int repelling = add_unknown(0.0, kInfinity);
                Eigen::RowVectorXd some = Eigen::RowVectorXd::Zero(constant_ + 1);
                some[repelling] = 1.0;
                send_hinges(a, some);
                above_.row(a) -= some;
            }
            pull_.row(a) = above_.row(a) + skip_.row(a);
            const int slope = add_unknown(0.0, kInfinity);
            pull_(a, slope) = 1.0;
            auto bound = bounds_.row(n_bounds_++);
            bound = part * sizes_[a] * above_.row(a);
            bound[slope] += sizes_[a];
            bound[add_unknown(0.0, kInfinity)] = sizes_[a];
        }
        send(a);
        return true;
    }

    void send(int a) {
        for (int b = 0; b < a; ++b) {
            if (form_.through_h(a, b) != 0.0) above_.row(b) += form_.through_h(a, b) * pull_.row(a);
            if (form_.through_z(a, b) != 0.0) skip_.row(b) += form_.through_z(a, b) * pull_.row(a);
        }
    }

    // ψ of each term as a hinge of what it reads, which `above` pulls: slopes `up` and `down` of x_b are those of
    // h ψ(x_b) + z x_b.
    void send_hinges(int a, const Eigen::RowVectorXd& above) {
        const auto psi = [&](double x) { return std::max(x, form_.leak[a] * x); };
        for (const int b : reads_[a]) {
            const double up = psi(passed(a, b, true));
            const double down = -psi(-passed(a, b, false));
            const double h = (up - down) / (1.0 - form_.leak[b]);
            above_.row(b) += h * above;
            skip_.row(b) += (up - h) * above;
        }
    }

    // Whether some unknowns make all pulls and the velocity zero, and keep to all bounds.
    bool balances() {
        const Index n_rows = rank_ + n_bounds_;
        Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(n_rows, constant_ + 1);
        rows.topRows(rank_) = form_.normals.transpose() * pull_;
        rows.bottomRows(n_bounds_) = bounds_.topRows(n_bounds_);
        double forces = form_.scale + form_.velocity.norm();
        for (int a = 0; a < form_.count(); ++a)
            forces += (std::abs(form_.beta[a]) + std::abs(form_.gamma[a])) * sizes_[a];
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
        const double left = Eigen::Map<const Vector>(problem_.residual(), n_rows).norm();
        return size <= kMostTerms * forces && left <= negligible_ + kSameDirection * kActingRounding * size;
    }

    const LocalForm& form_;
    const std::vector<char>& kept_;
    int constant_;  // the column of what does not depend on unknowns
    Index rank_;
    Matrix above_, skip_, pull_, bounds_;  // B, S, π and rows that have to be zero, one column an unknown
    Vector high_, low_;
    Vector sizes_;
    std::vector<std::vector<int>> reads_;
    double negligible_ = 0.0;
    int count_ = 0, n_bounds_ = 0;
    BoxLeastSquares problem_;
};

}  // namespace

bool proves_rest(const LocalForm& form, const std::vector<char>& kept) {
    return form.count() > 0 && RestProof(form, kept).succeeds();
}

}  // namespace reluflow::layered
