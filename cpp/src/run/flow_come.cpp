/// Whether a flow with weight decay has come to its critical point: Newton's step from where it is says how far that
/// is.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/tolerances.hpp"
#include "numeric/krylov.hpp"
#include "problem/loss.hpp"
#include "run/flow.hpp"

namespace reluflow {

namespace {

/// A flow has come once the critical point is nearer than this part of rtol, relative to |θ|.
constexpr double kComePart = 0.1;
/// A neuron of this part of that distance is no part of it.
constexpr double kSmallPart = 0.1;
/// What a velocity is known to, in sums of the roundings of its terms.
constexpr double kRoundings = 8.0;
/// What grows at a smaller part of the decay stands: neurons of one sector may share what they hold in any way.
constexpr double kGrows = 1e-6;
/// And in so many roundings of the fastest mode.
constexpr double kValueRoundings = 64.0;
/// Modes that are looked for: the slowest, which matter, are among the first that are found. Mostly a few say that the
/// flow has not come.
constexpr Index kFewModes = 32;
constexpr Index kMostModes = 300;
/// It is not asked where gradients of margins would have more entries than this, 400 MB of them.
constexpr double kMostEntries = 5e7;
/// It is asked again after so many steps, and this part of the duration.
constexpr std::int64_t kStepsBetween = 10;
constexpr double kAgain = 0.2;

}  // namespace

/// The neurons that are a part of the network, to what rest asks for.
std::vector<Index> Flow::neurons_that_count() const {
    const double least = kSmallPart * kComePart * plan_.settings.rtol * std::sqrt(stepper_->square());
    std::vector<Index> list;
    for (Index j = 0; j < state_.neurons(); ++j)
        if (!state_.parameters.is_lifted(j) && state_.parameters.log_size(static_cast<int>(j)) > std::log(least))
            list.push_back(j);
    return list;
}

/// The velocity of some neurons, in rescaled time.
Vector Flow::velocity_of(const std::vector<Index>& neurons) const {
    const Parameters& all = state_.parameters;
    const double decay = stepper_->waveform().decay_rate();
    const Index stride = all.rank() + 1;
    Vector velocity(std::ssize(neurons) * stride);
    for (Index k = 0; k < std::ssize(neurons); ++k) {
        const Index j = neurons[static_cast<std::size_t>(k)];
        const auto g = stepper_->expansion().start_gradient(j);
        velocity.segment(k * stride, all.rank()) = all.a[j] * g - decay * all.w.col(j);
        velocity[k * stride + all.rank()] = g.dot(all.w.col(j)) - decay * all.a[j];
    }
    return velocity;
}

/// The gradients of the margins of the samples that drive somebody, over some neurons, (neurons (r + 1), samples).
Eigen::MatrixXd Flow::margin_gradients(const std::vector<Index>& neurons, const std::vector<Index>& samples) const {
    const Index stride = state_.parameters.rank() + 1;
    Eigen::MatrixXd gradients(std::ssize(neurons) * stride, std::ssize(samples));
    Vector all(state_.neurons() * stride);
    for (Index c = 0; c < gradients.cols(); ++c) {
        margin_gradient(samples[static_cast<std::size_t>(c)], all);
        for (Index k = 0; k < std::ssize(neurons); ++k)
            gradients.col(c).segment(k * stride, stride) =
                all.segment(neurons[static_cast<std::size_t>(k)] * stride, stride);
    }
    return gradients;
}

/// By how much weights fall as their margins grow, relative to the mass.
Vector Flow::responses_of(const std::vector<Index>& samples) const {
    const Waveform& waveform = stepper_->waveform();
    Vector responses(std::ssize(samples));
    for (Index c = 0; c < responses.size(); ++c) {
        const Index i = samples[static_cast<std::size_t>(c)];
        const double margin = stepper_->expansion().margins()[i];
        const double by_margin = waveform.is_linear() ? 1.0 : weight_decay_rate(plan_.objective.loss, margin);
        responses[c] = waveform.response(i) * by_margin;
    }
    return responses;
}

/// Newton's step to the critical point of the present pattern, mode by mode. What rounding makes of weights moves the
/// network along the gradients of their margins, to which slow modes are at right angles: these are known better than
/// any rate. Where that hides the decay nothing finer counts, and rest() says what it still moves. `grows`: some mode
/// that is seen does.
Vector Flow::way_to_critical_point(const std::vector<Index>& neurons, const std::vector<Index>& samples,
                                   const Eigen::MatrixXd& gradients, Index most, bool& grows) const {
    const double decay = stepper_->waveform().decay_rate();
    const Index rank = state_.parameters.rank();
    const Vector responses = responses_of(samples);
    const auto derivative_along = [&](const Vector& v) -> Vector {
        Vector out = -decay * v - gradients * responses.cwiseProduct(gradients.transpose() * v);
        for (Index k = 0; k < std::ssize(neurons); ++k) {
            const auto g = stepper_->expansion().start_gradient(neurons[static_cast<std::size_t>(k)]);
            const Index begin = k * (rank + 1);
            out.segment(begin, rank) += v[begin + rank] * g;
            out[begin + rank] += g.dot(v.segment(begin, rank));
        }
        return out;
    };
    const KrylovModes modes = krylov_modes(derivative_along, velocity_of(neurons), most);
    Vector roundings(responses.size()), slopes;
    for (Index c = 0; c < responses.size(); ++c)
        roundings[c] = rounding_of_weight(samples[static_cast<std::size_t>(c)], slopes);
    constexpr double kUlp = std::numeric_limits<double>::epsilon();
    const std::vector<char> hidden = hides_decay();
    const bool is_hidden = std::find(hidden.begin(), hidden.end(), 1) != hidden.end();
    const double of_pull = is_hidden ? rounding_of_pulls().maxCoeff() : kUlp * stepper_->waveform().mean_norm();
    const double of_sums = of_pull * std::sqrt(stepper_->square());
    const double still = std::max(kGrows * decay, kValueRoundings * kUlp * modes.largest());
    Vector way = Vector::Zero(gradients.rows());
    grows = false;
    for (Index k = 0; k < modes.values.size(); ++k) {
        const Vector moved = roundings.cwiseProduct(gradients.transpose() * modes.vectors.col(k));
        if (std::abs(modes.parts[k]) <= kRoundings * std::hypot(moved.norm(), of_sums)) continue;
        grows |= modes.values[k] > still;
        way -= modes.parts[k] / modes.values[k] * modes.vectors.col(k);
    }
    return way;
}

/// Whether the velocity alone, over a bound of the rate of the fastest mode, leads farther than `allowed`.
bool Flow::is_far(const std::vector<Index>& neurons, const std::vector<Index>& samples, double allowed) const {
    const double size = std::sqrt(stepper_->square());
    const Vector responses = responses_of(samples);
    double fastest = 0.0;
    for (const Index j : neurons) fastest = std::max(fastest, stepper_->expansion().start_gradient(j).norm());
    fastest += stepper_->waveform().decay_rate();
    for (Index c = 0; c < responses.size(); ++c)
        fastest += responses[c] * data_.X().row(samples[static_cast<std::size_t>(c)]).squaredNorm() * size * size;
    const double speed = velocity_of(neurons).norm();
    if (speed <= allowed * fastest) return false;
    double rounding = rounding_of_pulls().maxCoeff() * size;
    Vector slopes;
    for (const Index i : samples) rounding += rounding_of_weight(i, slopes) * data_.X().row(i).norm() * size;
    return speed > allowed * fastest + kRoundings * rounding;
}

/// Whether the flow, with weight decay, has come so near to a critical point that nothing is left of its way, and none
/// of its neurons is to grow there. A rate cannot tell: truncation keeps fast modes alive at rates far above those of
/// slow ones that have far to go. To be asked after each step; it looks only so often.
bool Flow::has_come() {
    if (rest_trend_.elapsed() < look_at_ || steps() < look_from_) return false;
    stepper_->settle();
    const std::vector<Index> neurons = neurons_that_count();
    std::vector<Index> samples;
    for (Index i = 0; i < data_.n(); ++i)
        if (stepper_->waveform().is_live(i)) samples.push_back(i);
    const double rows = static_cast<double>(neurons.size()) * static_cast<double>(data_.rank() + 1);
    if (rows * static_cast<double>(samples.size()) > kMostEntries) return false;
    const double allowed = kComePart * plan_.settings.rtol * std::sqrt(stepper_->square());
    bool is_there = !is_far(neurons, samples, allowed);
    const Eigen::MatrixXd gradients = is_there ? margin_gradients(neurons, samples) : Eigen::MatrixXd();
    Vector way;
    for (const Index most : {kFewModes, kMostModes}) {  // the way grows with each mode that is found
        if (!is_there) break;
        bool grows = false;
        way = way_to_critical_point(neurons, samples, gradients, most, grows);
        is_there = !grows && way.norm() <= allowed;
    }
    if (is_there) {
        note_pulls(samples, -responses_of(samples).cwiseProduct(gradients.transpose() * way));
        if (!wakes(neurons)) return true;
    }
    look_at_ = (1.0 + kAgain) * rest_trend_.elapsed();
    look_from_ = steps() + kStepsBetween;
    return false;
}

/// The gradients of the neurons in units of the decay, with these changes of the weights: fast modes that truncation
/// keeps alive may make gradients far above a small decay.
void Flow::note_pulls(const std::vector<Index>& samples, const Vector& changes) {
    const double decay = stepper_->waveform().decay_rate();
    pulls_at_rest_.resize(data_.rank(), state_.neurons());
    Vector g(data_.rank());
    for (Index j = 0; j < state_.neurons(); ++j) {
        g.setZero();
        for (Index c = 0; c < changes.size(); ++c) {
            const Index i = samples[static_cast<std::size_t>(c)];
            const int side = state_.mode.side(j, data_.boundary_of(i)) * data_.orientation(i);
            if (side == 0) continue;
            const double slope = side > 0 ? 1.0 : state_.parameters.leak();
            g += slope * data_.signs()[i] * changes[c] * data_.X().row(i).transpose();
        }
        state_.mode.held(j).project(g.data());
        pulls_at_rest_.col(j) = (g + stepper_->expansion().start_gradient(j)) / decay;
    }
}

/// Whether one of the neurons that do not count is to grow, or turns to where it may.
bool Flow::wakes(const std::vector<Index>& counted) const {
    const double decay = stepper_->waveform().decay_rate();
    auto next = counted.begin();
    for (Index j = 0; j < state_.neurons(); ++j) {
        if (next != counted.end() && *next == j) {
            ++next;
            continue;
        }
        const Vector g = decay * pulls_at_rest_.col(j);
        if (stepper_->expansion().rate_to_come(j, g) > kGrows * decay) return true;
    }
    return false;
}

}  // namespace reluflow
