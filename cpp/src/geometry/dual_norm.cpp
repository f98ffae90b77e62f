#include "geometry/dual_norm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "geometry/dual_norm_parts.hpp"

namespace reluflow {
namespace {

constexpr std::int8_t kFree = -1;
constexpr int kTurns = 4;            // alternations between τ and the relaxation; the gain is in the first two
constexpr double kRoughTau = 1e-8;   // duality gap of τ, relative to the squared bound, while σ is not decided
constexpr double kSharpTau = 1e-16;  // and at a leaf, where the value itself is wanted
constexpr double kFirstTau = 0.5;

struct Node {
    std::vector<std::int8_t> choice;
    Vector tau;
    double upper2;  // squared bound
    Index branch;   // the free σ to decide next, -1 if none is free

    bool operator<(const Node& other) const { return upper2 < other.upper2; }
};

class BranchAndBound {
  public:
    BranchAndBound(MatrixView vectors, Index n_up, const DualNormSettings& settings)
        : v_(vectors, n_up), settings_(settings) {
        result_.lower = settings.lower;
    }

    DualNormResult run(const PolarHook& hook) {
        Node root{std::vector<std::int8_t>(static_cast<std::size_t>(v_.n_up), kFree),
                  Vector::Constant(v_.n_down, kFirstTau), std::numeric_limits<double>::infinity(), -1};
        add(std::move(root));
        while (!open_.empty() && open_.top().upper2 > good_enough2()) {
            if (!go_on(hook)) break;
            const Node node = open_.top();
            open_.pop();
            for (const std::int8_t value : {std::int8_t{1}, std::int8_t{0}}) {
                Node child = node;
                child.choice[static_cast<std::size_t>(node.branch)] = value;
                add(std::move(child));
            }
        }
        if (!open_.empty()) closed2_ = std::max(closed2_, open_.top().upper2);
        result_.upper = std::max(std::sqrt(closed2_), result_.lower);
        return std::move(result_);
    }

  private:
    double good_enough2() const {
        const double enough = std::max(settings_.target, (1 + settings_.rtol) * result_.lower);
        return enough * enough;
    }

    bool go_on(const PolarHook& hook) {
        if (result_.n_nodes >= settings_.max_nodes) result_.status = DualNormStatus::node_limit;
        const Request request = hook(result_.n_nodes, std::sqrt(open_.top().upper2));
        if (request == Request::stop) result_.status = DualNormStatus::stopped;
        if (request == Request::interrupt) result_.status = DualNormStatus::interrupted;
        return result_.status == DualNormStatus::proven;
    }

    /// Bounds the node and keeps it if its bound is not good enough yet.
    void add(Node&& node) {
        ++result_.n_nodes;
        bound(node);
        if (node.branch >= 0 && node.upper2 > good_enough2())
            open_.push(std::move(node));
        else
            closed2_ = std::max(closed2_, node.upper2);
    }

    void bound(Node& node) {
        std::vector<Index> free;
        for (Index i = 0; i < v_.n_up; ++i)
            if (node.choice[static_cast<std::size_t>(i)] == kFree) free.push_back(1 + i);
        if (free.empty())
            bound_leaf(node);
        else
            bound_inner(node, free);
    }

    void bound_leaf(Node& node) {
        node.upper2 = std::min(node.upper2, value2(node.choice, node.tau));
        node.branch = -1;
        offer(node.choice, std::sqrt(node.upper2));
    }

    /// Least |b + Σ σ p + Σ τ q|² over τ, which is updated.
    double value2(const std::vector<std::int8_t>& choice, Vector& tau) const {
        Vector weights(v_.rows.rows());
        weights[0] = 1;
        for (Index i = 0; i < v_.n_up; ++i) weights[1 + i] = choice[static_cast<std::size_t>(i)];
        weights.tail(v_.n_down) = tau;
        const double squared = v_.respond(weights, kSharpTau).squaredNorm();
        tau = weights.tail(v_.n_down);
        return squared;
    }

    /// Alternates: τ, optimal for the moments of σ, and the relaxation over σ for this τ; the least bound counts.
    void bound_inner(Node& node, const std::vector<Index>& free) {
        const auto n_free = static_cast<Index>(free.size());
        Matrix M = Matrix::Zero(n_free + 1, n_free + 1);
        M.bottomRightCorner(n_free, n_free) = 0.25 * v_.gram(free, free);
        const double constant = M.diagonal().sum();
        M.diagonal().setZero();
        Vector moments = Vector::Zero(n_free), tau = node.tau, best_moments = moments;
        for (int turn = 0; turn < kTurns; ++turn) {
            const Vector centre = centred(node, free, moments, tau);
            const Vector sum = v_.rows.transpose() * centre;
            const Vector products = v_.rows * sum;
            M.row(0).tail(n_free) = 0.5 * products(free);
            M.col(0) = M.row(0).transpose();
            const detail::SignBound found = detail::bound_signs(M);
            const double upper2 = sum.squaredNorm() + constant + found.value;
            const Vector fresh = found.moments.tail(n_free);
            if (turn == 0 || upper2 < node.upper2) best_moments = fresh;
            if (upper2 < node.upper2) {
                node.upper2 = std::max(0.0, upper2);
                node.tau = tau;
            }
            if (node.upper2 <= good_enough2()) break;
            moments = turn == 0 ? fresh : Vector(0.5 * (moments + fresh));  // halved, since best replies can alternate
        }
        choose_branch(node, free, best_moments);
        round(node, free, best_moments);
    }

    /// Weights with every free σ at 1/2, after τ has been optimised for the moments of the free σ.
    Vector centred(const Node& node, const std::vector<Index>& free, const Vector& moments, Vector& tau) const {
        Vector weights = Vector::Zero(v_.rows.rows());
        weights[0] = 1;
        for (Index i = 0; i < v_.n_up; ++i)
            weights[1 + i] =
                node.choice[static_cast<std::size_t>(i)] == kFree ? 0.5 : node.choice[static_cast<std::size_t>(i)];
        Vector leaning = weights;
        for (std::size_t p = 0; p < free.size(); ++p) leaning[free[p]] += 0.5 * moments[static_cast<Index>(p)];
        leaning.tail(v_.n_down) = tau;
        v_.respond(leaning, kRoughTau);
        tau = leaning.tail(v_.n_down);
        weights.tail(v_.n_down) = tau;
        return weights;
    }

    /// Branches on the longest vector: what is left then can change little.
    void choose_branch(Node& node, const std::vector<Index>& free, const Vector& moments) const {
        double most = -1;
        for (std::size_t p = 0; p < free.size(); ++p) {
            const double lean = moments[static_cast<Index>(p)];
            const double weight = v_.gram(free[p], free[p]) * (2 - lean * lean);
            if (weight > most) {
                most = weight;
                node.branch = free[p] - 1;
            }
        }
    }

    /// Rounds the relaxed solution to the nearest σ: its value is attained, so it can raise the lower bound.
    void round(const Node& node, const std::vector<Index>& free, const Vector& moments) {
        std::vector<std::int8_t> choice = node.choice;
        for (std::size_t p = 0; p < free.size(); ++p)
            choice[static_cast<std::size_t>(free[p] - 1)] = moments[static_cast<Index>(p)] > 0 ? 1 : 0;
        Vector tau = node.tau;
        const double value = std::sqrt(value2(choice, tau));
        offer(choice, value);
    }

    void offer(const std::vector<std::int8_t>& choice, double value) {
        if (value <= result_.lower && !result_.choice.empty()) return;
        result_.lower = std::max(value, result_.lower);
        result_.choice = choice;
    }

    const detail::DualNormVectors v_;
    const DualNormSettings settings_;
    std::priority_queue<Node> open_;
    double closed2_ = 0;
    DualNormResult result_;
};

}  // namespace

const char* name(DualNormStatus status) noexcept {
    switch (status) {
        case DualNormStatus::proven: return "proven";
        case DualNormStatus::node_limit: return "node_limit";
        case DualNormStatus::stopped: return "stopped";
        case DualNormStatus::interrupted: return "interrupted";
    }
    return "unknown";
}

DualNormResult bound_polar(MatrixView vectors, Index n_up, const DualNormSettings& settings, const PolarHook& hook) {
    return BranchAndBound(vectors, n_up, settings).run(hook);
}

}  // namespace reluflow
