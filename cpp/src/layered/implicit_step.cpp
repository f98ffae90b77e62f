#include "layered/implicit_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/tolerances.hpp"

namespace reluflow::layered {
namespace {

/// A step that needs more iterations than this is too long.
constexpr int kMaxIterations = 14;
/// Corrections from which Anderson's acceleration learns.
constexpr Index kRemembered = 5;
/// Newton stops at this part of the tolerance of a step, or where its changes are rounding.
constexpr double kNewtonPart = 0.02;
constexpr double kRounding = 1e-13;
/// The modes are found anew, or the step is shortened, when an iteration reduces the change by less than this factor;
/// not judged of the first ones.
constexpr double kSlow = 0.7;
constexpr int kUnjudged = 3;
/// Time constants of the fastest direction in an explicit step that it limits: stability allows about eight.
constexpr double kStiff = 2.0;
/// The last Legendre coefficient overestimates the error of θ, which has about twice the order at Radau nodes.
constexpr double kErrorPart = 0.1;
/// What explicit steps have left in the fastest directions decays within the step, and may be this part of rtol.
constexpr double kLayerPart = 0.3;
/// What grows does so by at most this many e-foldings in a step.
constexpr double kLongestGrowth = 1.0;
/// Parameters feel each other if the derivative between them is more than this part of the largest. Those of a unit
/// that is smaller than that beside the others are a block of their own, and are followed to their own digits.
constexpr double kFelt = 1e-8;
/// Modes are known as long as what has changed since cannot have made anything grow by more than this.
constexpr double kKnown = 1.0;
/// And as long as θ and Λ have changed by no more than this part.
constexpr double kNear = 0.1;
/// The rounding of a velocity, as a part of the sum of its terms: a step may move θ by it within the tolerance.
constexpr double kVelocityRounding = 4 * 2.2e-16;
/// A refused step is tried again with this part of its length, or with what its error says.
constexpr double kShrink = 0.3;
/// In the layer behind an event errors fall like this power of the length, far more slowly than their order says.
constexpr double kLayerOrder = 3.0;
/// With this many iterations a step is as long as it should be; with fewer the next is longer, by the square of the
/// ratio, which counts up to this.
constexpr double kEnoughIterations = 6.0;
constexpr double kMostLonger = 8.0;
/// The work of a velocity, of a column of its derivative, and of its modes over p²/n for p parameters and n samples, in
/// that of an order of a long series: measured.
constexpr double kVelocityWork = 10.0;
constexpr double kColumnWork = 5.0;
constexpr double kModesWork = 2.0;

/// The order up to which the series of a step are not zero: θ has that of the nodes, and each layer as much more.
int order_of(const Graph& graph) {
    std::vector<int> layers(static_cast<std::size_t>(graph.count()), 0);
    for (int v = 1; v < graph.count(); ++v)
        for (const int e : graph.node(v).incoming)
            layers[v] =
                std::max(layers[v], layers[graph.edges()[e].source] + (graph.edges()[e].has_parameters ? 1 : 0));
    return std::min(kMaxOrder, kStages * std::max(1, layers.back()));
}

}  // namespace

ImplicitStep::ImplicitStep(const Graph& graph, const Matrix& X, const DualSeries& duals, double rtol)
    : nodes_(RadauNodes::get()),
      stages_(modes_of(StageMatrix(nodes_.integration))),
      rtol_(rtol),
      tolerance_(std::max(kLatePart * rtol, kRounding)),
      order_(order_of(graph)),
      jet_(graph, X, duals, 2),
      shifts_(kStages, graph.parameters()),
      velocities_(kStages, graph.parameters()),
      duals_(kStages),
      multipliers_(kStages) {
    row_.assign(static_cast<std::size_t>(graph.parameters()), -1);
    int unit = 0;
    for (const Edge& edge : graph.edges())
        for (Index row = 0; row < edge.rows && edge.source == 0; ++row, ++unit)
            for (Index col = 0; col < edge.cols; ++col)
                if (const Index g = edge.at(row, col); g >= 0) row_[g] = unit;
    for (int k = 0; k < kStages; ++k)
        for (int node = 0; node < kStages; ++node) {
            double rate = 0.0;
            for (int j = kStages - 1; j >= 0; --j) rate = rate * nodes_.at[k] + (j + 1) * nodes_.to_monomial(j, node);
            rates_(k, node) = rate / nodes_.at[node];
        }
}

bool ImplicitStep::start(const Vector& theta, const Activity& activity) {
    activity_ = &activity;
    theta_ = theta;
    size_ = largest(theta);
    if (!(size_ > 0.0) || !evaluate(theta, true)) return false;
    velocity_ = jet_.theta(1);
    start_duals_ = jet_.duals().dual(0);
    log_unit_ = jet_.duals().log_unit();
    start_multipliers_.resize(jet_.sliding().count());
    for (int b = 0; b < jet_.sliding().count(); ++b) start_multipliers_[b] = jet_.sliding().multiplier(b)[0];
    rounding_ = rounding_of_velocity();
    return velocity_.allFinite();
}

Vector ImplicitStep::rounding_of_velocity() const {
    return kVelocityRounding * jet_.velocity_terms();
}

// False if the normals of what slides depend on each other.
bool ImplicitStep::evaluate(const Vector& theta, bool at_event) {
    jet_.start(theta, *activity_, 1.0, at_event);
    work_ += kVelocityWork;
    return jet_.advance();
}

bool ImplicitStep::evaluate_nodes(Interrupt& interrupt) {
    for (int node = 0; node < kStages; ++node) {
        if (interrupt.is_wanted()) throw Abandoned{};
        if (!evaluate(theta_ + shifts_.row(node).transpose(), false)) return false;
        const double pace = std::exp(log_unit_ - jet_.duals().log_unit());  // of the time here over that at the start
        velocities_.row(node) = pace * jet_.theta(1).transpose();
        duals_[node] = pace * jet_.duals().dual(0);
        multipliers_[node].resize(jet_.sliding().count());
        for (int b = 0; b < jet_.sliding().count(); ++b) multipliers_[node][b] = pace * jet_.sliding().multiplier(b)[0];
    }
    return velocities_.allFinite();
}

bool ImplicitStep::find_modes(const Vector& theta, Interrupt& interrupt) {
    has_modes_ = false;
    if (!evaluate(theta, false)) return false;
    modes_.theta = theta;
    modes_.duals = jet_.duals().dual(0);
    modes_.speed = jet_.theta(1).norm();
    modes_.log_unit = jet_.duals().log_unit();
    const Index count = theta.size();
    Eigen::MatrixXd derivative(count, count);
    Vector column(count);
    for (Index g = 0; g < count; ++g) {
        if (interrupt.is_wanted()) throw Abandoned{};
        jet_.velocity_along(Vector::Unit(count, g), column);
        derivative.col(g) = column;
    }
    for (Index g = 0; g < count && !jet_.sliding().empty(); ++g) {
        column = derivative.row(g).transpose();
        jet_.sliding().project(column);
        derivative.row(g) = column.transpose();
    }
    if (!derivative.allFinite()) return false;
    derivative = (0.5 * (derivative + derivative.transpose())).eval();
    split(derivative);
    const auto size = static_cast<double>(count);
    work_ += kColumnWork * size + kModesWork * size * size / static_cast<double>(modes_.duals.rows());
    scale_ = std::exp(log_unit_ - modes_.log_unit);
    see_rounding();
    return has_modes_ = true;
}

// Decomposes the derivative block by block, so that rounding mixes nothing of one block into another.
void ImplicitStep::split(Eigen::MatrixXd& derivative) {
    const Index count = derivative.rows();
    const double least = kFelt * derivative.cwiseAbs().maxCoeff();
    modes_.all.values.setZero(count);
    modes_.all.vectors.setZero(count, count);
    modes_.block.assign(static_cast<std::size_t>(count), -1);
    modes_.blocks = 0;
    for (Index first = 0; first < count; ++first) {
        if (modes_.block[first] >= 0) continue;
        std::vector<Index> members{first};
        modes_.block[first] = modes_.blocks;
        for (std::size_t m = 0; m < members.size(); ++m)
            for (Index g = 0; g < count; ++g)
                if (modes_.block[g] < 0 && std::abs(derivative(members[m], g)) > least) {
                    modes_.block[g] = modes_.blocks;
                    members.push_back(g);
                }
        const SymmetricModes own = symmetric_modes(derivative(members, members));
        for (std::size_t k = 0; k < members.size(); ++k) {
            modes_.all.values[members[k]] = own.values[static_cast<Index>(k)];
            modes_.all.vectors(members, members[k]) = own.vectors.col(static_cast<Index>(k));
        }
        ++modes_.blocks;
    }
}

Vector ImplicitStep::largest_by_block(const Vector& values) const {
    Vector most = Vector::Zero(modes_.blocks);
    for (Index g = 0; g < values.size(); ++g)
        most[modes_.block[g]] = std::max(most[modes_.block[g]], std::abs(values[g]));
    return most;
}

// What errors of a parameter, and corrections, are compared with: its block, the blocks of all by which its unit reads
// the data, or more where these would be what rounding moves it by.
void ImplicitStep::measure_blocks() {
    const Vector largest_of = largest_by_block(theta_);
    sizes_.resize(theta_.size());
    std::vector<double> rows;
    for (Index g = 0; g < theta_.size(); ++g) {
        sizes_[g] = largest_of[modes_.block[g]];
        if (row_[g] < 0) continue;
        rows.resize(std::max<std::size_t>(rows.size(), row_[g] + 1), 0.0);
        rows[row_[g]] = std::max(rows[row_[g]], sizes_[g]);
    }
    for (Index g = 0; g < theta_.size(); ++g) {
        if (row_[g] >= 0) sizes_[g] = rows[row_[g]];
        if (sizes_[g] == 0.0) sizes_[g] = size_;
    }
    moved_ = moved_by_rounding();
    units_ = sizes_.cwiseMax(moved_ / (kNewtonPart * tolerance_));
    sizes_ = sizes_.cwiseMax(moved_ / tolerance_);
}

double ImplicitStep::part(const Matrix& change) const {
    return (change.array().rowwise() / sizes_.transpose().array()).abs().maxCoeff();
}

// Finds the modes at a state unless those that are known differ by less than the step can tell.
bool ImplicitStep::know(const Vector& theta, const Matrix& duals, Interrupt& interrupt) {
    if (has_modes_) {
        const double moved = std::max(largest(theta - modes_.theta) / size_,
                                      (duals - modes_.duals).cwiseAbs().maxCoeff() /
                                          std::max(duals.cwiseAbs().maxCoeff(), std::numeric_limits<double>::min()));
        if (moved <= kNear && length_ * fastest() * moved <= kKnown) return true;
    }
    return find_modes(theta, interrupt);
}

double ImplicitStep::growth() const noexcept {
    return std::max(0.0, scale_ * modes_.all.values.maxCoeff());
}

double ImplicitStep::fastest() const noexcept {
    return scale_ * modes_.all.values.cwiseAbs().maxCoeff();
}

// Along each mode.
void ImplicitStep::see_rounding() {
    hidden_ = modes_.all.vectors.cwiseAbs().transpose() * rounding_;
}

double ImplicitStep::longest() const noexcept {
    return std::min(kLongestGrowth / growth(), longest_by_rounding());
}

// A direction that decays answers to what rounding makes of its velocity, however long the step is.
double ImplicitStep::longest_by_rounding() const noexcept {
    const double most = tolerance_ * size_;
    double length = std::numeric_limits<double>::infinity();
    for (Index m = 0; m < hidden_.size(); ++m) {
        const double driven = hidden_[m] - most * std::max(0.0, -scale_ * modes_.all.values[m]);
        if (driven > 0.0) length = std::min(length, most / driven);
    }
    return std::max(length, most / largest(rounding_));
}

// How far rounding of the velocity moves each parameter in a step.
Vector ImplicitStep::moved_by_rounding() const {
    const Eigen::ArrayXd decay = (-scale_ * modes_.all.values.array()).max(0.0);
    const Vector answer = (length_ * hidden_.array() / (1.0 + length_ * decay)).matrix();
    return (length_ * rounding_).cwiseMin(modes_.all.vectors.cwiseAbs() * answer);
}

bool ImplicitStep::is_stiff(double length, Interrupt& interrupt) {
    length_ = length;
    scale_ = std::exp(log_unit_ - modes_.log_unit);
    return know(theta_, start_duals_, interrupt) && length * fastest() > kStiff;
}

bool ImplicitStep::expand(Jet& jet, double length, bool is_exact, Interrupt& interrupt) {
    work_ = 0.0;
    is_exact_ = is_exact;
    length_ = length;
    scale_ = std::exp(log_unit_ - modes_.log_unit);
    if (!know(theta_, start_duals_, interrupt)) return refuse(kShrink);
    see_rounding();
    length_ = std::min(length_, longest());
    measure_blocks();
    const bool is_fresh = modes_.theta == theta_;
    if (!solve(interrupt)) {
        if (is_fresh || !find_modes(theta_, interrupt)) return refuse(kShrink);
        measure_blocks();
        if (!solve(interrupt)) return refuse(kShrink);
    }
    const double miss = std::max(smooth_error() / tolerance_, layer() / (kLayerPart * rtol_));
    if (!std::isfinite(miss)) return refuse(kShrink);
    propose(miss);
    if (miss > 1.0) return false;
    // What has begun to grow within the step would have been damped.
    if (!know(theta_ + shifts_.row(kStages - 1).transpose(), duals_.back(), interrupt)) return refuse(kShrink);
    if (length_ > 2.0 * longest()) return refuse(kShrink);
    return measure_missed(interrupt) ? fill(jet) : refuse(kShrink);
}

// The slow directions turn within a step, to which the modes of its begin answer slowly: the last few corrections say
// how (Anderson's acceleration).
bool ImplicitStep::solve(Interrupt& interrupt) {
    shifts_.setZero();
    velocities_.rowwise() = velocity_.transpose();
    Eigen::MatrixXd moves(shifts_.size(), kRemembered);
    Eigen::MatrixXd answers(shifts_.size(), kRemembered);
    Matrix last;
    double before = std::numeric_limits<double>::infinity();
    for (iterations_ = 0; iterations_ < kMaxIterations; ++iterations_) {
        if (iterations_ > 0 && !evaluate_nodes(interrupt)) return false;
        const Matrix change = correction().array().rowwise() / units_.transpose().array();
        const double size = change.cwiseAbs().maxCoeff();
        if (!std::isfinite(size)) return false;
        Matrix move = change;
        if (iterations_ > 1) {
            const Index count = std::min<Index>(iterations_ - 1, kRemembered);
            const Matrix answer = change - last;
            answers.col((iterations_ - 2) % kRemembered) = answer.reshaped<Eigen::RowMajor>();
            const Vector shares = least_squares(answers.leftCols(count), change.reshaped<Eigen::RowMajor>());
            const Vector known = (moves.leftCols(count) + answers.leftCols(count)) * shares;
            move.reshaped<Eigen::RowMajor>() -= known;
        }
        if (iterations_ > 0) moves.col((iterations_ - 1) % kRemembered) = move.reshaped<Eigen::RowMajor>();
        last = change;
        shifts_.array() += move.array().rowwise() * units_.transpose().array();
        const bool gains = is_exact_ && size <= kSlow * before && iterations_ + 1 < kMaxIterations;
        if (iterations_ > 0 && size <= kNewtonPart * tolerance_ && !gains) return true;
        if (iterations_ > kUnjudged && size > kSlow * before) return false;
        before = size;
    }
    return false;
}

// What a simplified Newton step corrects of θ at the nodes.
Matrix ImplicitStep::correction() const {
    const Matrix missed = (nodes_.integration * velocities_) * length_ - shifts_;
    const Eigen::MatrixXcd parts = stages_.left * (missed * modes_.all.vectors).cast<std::complex<double>>();
    Eigen::MatrixXcd solved(kStages, parts.cols());
    for (Index m = 0; m < parts.cols(); ++m)
        for (int k = 0; k < kStages; ++k)
            solved(k, m) = parts(k, m) / (1.0 - length_ * scale_ * modes_.all.values[m] * stages_.values[k]);
    return (stages_.right * solved).real() * modes_.all.vectors.transpose();
}

double ImplicitStep::smooth_error() const {
    return kErrorPart * part((nodes_.to_legendre.row(kStages - 1) * rates_) * shifts_);
}

// By how much the polynomials miss the velocity at the begin, for as long as each direction takes to answer.
double ImplicitStep::layer() const {
    Vector missed = -length_ * velocity_;
    for (int node = 0; node < kStages; ++node)
        missed += (nodes_.to_monomial(0, node) / nodes_.at[node]) * shifts_.row(node).transpose();
    Vector parts = modes_.all.vectors.transpose() * missed;
    parts.array() /= 1.0 + length_ * scale_ * modes_.all.values.array().abs();
    return part(parts.transpose());
}

bool ImplicitStep::fill(Jet& jet) const {
    std::vector<Vector> theta(kStages + 1, theta_);
    std::vector<Matrix> duals(kStages, Matrix::Zero(start_duals_.rows(), start_duals_.cols()));
    std::vector<Vector> multipliers(kStages, Vector::Zero(multipliers_.front().size()));
    for (int k = 0; k < kStages; ++k) {
        theta[k + 1].setZero();
        for (int node = 0; node < kStages; ++node) {
            const double part = nodes_.to_monomial(k, node);
            theta[k + 1] += (part / nodes_.at[node]) * shifts_.row(node).transpose();
            duals[k] += part * duals_[node];
            multipliers[k] += part * multipliers_[node];
        }
    }
    jet.start(theta_, *activity_, length_);
    if (!jet.follow(theta, duals, multipliers, order_, all_missed())) return false;
    jet.set_theta_error(rtol_ * size_);
    return true;
}

void ImplicitStep::propose(double miss) noexcept {
    const double most = std::clamp(kEnoughIterations / iterations_, 1.0, kMostLonger);
    const double power = miss > 1.0 ? 1.0 / kLayerOrder : 1.0 / kStages;
    const double ratio = miss > 0.0 ? 0.9 * std::pow(miss, -power) : most * most;
    next_length_ = length_ * std::clamp(ratio, kShrink, most * most);
}

bool ImplicitStep::refuse(double part) noexcept {
    next_length_ = part * length_;
    return false;
}

}  // namespace reluflow::layered
