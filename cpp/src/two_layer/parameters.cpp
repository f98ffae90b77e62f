#include "two_layer/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <string>

#include "base/errors.hpp"
#include "base/tolerances.hpp"

namespace reluflow {

namespace {

std::string text_of(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
}

/// Checks the size of each neuron, and of all together on the longest sample.
void check_sizes(const Dataset& data, const MatrixView& W, const VectorView& a) {
    double largest = 0.0;
    for (Index j = 0; j < a.size(); ++j) {
        const double size = std::hypot(W.row(j).stableNorm(), a[j]);
        largest = std::max(largest, size);
        if (size == 0.0 || (size >= kSmallestNeuron && size <= kLargestNeuron)) continue;
        throw InvalidArgument("W", "rows with |(w_j, a_j)| = " + text_of(size) + " at neuron " + std::to_string(j),
                              "zero or between " + text_of(kSmallestNeuron) + " and " + text_of(kLargestNeuron) +
                                  " in size, row by row with a");
    }
    double longest = 0.0;
    for (Index i = 0; i < data.n(); ++i) longest = std::max(longest, data.raw().row(i).stableNorm());
    const double output = static_cast<double>(a.size()) * largest * largest * longest;
    if (!(output <= kLargestOutput))
        throw InvalidArgument("W", text_of(output), "so small that m |θ|² |x| is at most " + text_of(kLargestOutput));
}

void check(const Dataset& data, const MatrixView& W, const VectorView& a, double leak) {
    if (W.rows() == 0 || W.cols() != data.d())
        throw InvalidArgument("W", "shape (" + std::to_string(W.rows()) + ", " + std::to_string(W.cols()) + ")",
                              "of shape (m, " + std::to_string(data.d()) + ")");
    if (a.size() != W.rows())
        throw InvalidArgument("a", std::to_string(a.size()) + " entries", std::to_string(W.rows()) + " entries");
    if (!W.allFinite()) throw InvalidArgument("W", "a non-finite value", "finite");
    if (!a.allFinite()) throw InvalidArgument("a", "a non-finite value", "finite");
    if (!(leak >= 0.0 && leak < 1.0)) throw InvalidArgument("leak", std::to_string(leak), "in [0, 1)");
    check_sizes(data, W, a);
}

/// a² - size², zero where rounding may be all of it. Of a neuron that rests in part the difference is that of its norm
/// in working coordinates: as a difference of all and what rests it would be off by rounding of these, and one that is
/// balanced there would pass zero. Where all of it is balanced, it is the square of what rests, to all digits.
double difference(double a, double size) {
    const double square = (std::abs(a) - size) * (std::abs(a) + size);
    const double noise = kBalanceUlps * std::numeric_limits<double>::epsilon() * a * a;
    return std::abs(square) <= noise ? 0.0 : square;
}

/// The norm of what a neuron of this size has outside the span of the samples. Rounding of the coordinates is not kept:
/// it would be all of a neuron in the span that decays.
double part_at_rest(Eigen::Ref<Eigen::RowVectorXd> part, double size) {
    const double norm = part.stableNorm();
    if (norm > kRestingUlps * std::numeric_limits<double>::epsilon() * size) return norm;
    part.setZero();
    return 0.0;
}

/// A neuron smaller than the first is scaled up ("lifted"), and a lifted one larger than the second is scaled back:
/// between them squares are doubles with all digits, and products with other neurons are far below the rounding of a
/// margin.
constexpr double kSmallest = 1e-130;
constexpr double kLargest = 1e-90;
/// The size that a neuron is lifted to.
constexpr double kLiftedTo = 1e-110;

}  // namespace

Parameters::Parameters(const Dataset& data, const MatrixView& W_in, const VectorView& a_in, double leak)
    : a(a_in),
      leak_(leak),
      invariant_(a_in.size()),
      at_rest_(Vector::Zero(a_in.size())),
      largest_(Vector::Zero(a_in.size())),
      parts_(data.rank(), a_in.size()),
      squares_(a_in.size()) {
    check(data, W_in, a_in, leak);
    const Matrix W = W_in;  // sums over a caller's memory would have bits that depend on its address
    if (data.is_full_rank()) {
        w = W.transpose();
    } else {
        const Matrix coordinates = W * data.basis();
        w = coordinates.transpose();
        resting_ = W - coordinates * data.basis().transpose();
        for (Index j = 0; j < a.size(); ++j) at_rest_[j] = part_at_rest(resting_.row(j), W.row(j).stableNorm());
    }
    lift_.assign(a.size(), 0);
    rescaled_.reserve(a.size());
    sleepers_.reserve(a.size());
    directions_.resize(w.rows(), w.cols());
    rescale();
    for (Index j = 0; j < a.size(); ++j) {
        const double whole = difference(a[j], std::ldexp(W.row(j).stableNorm(), lift_[j]));
        const bool rests = at_rest_[j] > 0.0 && whole != 0.0;
        invariant_[j] = rests ? difference(a[j], w.col(j).stableNorm()) : whole + at_rest_[j] * at_rest_[j];
    }
    largest_ = w.colwise().stableNorm();
}

double Parameters::size(Index neuron) const {
    return std::hypot(w.col(neuron).stableNorm(), a[neuron], at_rest_[neuron]);
}

/// The neuron times 2^exponent.
void Parameters::scale(Index neuron, int exponent) {
    const bool was_lifted = is_lifted(neuron);
    for (Index k = 0; k < rank(); ++k) w(k, neuron) = std::ldexp(w(k, neuron), exponent);
    a[neuron] = std::ldexp(a[neuron], exponent);
    at_rest_[neuron] = std::ldexp(at_rest_[neuron], exponent);
    largest_[neuron] = std::ldexp(largest_[neuron], exponent);
    invariant_[neuron] = std::ldexp(invariant_[neuron], 2 * exponent);
    parts_.scale(neuron, std::ldexp(1.0, exponent));
    lift_[neuron] += exponent;
    n_lifted_ += static_cast<Index>(is_lifted(neuron)) - static_cast<Index>(was_lifted);
    rescaled_.push_back(static_cast<int>(neuron));
}

bool Parameters::rescale() {
    rescaled_.clear();
    for (Index j = 0; j < neurons(); ++j) rescale(j);
    return !rescaled_.empty();
}

void Parameters::rescale(Index neuron) {
    if (std::abs(a[neuron]) >= kSmallest && !is_lifted(neuron)) return;
    const double now = size(neuron);
    if (now == 0.0) return;
    const int exponent = static_cast<int>(std::round(std::log2(kLiftedTo / now)));
    if (now < kSmallest)
        scale(neuron, exponent);
    else if (is_lifted(neuron) && now > kLargest)
        scale(neuron, std::max(exponent, -lift_[neuron]));
}

double Parameters::log_size(Index neuron) const {
    return std::log(size(neuron)) + (exponent_ - lift_[neuron]) * std::numbers::ln2;
}

void Parameters::shrink(int by) {
    for (Index j = 0; j < neurons(); ++j) {
        if (is_lifted(j)) {  // stored as it is: one more lift
            lift_[j] += by;
            continue;
        }
        for (Index k = 0; k < rank(); ++k) w(k, j) = std::ldexp(w(k, j), -by);
        a[j] = std::ldexp(a[j], -by);
        at_rest_[j] = std::ldexp(at_rest_[j], -by);
        largest_[j] = std::ldexp(largest_[j], -by);
        invariant_[j] = std::ldexp(invariant_[j], -2 * by);
        parts_.scale(j, std::ldexp(1.0, -by));
    }
    exponent_ += by;
    rescale();
}

void Parameters::decay(double factor) {
    w *= factor;
    a *= factor;
    largest_ *= factor;
    invariant_ *= factor * factor;
    for (Index j = 0; j < neurons(); ++j) parts_.scale(j, factor);
}

void Parameters::decay(Index neuron, double factor) {
    w.col(neuron) *= factor;
    a[neuron] *= factor;
    largest_[neuron] *= factor;
    invariant_[neuron] *= factor * factor;
    parts_.scale(neuron, factor);
}

void Parameters::start_at(int exponent) {
    exponent_ = exponent;
    resting_ *= std::ldexp(1.0, exponent);
}

void Parameters::put_to_sleep(Index neuron, double wakes_at) {
    const double output = a[neuron];
    sleepers_.push_back({static_cast<int>(neuron), output > 0.0 ? 1.0 : -1.0, log_size(neuron), wakes_at});
    directions_.col(neuron) = w.col(neuron) / std::abs(output);
    w.col(neuron).setZero();
    a[neuron] = 0.0;
    largest_[neuron] = 0.0;
    ++sleep_changes_;
}

bool Parameters::wake() {
    const std::size_t before = sleepers_.size();
    std::erase_if(sleepers_, [&](const Sleeper& sleeper) {
        if (sleeper.log_size < sleeper.wakes_at) return false;
        restore(sleeper);
        return true;
    });
    return sleepers_.size() < before;
}

void Parameters::restore(const Sleeper& sleeper) {
    const Index neuron = sleeper.neuron;
    const double log_size = sleeper.log_size - exponent_ * std::numbers::ln2;
    const int lift = std::max(0, static_cast<int>(std::round((std::log(kLiftedTo) - log_size) / std::numbers::ln2)));
    const double length = std::exp(log_size + lift * std::numbers::ln2) / std::numbers::sqrt2;
    w.col(neuron) = length * direction(sleeper);
    a[neuron] = std::copysign(length, sleeper.sign);
    largest_[neuron] = length;
    n_lifted_ += static_cast<Index>(lift > 0) - static_cast<Index>(is_lifted(neuron));
    lift_[neuron] = lift;
    parts_.forget(neuron);
    ++sleep_changes_;
}

// Weight decay takes neurons of any size there, between one step and the next and beside the others at rest.
void Parameters::lower(Matrix& weights, Vector& outputs) const {
    for (Index j = 0; j < neurons(); ++j) {
        const bool is_stored_so = !has_lifted() || (!is_lifted(j) && exponent_ == 0);
        if (is_stored_so && std::abs(outputs[j]) >= kSmallestNeuron) continue;
        const double factor = is_stored_so ? 1.0 : std::ldexp(1.0, exponent_ - lift_[j]);
        const double size = std::hypot(weights.col(j).stableNorm(), outputs[j]);
        const bool is_whole = size * factor >= kSmallestNeuron;
        weights.col(j) *= is_whole ? factor : 0.0;
        outputs[j] *= is_whole ? factor : 0.0;
    }
}

/// A neuron with |a| < |w| that rests in some coordinates; false for all others.
bool Parameters::restore_part(Index neuron, MovingParts::Column weights, double& output) const noexcept {
    if (!(invariant_[neuron] < 0.0)) return false;
    return parts_.restore(neuron, column(neuron), weights, output);
}

void Parameters::restore_invariant(Index neuron, double* weights, double& output) const noexcept {
    if (restore_part(neuron, {weights, 1}, output)) return;
    double square = 0.0;
    for (Index k = 0; k < rank(); ++k) square += weights[k] * weights[k];
    const double invariant = invariant_[neuron];
    if (invariant >= 0.0) {
        output = std::copysign(std::sqrt(square + invariant), output);
        return;
    }
    if (square == 0.0) return;
    const double scale = std::sqrt((output * output - invariant) / square);
    for (Index k = 0; k < rank(); ++k) weights[k] *= scale;
}

void Parameters::restore_invariants(Matrix& weights, Vector& outputs, const Vector& moved) const {
    squares_.setZero();
    for (Index x = 0; x < rank(); ++x) squares_ += weights.row(x).transpose().cwiseAbs2();
    for (Index j = 0; j < neurons(); ++j) {
        if (moved[j] == 0.0 || restore_part(j, {weights.data() + j, neurons()}, outputs[j])) continue;
        if (invariant_[j] >= 0.0)
            outputs[j] = std::copysign(std::sqrt(squares_[j] + invariant_[j]), outputs[j]);
        else if (squares_[j] > 0.0)
            weights.col(j) *= std::sqrt((outputs[j] * outputs[j] - invariant_[j]) / squares_[j]);
    }
}

void Parameters::take(Matrix& weights, Vector& outputs, const Vector& moved) {
    restore_invariants(weights, outputs, moved);
    for (Index j = 0; j < neurons(); ++j)
        if (moved[j] != 0.0 && invariant_[j] < 0.0) parts_.move(j, column(j), {weights.data() + j, neurons()});
    for (Index j = 0; j < neurons(); ++j)
        if (moved[j] != 0.0) largest_[j] = squares_[j] == 0.0 ? 0.0 : std::max(largest_[j], std::sqrt(squares_[j]));
    w.swap(weights);
    a.swap(outputs);
}

Matrix Parameters::full_weights(const Dataset& data) const {
    Matrix full(neurons(), data.d());
    full_weights(data, {w.data(), rank(), neurons()}, {full.data(), neurons(), data.d()});
    return full;
}

void Parameters::full_weights(const Dataset& data, Eigen::Map<const Matrix> moving, Eigen::Map<Matrix> full) const {
    if (data.is_full_rank()) {
        full = moving.transpose();
        return;
    }
    full.noalias() = moving.transpose() * data.basis().transpose();
    full += resting_;
}

}  // namespace reluflow
