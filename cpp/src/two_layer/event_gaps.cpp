#include "two_layer/event_gaps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reluflow {

namespace {

/// The part of the mean that the last gap makes.
constexpr double kLastPart = 0.125;

}  // namespace

/// Events come in crowds with long gaps between: of the arithmetic mean one long gap is most, for many events after it.
/// The geometric one says what the next gap is likely to be, and a gap that is long counts once it is.
void EventGaps::went(double length, std::ptrdiff_t events, double plain) noexcept {
    open_ += length;
    if (events == 0) return;
    const double gap = std::max(open_ / static_cast<double>(events), plain);
    open_ = 0.0;
    if (!(gap > 0.0)) return;
    const double kept = std::pow(1.0 - kLastPart, static_cast<double>(events));
    mean_ = mean_ > 0.0 ? gap * std::pow(mean_ / gap, kept) : gap;
}

double EventGaps::expected() const noexcept {
    return mean_ > 0.0 ? std::max(mean_, open_) : std::numeric_limits<double>::infinity();
}

}  // namespace reluflow
