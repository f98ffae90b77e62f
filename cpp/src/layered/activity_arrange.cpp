/// Sides that are given to places, or told by series: a part of Activity.
#include <algorithm>
#include <utility>

#include "layered/activity.hpp"

namespace reluflow::layered {
namespace {

/// Rounds until the entries that are kept at zero, and with them what a unit reads, stay the same.
constexpr int kMaxRounds = 6;

}  // namespace

void Activity::arrange(const std::vector<Given>& given, const Vector& theta) {
    for (const Given& one : given)
        if (one.side != 0 && mode(one.place) == Mode::sliding) {
            leave_boundary(one.place);
            set(one.place, one.side, Mode::moving);
        }
    std::vector<std::vector<char>> zero;
    std::vector<std::vector<double>> rate;
    for (const Node& node : graph_->nodes()) {
        zero.emplace_back(node.size, 0);
        rate.emplace_back(node.size, 0.0);
    }
    std::vector<Change> ignored;
    given_ = &given;
    auto kept_before = kept();
    for (int round = 0; round < kMaxRounds; ++round) {
        zeros_.clear();
        for (Index i = 0; i < samples(); ++i) {
            for (int v = 1; v < graph_->count(); ++v)
                for (Index u = 0; u < graph_->node(v).size; ++u) {
                    zero[v][u] = mode({v, i, u}) != Mode::moving ? 1 : 0;
                    rate[v][u] = 0.0;
                }
            rewire(i, theta, 1, zero, rate, ignored);
        }
        regroup(theta, 1, ignored);
        auto kept_now = kept();
        if (round > 0 && kept_now == kept_before && touched_.empty()) break;
        kept_before = std::move(kept_now);
    }
    given_ = nullptr;
}

const Told* Activity::told_of(const Place& p) const noexcept {
    if (told_ == nullptr) return nullptr;
    const auto found = std::ranges::find(*told_, p, &Told::place);
    return found == told_->end() ? nullptr : &*found;
}

void Activity::take(const Given& given, bool renamed) {
    const Place& p = given.place;
    if (given.side != 0) {
        if (mode(p) == Mode::sliding) leave_boundary(p);
        set(p, given.side, Mode::moving);
        zeros_.push_back({p, given.orders, true});
    } else if (mode(p) != Mode::sliding) {
        slide(boundary_of(p));
    } else if (renamed) {
        stale_.push_back({p, 0.0});
    }
}

}  // namespace reluflow::layered
