#include "two_layer/neuron_motion.hpp"

#include <algorithm>
#include <cmath>

#include "base/tolerances.hpp"
#include "numeric/products.hpp"

namespace reluflow {

namespace {

using ConstMap = Eigen::Map<const Vector>;
using Map = Eigen::Map<Vector>;

/// Initial reserve, in numbers (32 MiB, touched only when used); grows geometrically.
constexpr std::size_t kStoreNumbers = std::size_t{1} << 22;
/// Numbers are multiplied by this before they are squared, as in StateSeries.
constexpr double kLift = 1e100;

template <int Count>
using Coordinates = Eigen::Array<double, Count, 1>;
template <int Count>
using ConstCoordinates = Eigen::Map<const Coordinates<Count>>;

/// Calls body<Count>(x) for the coordinates from x on that go through registers together, in order.
template <class Body>
void in_strips(Index rank, const Body& body, Index x = 0) noexcept {
    for (; x + 8 <= rank; x += 8) body.template operator()<8>(x);
    for (; x + 4 <= rank; x += 4) body.template operator()<4>(x);
    for (; x < rank; ++x) body.template operator()<1>(x);
}

/// The same with sixteen at a time first, where each coordinate is by itself: chains of additions side by side.
template <class Body>
void in_wide_strips(Index rank, const Body& body) noexcept {
    Index x = 0;
    for (; x + 16 <= rank; x += 16) body.template operator()<16>(x);
    in_strips(rank, body, x);
}

/// `Count` coordinates of a neuron; consecutive orders are `rank` apart.
template <int Count>
struct Strip {
    double* w;
    const double* g;
    const double* a;
    Index rank;
    int k;
    double factor;

    /// Order k + 1 of w = factor Σ_l a_l g_{k-l}; output += Σ_l w_l·g_{k-l}, eight coordinates after the other.
    void move(double& output) const noexcept {
        Coordinates<Count> speed = Coordinates<Count>::Zero();
        Coordinates<Count> rate = Coordinates<Count>::Zero();
        for (int l = 0; l <= k; ++l) {
            const ConstCoordinates<Count> gradient(g + (k - l) * rank);
            speed += a[l] * gradient;
            rate += ConstCoordinates<Count>(w + l * rank) * gradient;
        }
        Eigen::Map<Coordinates<Count>>(w + (k + 1) * rank) = factor * speed;
        if constexpr (Count == 16) {
            output += rate.template head<8>().sum();
            output += rate.template tail<8>().sum();
        } else {
            output += rate.sum();
        }
    }
};

/// Largest angle by which a neuron turns when its zero pre-activations are set to zero exactly.
constexpr double kPlaced = 2.0 * kZeroUlps * std::numeric_limits<double>::epsilon();

/// Initial reserve, in pieces per neuron; grows geometrically.
constexpr Index kUsualPieces = 4;

}  // namespace

NeuronMotion::NeuronMotion(const Dataset& data, const Waveform& waveform, double leak, Range neurons)
    : data_(data),
      waveform_(waveform),
      leak_(leak),
      neurons_(neurons),
      rank_(data.rank()),
      first_(neurons.count(), -1),
      last_(neurons.count(), -1),
      owed_part_(neurons.count(), 0),
      owed_(neurons.count() * data.rank()),
      gradient_((kMaxOrder + 2) * data.rank()),
      projected_((kMaxOrder + 2) * data.rank()),
      unit_(data.rank()),
      weights_(data.n()) {
    const std::size_t largest = (kMaxOrder + 1) * (2 * rank_ + 3);
    touched_.reserve(neurons.count());
    pieces_.reserve(kUsualPieces * neurons.count());
    store_.reserve(std::min(kStoreNumbers, kUsualPieces * neurons.count() * largest));
}

void NeuronMotion::begin_step(const StateSeries& series) {
    series_ = &series;
    order_ = series.order();
    for (const int neuron : touched_) first_[neuron - neurons_.begin] = last_[neuron - neurons_.begin] = -1;
    touched_.clear();
    pieces_.clear();
    used_ = 0;
    newest_ = -1;
    patience_ = 1.0;
}

int NeuronMotion::allocate(int neuron, double begin, bool with_gradient) {
    const std::size_t size = (order_ + 1) * (rank_ + 3) + (with_gradient ? order_ * rank_ : 0);
    if (used_ + size > store_.size()) store_.resize(used_ + size);
    pieces_.push_back({neuron, -1, begin, used_, 0.0, nullptr});
    used_ += size;
    return static_cast<int>(pieces_.size()) - 1;
}

int NeuronMotion::open(int neuron, const SlidingSet& held, const Matrix* held_part, const double* own,
                       const double* owed) {
    if (is_open(neuron)) return first(neuron);
    const int index = allocate(neuron, 0.0, true);
    first_[neuron - neurons_.begin] = last_[neuron - neurons_.begin] = index;
    touched_.push_back(neuron);
    double* w = data_of(index);
    double* a = w + (order_ + 1) * rank_;
    double* g = a + 3 * (order_ + 1);
    series_->copy(neuron, w, a, g);
    owed_part_[neuron - neurons_.begin] = own != nullptr ? 1 : 0;
    if (own != nullptr) {
        std::copy_n(own, rank_, g);
        std::copy_n(owed, rank_, this->owed(neuron));
    }
    pieces_[index].held = &held;
    pieces_[index].holds = !held.empty();
    if (held_part) Map(g, order_ * rank_) += ConstMap(held_part->data(), order_ * rank_);
    measure(index);
    return index;
}

bool NeuronMotion::output_positive(int piece) const noexcept {
    const double* begin = a(piece);
    const double* leading = std::find_if(begin, begin + order_ + 1, [](double c) { return c != 0.0; });
    return leading != begin + order_ + 1 && *leading > 0.0;
}

int NeuronMotion::follow(int piece, double u, const SlidingSet& held, const double* w, double a) {
    const int neuron = pieces_[piece].neuron;
    const int index = allocate(neuron, u, false);
    pieces_[index].turn_before = turn_to(piece, u) + kPlaced;
    pieces_[index].held = &held;
    pieces_[index].holds = !held.empty();
    pieces_[piece].next = index;
    last_[neuron - neurons_.begin] = index;
    double* data = data_of(index);
    std::copy_n(w, rank_, data);
    data[(order_ + 1) * rank_] = a;
    newest_ = index;
    expand(index, held);
    measure(index);
    return index;
}

void NeuronMotion::expand(int piece, const SlidingSet& held) {
    double* w = data_of(piece);
    double* a = w + (order_ + 1) * rank_;
    const double* g = gradient_.data();
    const int neuron = pieces_[piece].neuron;
    if (!held.empty() || is_owed(neuron)) {
        std::copy_n(g, order_ * rank_, projected_.data());
        if (is_owed(neuron)) {
            const ConstMap beside(owed(neuron), rank_);
            Eigen::Map<Vector> start(projected_.data(), rank_);
            if (beside.norm() <= kMostOwed * start.norm()) start += beside;
        }
        if (!held.empty()) held.project(projected_.data(), order_);
        g = projected_.data();
    }
    for (int k = 0; k < order_; ++k) {
        const double factor = waveform_.step() / (k + 1);
        double output = 0.0;
        in_wide_strips(rank_,
                       [&]<int Count>(Index x) { Strip<Count>{w + x, g + x, a, rank_, k, factor}.move(output); });
        a[k + 1] = factor * output;
    }
}

/// Splits the orders of a piece into the parts along w and across it.
void NeuronMotion::measure(int piece) noexcept {
    double* along = data_of(piece) + (order_ + 1) * (rank_ + 1);
    double* across = along + order_ + 1;
    const ConstMap start(w(piece), rank_);
    const double size = (kLift * start).norm() / kLift;
    const double scale = size > 0.0 ? 1.0 / size : 0.0;
    unit_ = scale * start;
    along[0] = size;
    across[0] = 0.0;
    const auto term = [&](std::size_t k) { return w(piece, static_cast<int>(k) + 1); };
    multiply_rows(static_cast<std::size_t>(order_), term, unit_.data(), rank_, along + 1);
    for (int k = 1; k <= order_; ++k) {
        const double* terms = w(piece, k);
        Coordinates<8> squares = Coordinates<8>::Zero();
        double rest = 0.0;
        in_strips(rank_, [&]<int Count>(Index x) {
            const Coordinates<Count> side =
                kLift * (ConstCoordinates<Count>(terms + x) - along[k] * ConstCoordinates<Count>(unit_.data() + x));
            if constexpr (Count == 8)
                squares += side.square();
            else
                rest += side.square().sum();
        });
        across[k] = std::sqrt(squares.sum() + rest) / kLift;
    }
}

/// Bounds the angle of a vector whose part along a direction is at least `kept` and whose part across it is at most
/// `side`: side / kept.
double NeuronMotion::turn_to(int piece, double u) const noexcept {
    const double v = u - pieces_[piece].begin;
    const double kept = size(piece) - fall_bound(along(piece), order_, v);
    const double side = tail_bound(across(piece), order_, 1, v);
    const bool bounded = kept > 0.0 && side < std::numeric_limits<double>::infinity();
    return bounded ? pieces_[piece].turn_before + side / kept : std::numeric_limits<double>::infinity();
}

double NeuronMotion::series_rest(int piece, double end) const noexcept {
    const int next = pieces_[piece].next;
    const double v = (next < 0 ? end : std::min(end, pieces_[next].begin)) - pieces_[piece].begin;
    const double whole = size(piece) + std::abs(a(piece)[0]);
    if (!(v > 0.0) || whole == 0.0) return 0.0;
    double rest = 0.0;
    for (int k = std::max(1, order_ - 1); k <= order_; ++k) rest = std::max(rest, term(piece, k) * std::pow(v, k));
    return rest / whole;
}

/// Nearly always a term at `end` is far below the error; roots are taken only where half of that does not bound it.
double NeuronMotion::known_until(int piece, double error, double end) const noexcept {
    const double whole = size(piece) + std::abs(a(piece)[0]) + series_->floor();
    const double begin = pieces_[piece].begin;
    for (int k = std::max(1, order_ - 1); k <= order_ && whole > 0.0; ++k) {
        double most = std::abs(along(piece)[k]) + across(piece)[k] + std::abs(a(piece)[k]);
        for (int i = 0; i < k; ++i) most *= end - begin;
        if (most <= 0.5 * error * whole) continue;
        end = std::min(end, begin + std::pow(error * whole / term(piece, k), 1.0 / k));
    }
    return end;
}

int NeuronMotion::in_force(int neuron, double u) const noexcept {
    int index = first(neuron);
    while (pieces_[index].next >= 0 && pieces_[pieces_[index].next].begin <= u) index = pieces_[index].next;
    return index;
}

int NeuronMotion::truncate(int neuron, double u) noexcept {
    const int index = in_force(neuron, u);
    pieces_[index].next = -1;
    last_[neuron - neurons_.begin] = index;
    return index;
}

void NeuronMotion::evaluate(int piece, double u, double* w, double& a) const noexcept {
    const double v = u - pieces_[piece].begin;
    if (v == 0.0) {  // higher orders overflow if a sample that drove nobody dominates from now on
        std::copy_n(this->w(piece), rank_, w);
        a = this->a(piece)[0];
        return;
    }
    in_wide_strips(rank_, [&]<int Count>(Index x) {
        Coordinates<Count> value = ConstCoordinates<Count>(this->w(piece, order_) + x);
        for (int k = order_ - 1; k >= 0; --k) value = value * v + ConstCoordinates<Count>(this->w(piece, k) + x);
        Eigen::Map<Coordinates<Count>>(w + x) = value;
    });
    a = reluflow::evaluate(this->a(piece), order_, v);
}

void NeuronMotion::boundary_series(int piece, const double* normal, double* c) const noexcept {
    const ConstMap e(normal, rank_);
    for (int k = 0; k <= order_; ++k) c[k] = e.dot(ConstMap(w(piece, k), rank_));
}

void NeuronMotion::load_gradient(int piece, double u) {
    const double shift = u - pieces_[piece].begin;
    at_hand_ = pieces_[piece].neuron;
    if (piece != newest_) std::copy_n(g(piece), order_ * rank_, gradient_.data());
    newest_ = -1;
    if (shift == 0.0) return;
    in_wide_strips(rank_, [&]<int Count>(Index x) {
        double* terms = gradient_.data() + x;
        for (int i = 0; i < order_ - 1; ++i) {
            Coordinates<Count> next = ConstCoordinates<Count>(terms + (order_ - 1) * rank_);
            for (int k = order_ - 2; k >= i; --k) {
                next = ConstCoordinates<Count>(terms + k * rank_) + shift * next;
                Eigen::Map<Coordinates<Count>>(terms + k * rank_) = next;
            }
        }
    });
}

void NeuronMotion::move_contribution(int boundary, double u, std::int8_t before, std::int8_t after) {
    if (before == after) return;
    Coefficients change;
    Coefficients of_side;
    std::fill_n(change, order_, 0.0);
    for (const std::int8_t side : {std::int8_t{-1}, std::int8_t{1}}) {
        const double part = (after == side ? 1.0 : 0.0) - (before == side ? 1.0 : 0.0);
        if (part == 0.0 || !side_series(boundary, u, side, of_side)) continue;
        for (int k = 0; k < order_; ++k) change[k] += part * of_side[k];
    }
    const double* normal = data_.normals().row(boundary).data();
    in_wide_strips(rank_, [&]<int Count>(Index x) {
        const Coordinates<Count> direction = ConstCoordinates<Count>(normal + x);
        for (int k = 0; k < order_; ++k)
            Eigen::Map<Coordinates<Count>>(gradient_.data() + k * rank_ + x) += change[k] * direction;
    });
    if (is_owed(at_hand_)) move_owed(boundary, before, after);
}

void NeuronMotion::move_owed(int boundary, std::int8_t before, std::int8_t after) {
    double change = 0.0;
    for (const int sample : data_.samples_of(boundary)) {
        const double coefficient = data_.coefficient(sample);
        const auto slope = [&](std::int8_t side) { return side == 0 ? 0.0 : (coefficient * side > 0.0 ? 1.0 : leak_); };
        change += coefficient * (slope(after) - slope(before)) * waveform_.owed()[sample];
    }
    Eigen::Map<Vector>(owed(at_hand_), rank_) += change * data_.normals().row(boundary).transpose();
}

}  // namespace reluflow
