// The search for the next boundary that a neuron meets on its last piece.
#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/products.hpp"
#include "two_layer/screening.hpp"

namespace reluflow {

namespace {

/// The first window of a search is this fraction (1 / kWindows) of the rest of the step; later ones are longer by
/// kLonger.
constexpr double kWindows = 4.0;
constexpr double kLonger = 4.0;
/// A window ends this much later than when the first boundary seems to be met, since the tangent is not the path; but
/// no window is shorter than this part of the rest of the step.
constexpr double kBeyond = 1.25;
constexpr double kShortest = 0x1p-16;

}  // namespace

/// Times are since the begin of the piece.
struct Screening::Search {
    int neuron;
    int piece;
    double end;
    double shortest;
    double longest;
    double soonest = std::numeric_limits<double>::infinity();  ///< when a candidate is met, by its tangent
    double until = 0.0;                                        ///< of the window, absolute in the step
    std::size_t count = 0;                                     ///< of candidates, taken off their shelves
    bool by_group = false;                                     ///< what bounds of the group exclude is left out
};

/// Searches in windows that grow: the next event is usually near, and few boundaries are within reach of a short
/// window.
Hit Screening::next_boundary(int neuron, double end) {
    const int piece = motion_.last(neuron);
    const double rest = end - motion_.piece(piece).begin;
    Search search{neuron, piece, end, kShortest * rest, rest / kWindows};
    search.by_group = piece == motion_.first(neuron) && bounds_.are_known();
    for (;;) {
        look_within(search);
        const Hit hit = finder_.first_boundary(piece, search.until, {candidates_.data(), search.count},
                                               mode_.pattern().row(neuron));
        if (hit.kind != HitKind::none || search.until == end) {
            put_back(search);
            return hit;
        }
        search.shortest = kLonger * std::max(search.shortest, search.until - motion_.piece(piece).begin);
        search.longest *= kLonger;
        search.soonest = std::numeric_limits<double>::infinity();
    }
}

/// Collects all boundaries that can be met in a window, shelf by shelf, until none that is farther away can come before
/// the one that seems to be met first.
void Screening::look_within(Search& search) {
    const double begin = motion_.piece(search.piece).begin;
    const Index list = local(search.neuron);
    double turn = 0.0;
    int last = 0;
    search.until = std::numeric_limits<double>::infinity();
    for (int shelf = 0;; ++shelf) {
        const double window = std::min(search.longest, std::max(search.shortest, kBeyond * search.soonest));
        const double until = begin + window < search.end ? begin + window : search.end;
        if (until < search.until) {
            search.until = until;
            turn = motion_.turn_to(search.piece, until) + kTurnTol;
            if (turn > shelves_.reach(list)) {
                widen(search.neuron, turn);
                search.count = 0;
                shelf = 0;
            }
            last = shelves_.shelf_of(list, turn);
        }
        shelf = shelves_.first_filled(list, shelf, last);
        if (shelf == TurnShelves::kShelves) return;
        measure(search, shelf, turn);
    }
}

/// Measures the boundaries of a shelf up to `turn` from the present state: they may be farther away than the sum of all
/// turns suggests. Those that are not are candidates.
void Screening::measure(Search& search, int shelf, double turn) {
    const Index list = local(search.neuron);
    int* entries = within_.data() + search.count;
    NearBoundary* candidates = candidates_.data() + search.count;
    const std::size_t taken = shelves_.take(list, shelf, turn, entries);
    const auto normal = [&](std::size_t k) { return data_.normals().row(shelves_.boundary(entries[k])).data(); };
    multiply_rows(taken, normal, motion_.w(search.piece), data_.rank(), distances_.data());
    const double size = motion_.size(search.piece);
    const double scale = size > 0.0 ? 1.0 / size : 0.0;
    const double turned = motion_.piece(search.piece).turn_before;
    const auto sides = mode_.pattern().row(search.neuron);
    std::size_t count = 0;
    for (std::size_t k = 0; k < taken; ++k) {
        const int entry = entries[k];
        const int boundary = shelves_.boundary(entry);
        double& not_before = shelves_.turn(entry);
        not_before = std::max(not_before, scale > 0.0 ? turned + scale * std::abs(distances_[k]) : 0.0);
        if (not_before <= turn && sides[boundary] != 0 &&
            (!search.by_group || may_come(search.neuron, boundary, distances_[k]))) {
            entries[count] = entry;
            candidates[count++] = {boundary, distances_[k], 0.0};
        } else {
            shelves_.put(list, entry);
        }
    }
    search.count += count;
    find_slopes(motion_.w(search.piece, 1), {candidates, count});
    const double zero = finder_.zero_tol(size);
    for (std::size_t k = 0; k < count; ++k) {
        const double side = sides[candidates[k].boundary];
        const double value = side * candidates[k].z;
        const double slope = side * candidates[k].slope;
        if (value > zero && slope < 0.0) search.soonest = std::min(search.soonest, value / -slope);
    }
}

void Screening::put_back(Search& search) noexcept {
    for (std::size_t k = 0; k < search.count; ++k) shelves_.put(local(search.neuron), within_[k]);
    search.count = 0;
}

void Screening::find_slopes(const double* rate, std::span<NearBoundary> candidates) {
    const auto normal = [&](std::size_t k) { return data_.normals().row(candidates[k].boundary).data(); };
    multiply_rows(candidates.size(), normal, rate, data_.rank(), distances_.data());
    for (std::size_t k = 0; k < candidates.size(); ++k) candidates[k].slope = distances_[k];
}

/// The boundaries that a neuron can have reached on its last piece until u.
std::span<const int> Screening::candidates(int neuron, double u) {
    const int piece = motion_.last(neuron);
    constexpr double kWhole = std::numeric_limits<double>::infinity();
    Search search{neuron, piece, u, kWhole, kWhole};
    look_within(search);
    near_.clear();
    for (std::size_t k = 0; k < search.count; ++k) near_.push_back(candidates_[k].boundary);
    put_back(search);
    return near_;
}

}  // namespace reluflow
