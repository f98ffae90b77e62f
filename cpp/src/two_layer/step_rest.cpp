// What of a neuron rests, because nothing that acts on it moves it there.
#include "base/tolerances.hpp"
#include "two_layer/step.hpp"

namespace reluflow {

/// Where that is not known since the last event of the neuron.
void Stepper::note_rest() {
    const Parameters& neurons = state_.parameters;
    for (int j = 0; j < static_cast<int>(state_.neurons()); ++j) {
        if (!neurons.asks_for_rest(j)) continue;
        if (find_span(j))
            state_.parameters.rest_beside(j, acting_span_);
        else
            note_rest_of_coordinates(j);
    }
}

bool Stepper::acts(int neuron, int boundary) const {
    const std::int8_t side = state_.mode.side(neuron, boundary);
    if (side == 0) return false;
    if (state_.parameters.leak() > 0.0) return true;
    for (const int sample : data_.samples_of(boundary))
        if (sample_sign(data_, sample, side) > 0) return true;
    return false;
}

/// What the few boundaries that act on the neuron span, beside those on which it slides. False where they are many.
bool Stepper::find_span(int neuron) {
    acting_.clear();
    for (int boundary = 0; boundary < data_.n_boundaries(); ++boundary) {
        if (!acts(neuron, boundary)) continue;
        if (acting_.size() == MovingParts::kMostInSpan) return false;
        acting_.push_back(boundary);
    }
    const Index rank = data_.rank();
    acting_span_.clear();
    for (const int boundary : acting_) {
        column_ = data_.normals().row(boundary).transpose();
        state_.mode.held(neuron).project_fully(column_.data());
        for (int pass = 0; pass < 2; ++pass)  // Gram-Schmidt, twice for the rounding of the first
            for (Index i = 0; i < std::ssize(acting_span_) / rank; ++i) {
                const Eigen::Map<const Vector> known(acting_span_.data() + i * rank, rank);
                column_ -= known.dot(column_) * known;
            }
        const double length = column_.norm();
        if (length <= kRankTol) continue;
        column_ /= length;
        acting_span_.insert(acting_span_.end(), column_.begin(), column_.end());
    }
    return true;
}

void Stepper::note_rest_of_coordinates(int neuron) {
    const bool leaks = state_.parameters.leak() > 0.0;  // then all samples act
    acts_.assign(static_cast<std::size_t>(data_.rank()), leaks ? 1 : 0);
    Index left = leaks ? 0 : data_.rank();
    for (Index i = 0; i < data_.n() && left > 0; ++i) {
        const int boundary = data_.boundary_of(i);
        if (sample_sign(data_, i, state_.mode.side(neuron, boundary)) < 0) continue;
        for (Index k = 0; k < data_.rank(); ++k) {
            if (acts_[k] != 0 || data_.normals()(boundary, k) == 0.0) continue;
            acts_[k] = 1;
            --left;
        }
    }
    state_.parameters.rest_in(neuron, acts_);
}

}  // namespace reluflow
