/// Boundaries on which a neuron slides, and what their samples weigh comes to zero.
#include <algorithm>
#include <limits>

#include "base/tolerances.hpp"
#include "two_layer/dependent_slide.hpp"

namespace reluflow {

/// Boundaries whose samples weigh nothing any more add nothing. Errors that have come to zero are rounding.
void DependentSlide::close() {
    const double rounding = kCornerUlps * std::numeric_limits<double>::epsilon() * weight_;
    const double zero = motion_.waveform().is_linear() ? rounding : 0.0;
    for (Index w = 0; w < kinks_.rows(); ++w) {
        const auto sign = signs_.of(set_[w]);
        if (!closes_[static_cast<std::size_t>(w)] && !(sign && sign_ * *sign * kinks_(w, 0) <= zero)) continue;
        below_.row(w).setZero();
        above_.row(w).setZero();
        kinks_.row(w).setZero();
    }
}

/// When the first of the boundaries closes that do, and which have by then.
double DependentSlide::first_to_close(double end) {
    const double noise = kCornerUlps * std::numeric_limits<double>::epsilon() * weight_ + unknown_;
    Numbers falls(set_.size(), kNoRoot);
    for (std::size_t w = 0; w < set_.size(); ++w)
        if (signs_.of(set_[w])) falls[w] = known_fall(kinks_.row(static_cast<Index>(w)).data(), order_, noise, end).at;
    const double first = *std::min_element(falls.begin(), falls.end());
    for (std::size_t w = 0; w < set_.size(); ++w) closes_[w] = falls[w] <= first && first < end;
    return first;
}

/// Expands all series about a later time.
void DependentSlide::go_on_from(double u) {
    for (Index w = 0; w < below_.rows(); ++w) {
        shift_origin(below_.row(w).data(), order_, u);
        shift_origin(above_.row(w).data(), order_, u);
        kinks_.row(w) = sign_ * (above_.row(w) - below_.row(w));
    }
    Matrix rest = rest_.transpose();
    for (Index x = 0; x < rest.rows(); ++x) shift_origin(rest.row(x).data(), order_, u);
    rest_ = rest.transpose();
}

/// Samples on one boundary may pull against each other, and the weight of an error can pass zero: then an attracting
/// boundary can become a repelling one. A kink that only tends to zero, as where samples balance or are fitted, passes
/// it by errors of their weights, and has not.
double DependentSlide::first_change_of_kink(double end) const {
    const double noise = kCornerUlps * std::numeric_limits<double>::epsilon() * weight_ + unknown_;
    double first = end;
    for (std::size_t w = 0; w < set_.size(); ++w) {
        if (signs_.of(set_[w])) continue;
        Coefficients kink{};
        std::copy_n(kinks_.row(static_cast<Index>(w)).data(), order_ + 1, kink);
        first = std::min(first, known_fall(kink, order_, noise, first).at);
    }
    return first;
}

}  // namespace reluflow
