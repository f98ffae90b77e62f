#include "two_layer/radau_turning.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/products.hpp"

namespace reluflow {

namespace {

/// Samples and groups whose response, H p c K, is below this follow by substitution.
constexpr double kAnswers = 1e-4;
/// 1/(1 + x/2) is no smaller than the mean of exp(-x u) over (0, 1].
constexpr double kSettles = 0.5;

}  // namespace

TurningResponse::TurningResponse(const Dataset& data, Index neurons, Index most)
    : data_(data),
      most_(most),
      p_(kStages, data.n()),
      c_(kStages, data.n()),
      size_(neurons),
      own_(data.n()),
      mean_(data.n()),
      drawn_(most),
      along_(most),
      seen_(data.n()),
      sum_(data.n()),
      w_(data.rank(), neurons),
      a_(neurons),
      moment_(data.rank()),
      turned_(data.rank()),
      change_(data.rank()),
      gradient_(data.rank()),
      second_(data.rank(), data.rank()),
      boosted_(data.rank(), data.rank()),
      right_(kStages * most) {
    groups_.reserve(neurons);
    samples_.reserve(data.n());
    if (data.rank() > most) return;  // one group has too many directions
    parts_.reserve(most * data.n());
    heavy_.reserve(most * data.n());
    steep_.reserve(most * most);
    transfers_.reserve(kStages * kStages * most * data.rank());
    lu_.reserve(kStages * most);
    layer_.reserve(most);
}

bool TurningResponse::prepare(Expansion& expansion, const Matrix& weights, const Matrix& answers, const Vector& mean,
                              double step) {
    p_ = weights;
    c_ = answers;
    mass_ = p_.row(0).sum();
    mean_ = mean;
    if (!list_groups(expansion, step)) return false;
    const Index count = static_cast<Index>(groups_.size());
    parts_.resize(unknowns() * data_.n());
    steep_.resize(unknowns() * unknowns());
    transfers_.resize(kStages * kStages * count * data_.rank() * data_.rank());
    fill_parts(expansion);
    own_.setZero();
    const auto& nodes = RadauNodes::get().at;
    for (Index other = 0; other < kStages; ++other) {
        if (!expansion.sectors()) expansion.series().evaluate(nodes[other], w_, a_);
        for (Index group = 0; group < count; ++group) {
            take_moments(expansion, group, nodes[other]);
            carry_moments(group, step);
            for (Index node = 0; node < kStages; ++node) add_transfer(group, node, other, step);
            if (other == 0) find_own(group);
        }
    }
    list_samples(step);
    heavy_.resize(unknowns() * static_cast<Index>(samples_.size()));
    fill_system();
    fill_layer();
    lu_.factor();
    layer_.factor();
    return true;
}

double TurningResponse::work() const noexcept {
    const double all = static_cast<double>(unknowns());
    const double rank = static_cast<double>(data_.rank());
    const double system = kStages * all;
    const double steep = kStages * all * all * static_cast<double>(samples_.size());
    return 2.0 / 3.0 * system * system * system + 2.0 * steep + 2.0 * kStages * kStages * all * all * rank;
}

/// A group that no sample drives enough does not respond.
bool TurningResponse::list_groups(Expansion& expansion, double step) {
    expansion.series().evaluate(0.0, w_, a_);
    const Index count = expansion.groups().count();
    groups_.clear();
    for (Index group = 0; group < count; ++group) {
        size_[group] = 0.0;
        for (const int j : expansion.groups().members(group)) size_[group] += a_[j] * a_[j] + w_.col(j).squaredNorm();
        double answer = 0.0;
        for (Index i = 0; i < data_.n(); ++i) {
            const double slope = expansion.slope(i, group);
            if (slope == 0.0) continue;
            answer += slope * slope * data_.X().row(i).squaredNorm() * p_.col(i).cwiseProduct(c_.col(i)).maxCoeff();
        }
        if (step * size_[group] * answer <= kAnswers) continue;
        groups_.push_back(static_cast<int>(group));
        if (unknowns() > most_) return false;
    }
    return !groups_.empty();
}

/// Once own_ is known.
void TurningResponse::list_samples(double step) {
    samples_.clear();
    for (Index i = 0; i < data_.n(); ++i)
        if (step * own_[i] * p_.col(i).cwiseProduct(c_.col(i)).maxCoeff() > kAnswers)
            samples_.push_back(static_cast<int>(i));
        else
            own_[i] = 0.0;
}

void TurningResponse::fill_parts(const Expansion& expansion) {
    auto F = parts();
    const Index rank = data_.rank();
    for (Index g = 0; g < static_cast<Index>(groups_.size()); ++g)
        for (Index i = 0; i < data_.n(); ++i) {
            const double factor = data_.signs()[i] * expansion.slope(i, groups_[g]);
            gradient_ = factor * data_.X().row(i).transpose();
            if (factor != 0.0) expansion.project(groups_[g], gradient_.data());
            F.block(g * rank, i, rank, 1) = gradient_;
        }
}

void TurningResponse::take_moments(Expansion& expansion, Index group, double u) {
    if (SectorSeries* sectors = expansion.sectors())
        return sectors->sector(groups_[group]).sums_at(u, square_, moment_, second_);
    square_ = 0.0;
    moment_.setZero();
    second_.setZero();
    for (const int j : expansion.groups().members(groups_[group])) {
        square_ += a_[j] * a_[j];
        change_ = w_.col(j);
        moment_ += a_[j] * change_;
        for (Index x = 0; x < data_.rank(); ++x) second_.row(x) += change_[x] * change_.transpose();
    }
}

/// The mean gradient of the group over the step, along which its moments are carried from node to node. It is that of
/// the iterate: where weights cancel, the gradient of those that a first guess asks for is far larger.
void TurningResponse::carry_moments(Index group, double step) {
    const Index rank = data_.rank();
    gradient_.noalias() = parts().middleRows(group * rank, rank) * mean_;
    const double length = gradient_.norm();
    length_ = length * step;
    if (length > 0.0) gradient_ /= length;
    turned_.noalias() = second_ * gradient_;
}

/// A change δg at node l changes M = Σ θ θᵀ by δg M + M δg. The group's flow, a boost along ĝ of rapidity |g| H (c_k -
/// c_l), carries this to node k, where the (w, a) entry is that of Σ a w.
void TurningResponse::add_transfer(Index group, Index node, Index other, double step) {
    const auto& nodes = RadauNodes::get();
    const double rapidity = length_ * (nodes.at[node] - nodes.at[other]);
    const double c = std::cosh(rapidity);
    const double s = std::sinh(rapidity);
    const double along = gradient_.dot(moment_);
    const double turned = c * square_ + s * along;
    change_ = s * (c * moment_ + s * turned_) + c * ((c - 1.0) * turned_ + s * moment_) +
              ((c - 1.0) * turned + s * ((c - 1.0) * along + s * square_)) * gradient_;
    boosted_ = c * second_;
    boosted_.diagonal().array() += turned;
    for (Index x = 0; x < data_.rank(); ++x)
        boosted_.row(x) += gradient_[x] * change_.transpose() + (s * moment_[x]) * gradient_.transpose();
    transfer(node, other, group) = step * nodes.integration(node, other) * boosted_;
}

/// From the moments at the first node.
void TurningResponse::find_own(Index group) {
    const Index rank = data_.rank();
    const auto F = parts().middleRows(group * rank, rank);
    for (Index i = 0; i < data_.n(); ++i) {
        change_ = F.col(i);
        const double length = change_.squaredNorm();
        if (length == 0.0) continue;
        turned_.noalias() = second_ * change_;
        own_[i] += square_ * length + change_.dot(turned_);
    }
}

void TurningResponse::fill_system() {
    const Index all = unknowns();
    const Index rank = data_.rank();
    auto matrix = lu_.matrix(kStages * all);
    Map steep(steep_.data(), all, all);
    for (Index node = 0; node < kStages; ++node) {
        auto G = heavy();
        for (Index k = 0; k < static_cast<Index>(samples_.size()); ++k) {
            const Index i = samples_[k];
            G.col(k) = std::sqrt(p_(node, i) * c_(node, i)) * parts().col(i);
        }
        multiply_self_transposed(G, steep);
        sum_ = p_.row(node).transpose();
        along_.head(all).noalias() = parts() * sum_;
        sum_ = p_.row(node).cwiseProduct(c_.row(node)).transpose();
        drawn_.head(all).noalias() = parts() * sum_;
        for (Index x = 0; x < all; ++x) steep.row(x) -= (along_[x] / mass_) * drawn_.head(all).transpose();
        for (Index other = 0; other < kStages; ++other)
            for (Index g = 0; g < static_cast<Index>(groups_.size()); ++g)
                multiply(steep.middleCols(g * rank, rank), transfer(node, other, g),
                         matrix.block(node * all, other * all + g * rank, all, rank));
        matrix.block(node * all, node * all, all, all).diagonal().array() += 1.0;
    }
}

void TurningResponse::solve(Matrix& r) {
    const Index all = unknowns();
    const Index rank = data_.rank();
    auto right = right_.head(kStages * all);
    for (Index node = 0; node < kStages; ++node) {
        sum_ = r.row(node).transpose();
        right.segment(node * all, all).noalias() = parts() * sum_;
    }
    lu_.solve(right);
    for (Index node = 0; node < kStages; ++node) {
        auto moved = drawn_.head(all);
        moved.setZero();
        for (Index other = 0; other < kStages; ++other)
            for (Index g = 0; g < static_cast<Index>(groups_.size()); ++g)
                moved.segment(g * rank, rank).noalias() +=
                    transfer(node, other, g) * right.segment(other * all + g * rank, rank);
        sum_ = r.row(node).transpose();
        take_response(node, sum_);
        r.row(node) = sum_.transpose();
    }
}

/// Takes off changes of the weights what the margins take back, where Σ a w has moved by drawn_.
void TurningResponse::take_response(Index node, VectorRef r) {
    seen_.noalias() = parts().transpose() * drawn_.head(unknowns());
    seen_.array() *= p_.row(node).transpose().array() * c_.row(node).transpose().array();
    r -= seen_ - seen_.sum() / mass_ * p_.row(node).transpose();
}

/// 1 + ½ H G T at the first node, which is next to the start.
void TurningResponse::fill_layer() {
    const Index all = unknowns();
    const double part = kSettles / RadauNodes::get().integration(0, 0);
    auto system = layer_.matrix(all);
    system = part * lu_.entries().topLeftCorner(all, all);
    system.diagonal().array() += 1.0 - part;
}

void TurningResponse::settle(Vector& r) {
    const Index all = unknowns();
    const Index rank = data_.rank();
    const double part = kSettles / RadauNodes::get().integration(0, 0);
    auto right = right_.head(all);
    right.noalias() = parts() * r;
    layer_.solve(right);
    for (Index g = 0; g < static_cast<Index>(groups_.size()); ++g)
        drawn_.segment(g * rank, rank).noalias() = part * transfer(0, 0, g) * right.segment(g * rank, rank);
    take_response(0, r);
}

}  // namespace reluflow
