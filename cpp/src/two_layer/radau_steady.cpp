#include "two_layer/radau_steady.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/products.hpp"

namespace reluflow {

namespace {

/// Where the response of the samples exceeds this for each direction that the network can move in, nearly all of these
/// count, and L is made of them: that is less work than as many columns of the Cholesky factor.
constexpr double kManyCount = 1.0;
/// Largest rank of L: the work of a step grows like its cube.
constexpr Index kMostDirections = 400;

}  // namespace

/// Reserves memory that stays untouched in a run without Radau steps.
SteadyResponse::SteadyResponse(const Dataset& data, Index neurons, const Objective& objective)
    : data_(data),
      is_linear_(!is_of_margins(objective.loss)),
      shares_mass_(!is_linear_),
      shares_(Vector::Ones(data.n())),
      neurons_(neurons),
      own_(data.n()),
      root_(data.n()),
      border_(data.n()),
      w_(data.rank(), neurons),
      w_now_(data.rank(), neurons),
      a_(neurons),
      a_now_(neurons),
      squares_(neurons),
      moving_(neurons),
      rest_(data.n()),
      new_(data.n()),
      product_(data.n()),
      direction_(data.rank()),
      left_(data.rank()),
      drawn_(neurons),
      taken_(neurons * data.rank()),
      real_(data.n()),
      imaginary_(data.n()),
      taken_re_(data.n()),
      taken_im_(data.n()),
      sum_(kStages, data.n()),
      mass_sum_(kStages) {
    const Index most = std::min(kMostDirections, data.n());
    const Index table = std::min(kMostOutputs, data.n() * neurons);
    samples_.reserve(data.n());
    rows_.reserve(data.n() * data.rank());
    outputs_.reserve(table);
    slopes_.reserve(table);
    held_.reserve(std::min(kMostOutputs, table * data.rank()));
    factor_.reserve(most * data.n());
    motion_.reserve(data.rank() * data.rank());
    gram_.reserve(most);
    part_.resize(2 * most);
    for (Mode& mode : modes_) {
        mode.border_re.resize(data.n());
        mode.border_im.resize(data.n());
    }
    for (Index i = 0; i < data.n(); ++i)
        if (objective.resting.rests(i)) shares_[i] = 0.0;
    set_growth(0.0);
}

void SteadyResponse::set_growth(double growth) {
    const RadauNodes& nodes = RadauNodes::get();
    const StageModes modes = growth == 0.0 ? nodes.constant_modes : modes_of(nodes.growing_integration(growth));
    mode_count_ = 0;
    for (Index i = 0; i < kStages; ++i) {
        const Complex value = modes.values[i];
        if (value.imag() < 0.0) continue;  // represented by its conjugate
        Mode& mode = modes_[mode_count_++];
        mode.value = value;
        mode.right = modes.right.col(i);
        mode.left = modes.left.row(i).transpose();
        mode.share = value.imag() > 0.0 ? 2.0 : 1.0;
    }
}

bool SteadyResponse::factor(Expansion& expansion, const Vector& weights, const Vector& answers, double step) {
    rank_ = 0;
    if (data_.n() * neurons_ > kMostOutputs) return false;
    list_samples(weights, answers, step, expansion.series().square());
    if (samples_.empty()) return false;
    if (!take_neurons(expansion)) return false;
    factor_.clear();
    if (!factor_kernel(expansion, step)) return false;
    if (shares_mass_)
        for (Mode& mode : modes()) find_border(mode);
    return true;
}

double SteadyResponse::work() const noexcept {
    const double rank = static_cast<double>(rank_);
    const double column = static_cast<double>(count() * (neurons_ + groups_ + held_count_ + data_.rank() + rank_));
    // L, its products and the reduction of these.
    return 2.0 * rank * column + 8.0 / 3.0 * rank * rank * rank;
}

/// Computes L by pivoted Cholesky, the largest remaining diagonal entry first, or as all features where most count: the
/// latter of a loss of errors alone. Where classes cannot be separated (iris, 60 neurons) it took more late steps.
bool SteadyResponse::factor_kernel(const Expansion& expansion, double step) {
    auto rest = rest_.head(count());
    auto column = new_.head(count());
    left_out_ = 0.0;
    if (is_linear_ && takes_features(expansion, step)) {
        reduce_gram();
        return true;
    }
    factor_.clear();
    find_own();
    for (Index k = 0; k < count(); ++k) rest[k] = step * root_[samples_[k]] * root_[samples_[k]] * own_[samples_[k]];
    for (rank_ = 0; rest.sum() > kLeftOut; ++rank_) {
        if (rank_ == std::min(kMostDirections, count())) return false;
        Index pivot = 0;
        const double largest = rest.maxCoeff(&pivot);
        find_column(pivot, step);
        for (Index m = 0; m < rank_; ++m) column -= factor()(m, pivot) * factor().row(m).transpose();
        column /= std::sqrt(largest);
        rest = (rest.array() - column.array().square()).max(0.0);
        rest[pivot] = 0.0;
        factor_.insert(factor_.end(), column.data(), column.data() + count());
    }
    left_out_ = rest.sum();
    reduce_gram();
    return true;
}

/// Makes L of all features where most of them count. What samples respond is the squares of its columns, so that no
/// sample is projected for it; where a bound without projections shows that it is too little, nothing is made.
bool SteadyResponse::takes_features(const Expansion& expansion, double step) {
    const Index features = count_features(expansion);
    const double enough = kManyCount * static_cast<double>(features);
    if (features > std::min(kMostDirections, count()) || response_bound(step) <= enough) return false;
    take_features(expansion, step);
    auto sum = rest_.head(count());
    sum.setZero();
    for (Index m = 0; m < rank_; ++m) sum.array() += factor().row(m).transpose().array().square();
    own_.setZero();
    for (Index k = 0; k < count(); ++k) own_[samples_[k]] = sum[k] / (step * root_[samples_[k]] * root_[samples_[k]]);
    return sum.sum() > enough;
}

/// What all samples respond, if no group slid.
double SteadyResponse::response_bound(double step) const noexcept {
    double sum = 0.0;
    for (Index k = 0; k < count(); ++k) {
        double own = 0.0;
        for (Index c = 0; c < groups_; ++c) {
            const double slope = slopes_[k * groups_ + c];
            own += slope * slope * squares_[c];
        }
        own *= data_.X().row(samples_[k]).squaredNorm();
        for (Index j = 0; j < neurons_; ++j) own += outputs_[k * neurons_ + j] * outputs_[k * neurons_ + j];
        sum += step * root_[samples_[k]] * root_[samples_[k]] * own;
    }
    return sum;
}

void SteadyResponse::reduce_gram() {
    multiply_self_transposed(factor(), gram_.matrix(rank_));
    gram_.reduce();
}

/// Columns of L as derivatives of the margins: by what each group can move, and by each output weight.
Index SteadyResponse::count_features(const Expansion& expansion) const noexcept {
    Index features = neurons_;
    for (Index c = 0; c < groups_; ++c) features += data_.rank() - expansion.held_count(c);
    return features;
}

void SteadyResponse::take_features(const Expansion& expansion, double step) {
    rank_ = count_features(expansion);
    factor_.resize(rank_ * count());
    auto L = factor();
    const double scale = std::sqrt(step);
    Index first = 0;
    for (Index c = 0; c < groups_; ++c) {
        const Index free = data_.rank() - expansion.held_count(c);
        if (free == 0) continue;
        auto part = L.middleRows(first, free);
        span_motion(expansion, c, free);
        multiply_transposed(motion(free), rows(), part);
        const double size = scale * std::sqrt(squares_[c]);
        for (Index k = 0; k < count(); ++k) part.col(k) *= size * slopes()(k, c) * root_[samples_[k]];
        first += free;
    }
    for (Index k = 0; k < count(); ++k)
        L.col(k).tail(neurons_) = scale * root_[samples_[k]] * outputs().row(k).transpose();
}

/// Rows whose products are the projector of a group: pivoted Cholesky of it, whose rank is known.
void SteadyResponse::span_motion(const Expansion& expansion, Index group, Index free) {
    const Index rank = data_.rank();
    auto found = motion(free);
    found.setZero();
    if (free == rank) {
        found.diagonal().setOnes();
        return;
    }
    for (Index x = 0; x < rank; ++x) {  // what the rows so far leave of the diagonal
        direction_.setZero();
        direction_[x] = 1.0;
        expansion.project(group, direction_.data());
        left_[x] = direction_[x];
    }
    for (Index m = 0; m < free; ++m) {
        Index pivot = 0;
        const double largest = left_.maxCoeff(&pivot);
        direction_.setZero();
        direction_[pivot] = 1.0;
        expansion.project(group, direction_.data());
        for (Index before = 0; before < m; ++before) direction_ -= found(before, pivot) * found.row(before).transpose();
        found.row(m) = direction_.transpose() / std::sqrt(largest);
        left_ = (left_.array() - found.row(m).transpose().array().square()).max(0.0);
        left_[pivot] = 0.0;
    }
}

void SteadyResponse::find_border(Mode& mode) {
    real_ = shares_;
    imaginary_.setZero();
    apply_kernel(mode, mode.border_re, mode.border_im);
    mode.border = mass_;
    for (Index k = 0; k < count(); ++k)
        mode.border -= shares_[samples_[k]] * weight(samples_[k]) * Complex(mode.border_re[k], mode.border_im[k]);
}

/// With z' = (I + value L Lᵀ)⁻¹ z = z - value L (I + value LᵀL)⁻¹ Lᵀ z for z = sqrt(p/c) (real_, imaginary_): what is
/// subtracted from the latter, for the responding samples.
void SteadyResponse::apply_kernel(const Mode& mode, Vector& real, Vector& imaginary) {
    for (Index k = 0; k < count(); ++k) {
        real[k] = border_[samples_[k]] * real_[samples_[k]];
        imaginary[k] = border_[samples_[k]] * imaginary_[samples_[k]];
    }
    auto part = part_.head(2 * rank_);
    part.head(rank_).noalias() = factor() * real.head(count());
    part.tail(rank_).noalias() = factor() * imaginary.head(count());
    const Complex value = since_ * mode.value;
    gram_.solve_shifted(value, part.head(rank_), part.tail(rank_));
    for (Index m = 0; m < rank_; ++m) {
        const Complex scaled = value * Complex(part[m], part[rank_ + m]);
        part[m] = scaled.real();
        part[rank_ + m] = scaled.imag();
    }
    real.head(count()).noalias() = factor().transpose() * part.head(rank_);
    imaginary.head(count()).noalias() = factor().transpose() * part.tail(rank_);
    for (Index k = 0; k < count(); ++k) {
        real[k] /= border_[samples_[k]];
        imaginary[k] /= border_[samples_[k]];
    }
}

/// (I + value H K)⁻¹ r for an eigenvalue of A: in each eigenvector of K no smaller than the mean of exp(-H K u) over
/// the step, since |value| < 1/2.
void SteadyResponse::settle(Vector& r, Vector& imaginary) {
    real_ = r;
    imaginary_.setZero();
    apply_kernel(modes_[0], taken_re_, taken_im_);
    for (Index k = 0; k < count(); ++k) {
        real_[samples_[k]] -= taken_re_[k];
        imaginary_[samples_[k]] -= taken_im_[k];
    }
    r = real_;
    imaginary = imaginary_;
}

/// The change of log D that gives the response in (real_, imaginary_) the mass `wanted`; it is taken off the response.
SteadyResponse::Complex SteadyResponse::take_mass(const Mode& mode, Complex wanted) {
    Complex sum = 0.0;
    for (Index i = 0; i < data_.n(); ++i) sum += shares_[i] * weight(i) * Complex(real_[i], imaginary_[i]);
    const Complex mass = (sum - wanted) / mode.border;
    real_ -= mass.real() * shares_;
    imaginary_ -= mass.imag() * shares_;
    for (Index k = 0; k < count(); ++k) {
        const Complex taken = mass * Complex(mode.border_re[k], mode.border_im[k]);
        real_[samples_[k]] += taken.real();
        imaginary_[samples_[k]] += taken.imag();
    }
    return mass;
}

void SteadyResponse::solve(Matrix& r, Vector& s) {
    sum_.setZero();
    mass_sum_.setZero();
    for (const Mode& mode : modes()) {
        const Index stages = r.rows();
        real_.setZero();
        imaginary_.setZero();
        Complex wanted = 0.0;
        for (Index node = 0; node < stages; ++node) {
            real_ += mode.left[node].real() * r.row(node).transpose();
            imaginary_ += mode.left[node].imag() * r.row(node).transpose();
            wanted += mode.left[node] * s[node];
        }
        apply_kernel(mode, taken_re_, taken_im_);
        for (Index k = 0; k < count(); ++k) {
            real_[samples_[k]] -= taken_re_[k];
            imaginary_[samples_[k]] -= taken_im_[k];
        }
        const Complex mass = shares_mass_ ? take_mass(mode, wanted) : 0.0;
        for (Index node = 0; node < stages; ++node) {
            const Complex right = mode.share * mode.right[node];
            sum_.row(node) += right.real() * real_.transpose() - right.imag() * imaginary_.transpose();
            mass_sum_[node] += (right * mass).real();
        }
    }
    r = sum_;
    s = mass_sum_;
}

}  // namespace reluflow
