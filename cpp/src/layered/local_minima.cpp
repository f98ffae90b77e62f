#include "layered/local_minima.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "layered/rest_search.hpp"
#include "layered/sign_search.hpp"

namespace reluflow::layered {
namespace {

/// Signs that are tried before cells are where it is asked whether all stay: bounds tell soon or not at all.
constexpr int kFirstLooks = 30;
/// What policies count: sides, their opposites, and places that stay.
constexpr std::array<std::array<int, 3>, 3> kScores{{{-1, 0, 1}, {1, 0, -1}, {1, 2, 0}}};

/// The way that has most of a score, in which places count as often as given; of equal ones that in which the first
/// place that differs has more.
std::size_t best_of(const std::vector<CellMinimum>& ways, const std::vector<int>& counts,
                    const std::array<int, 3>& score) {
    const auto is_less = [&](const CellMinimum& one, const CellMinimum& other) {
        int difference = 0;
        int first = 0;
        for (std::size_t a = 0; a < one.signs.size(); ++a) {
            const int here = score[one.signs[a] + 1] - score[other.signs[a] + 1];
            difference += counts[a] * here;
            if (first == 0) first = here;
        }
        return difference != 0 ? difference < 0 : first < 0;
    };
    return static_cast<std::size_t>(std::ranges::max_element(ways, is_less) - ways.begin());
}

}  // namespace

LocalMinima::LocalMinima(const LocalModel& model, std::vector<int> group, Interrupt* interrupt, std::vector<Rest> rest)
    : form_(model, std::move(group), std::move(rest)), interrupt_(interrupt) {}

std::vector<Minimum> LocalMinima::find() {
    put_in_what_is_certain();
    join_what_is_equal();
    if (!search()) return {};
    std::vector<Minimum> found;
    for (const std::vector<std::size_t>& choice : choices()) found.push_back(combine(choice));
    return found;
}

bool LocalMinima::stays(int first, bool may_rest) const {
    std::set<int> groups(form_.group.begin(), form_.group.end());
    groups.erase(groups.begin(), groups.lower_bound(first));
    const auto stays = [&](int group) {
        return stays_beside(group) || (may_rest && CellSearch(form_, interrupt_).rests(group));
    };
    return all_are_proved_to_stay(first) || std::ranges::all_of(groups, stays);
}

// Whether pulls show that all groups stay at once, which says more than that each does while all others stay.
bool LocalMinima::all_are_proved_to_stay(int first) const {
    const std::vector<char> none(form_.group.size(), 0);
    return std::ranges::all_of(form_.blocks(none), [&](const std::vector<int>& places) {
        if (std::ranges::none_of(places, [&](int a) { return form_.group[a] >= first; })) return true;
        std::vector<Vector> basis;
        const LocalForm block = form_.part(places).in_own_span(basis);
        std::vector<char> kept;
        for (const int group : block.group) kept.push_back(group >= 0 && group < first ? 1 : 0);
        return proves_rest(block, kept);
    });
}

std::vector<char> LocalMinima::kept_beside(int group) const {
    std::vector<char> kept;
    for (const int one : form_.group) kept.push_back(one >= 0 && one != group ? 1 : 0);
    return kept;
}

// Whether a group stays while all others do. What is kept leaves directions that are orthogonal to its normals, unless
// it reads what may move: then these depend on the signs of that.
bool LocalMinima::stays_beside(int group) const {
    const std::vector<char> kept = kept_beside(group);
    std::vector<Vector> basis;
    std::vector<int> open;
    for (int a = 0; a < form_.count(); ++a) {
        if (kept[a] == 0) {
            open.push_back(a);
            continue;
        }
        for (int b = 0; b < a; ++b)
            if (kept[b] == 0 && (form_.through_h(a, b) != 0.0 || form_.through_z(a, b) != 0.0))
                return CellSearch(form_, interrupt_).stays(group);
        if (!form_.normals.row(a).isZero(0.0)) add_direction(form_.normals.row(a).transpose(), basis);
    }
    LocalForm form = form_.part(open);
    std::ranges::fill(form.group, -1);
    form.leave_out(basis);
    std::vector<char> left_out(open.size(), 0);
    const std::vector<LocalForm::Joined> joined = form.join_equal(left_out);
    for (std::size_t a = 0; a < joined.size(); ++a) left_out[a] = joined[a].with >= 0 ? 1 : 0;
    return std::ranges::all_of(form.blocks(left_out), [&](const std::vector<int>& places) {
        const LocalForm block = form.part(places);
        SignSearch signs(block, interrupt_, kFirstLooks);
        const bool stays = signs.stays(form_.velocity.norm());
        return signs.gap() == nullptr ? stays : CellSearch(block, interrupt_).all_stay();
    });
}

// What is kept at zero has multipliers without bounds.
void LocalMinima::put_in_what_is_certain() {
    const auto count = static_cast<std::size_t>(form_.count());
    signs_.assign(count, 0);
    is_certain_.assign(count, 0);
    rest_ = form_;
    for (const std::vector<int>& block : form_.blocks(is_certain_)) {
        if (std::ranges::any_of(block, [&](int a) { return form_.group[a] >= 0; })) continue;
        const std::vector<int> signs = certain_signs(form_, block);
        for (std::size_t k = 0; k < block.size(); ++k) signs_[block[k]] = signs[k];
    }
    for (int a = 0; a < form_.count(); ++a) {
        if (signs_[a] == 0) continue;
        rest_.put_in(a, signs_[a]);
        is_certain_[a] = 1;
    }
}

void LocalMinima::join_what_is_equal() {
    joined_ = rest_.join_equal(is_certain_);
    blocks_.clear();
    std::vector<char> left_out = is_certain_;
    std::vector<int> counts(joined_.size(), 1);
    for (std::size_t a = 0; a < joined_.size(); ++a) {
        if (joined_[a].with < 0) continue;
        left_out[a] = 1;
        ++counts[joined_[a].with];
    }
    for (const std::vector<int>& places : rest_.blocks(left_out)) {
        blocks_.push_back({places, {}, {}});
        for (const int a : places) blocks_.back().counts.push_back(counts[a]);
    }
}

// What is slower than the rounding of all is at rest, so that each block has to know how fast the others are.
bool LocalMinima::search() {
    gap_ = nullptr;
    if (!search_each({})) return false;
    std::vector<double> elsewhere;
    const std::vector<std::size_t> first(blocks_.size(), 0);
    for (std::size_t b = 0; b < blocks_.size(); ++b) elsewhere.push_back(speed_beside(first, b));
    return std::ranges::all_of(elsewhere, [](double speed) { return speed == 0.0; }) || search_each(elsewhere);
}

bool LocalMinima::search_each(const std::vector<double>& elsewhere) {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        LocalForm form = rest_.part(blocks_[b].places);
        if (!elsewhere.empty()) form.elsewhere = elsewhere[b];
        if (!search_all(blocks_[b], form) && !search_some(blocks_[b], form)) return false;
    }
    return true;
}

// Few signs have most boundaries whose normals are independent, and few cells those in few dimensions.
bool LocalMinima::search_all(Block& block, const LocalForm& form) {
    if (block.is_too_large) return false;
    const bool any_kept = std::ranges::any_of(form.group, [](int group) { return group >= 0; });
    const auto found = [&](auto one) {
        block.ways = one.find();
        gap_ = one.gap();
        return gap_ == nullptr;
    };
    if (!any_kept && found(SignSearch(form, interrupt_, SignSearch::kFewLooks))) return true;
    if (found(CellSearch(form, interrupt_))) return true;
    return !any_kept && found(SignSearch(form, interrupt_, tried_of(SignSearch::kMostLooks, form.count())));
}

// Where there are too many ways to list, one of them is enough to go on.
bool LocalMinima::search_some(Block& block, const LocalForm& form) {
    if (gap_ != kTooManyWays && !block.is_too_large) return false;
    block.is_too_large = true;
    block.ways = CellSearch(form, interrupt_).find_some();
    gap_ = block.ways.empty() ? kTooManyWays : nullptr;
    lists_all_ = false;
    return gap_ == nullptr;
}

Vector LocalMinima::velocity_of(const std::vector<std::size_t>& choice) const {
    Vector d = rest_.velocity;
    for (std::size_t b = 0; b < blocks_.size(); ++b) d += blocks_[b].ways[choice[b]].change;
    return d;
}

// How fast all moves but one block, along normals.
double LocalMinima::speed_beside(const std::vector<std::size_t>& choice, std::size_t block) const {
    double speed = 0.0;
    for (std::size_t b = 0; b < blocks_.size(); ++b)
        if (b != block) speed = std::hypot(speed, blocks_[b].ways[choice[b]].direction.norm());
    const Vector d = velocity_of(choice);
    for (int a = 0; a < form_.count(); ++a) {
        const double length = form_.normals.row(a).norm();
        if (is_certain_[a] != 0 && length > 0.0)
            speed = std::max(speed, std::abs(form_.normals.row(a).dot(d)) / length);
    }
    return speed;
}

// The number of the way of each block.
std::vector<std::vector<std::size_t>> LocalMinima::choices() const {
    std::vector<std::vector<std::size_t>> all{std::vector<std::size_t>(blocks_.size(), 0)};
    for (std::size_t b = 0; b < blocks_.size() && all.size() <= kMostWays; ++b) {
        const std::size_t known = all.size();
        for (std::size_t way = 1; way < blocks_[b].ways.size(); ++way)
            for (std::size_t k = 0; k < known; ++k) {
                all.push_back(all[k]);
                all.back()[b] = way;
            }
    }
    if (all.size() <= kMostWays) return all;
    all.clear();
    const auto add = [&](const std::vector<std::size_t>& one) {
        if (std::ranges::find(all, one) == all.end()) all.push_back(one);
    };
    for (const std::array<int, 3>& score : kScores) {
        std::vector<std::size_t> base;
        for (const Block& block : blocks_) base.push_back(best_of(block.ways, block.counts, score));
        add(base);
        for (std::size_t b = 0; b < blocks_.size(); ++b)
            for (std::size_t way = 0; way < blocks_[b].ways.size(); ++way) {
                std::vector<std::size_t> other = base;
                other[b] = way;
                add(other);
            }
    }
    return all;
}

// The blocks move each in its own directions; what is certain moves with all of them.
Minimum LocalMinima::combine(const std::vector<std::size_t>& choice) const {
    Minimum all;
    all.signs = signs_;
    all.rates.assign(signs_.size(), 0.0);
    const Vector d = velocity_of(choice);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const CellMinimum& way = blocks_[b].ways[choice[b]];
        for (std::size_t k = 0; k < blocks_[b].places.size(); ++k) {
            all.signs[blocks_[b].places[k]] = way.signs[k];
            all.rates[blocks_[b].places[k]] = way.rates[k];
        }
    }
    for (int a = 0; a < form_.count(); ++a) {
        if (joined_[a].with < 0) continue;
        all.signs[a] = all.signs[joined_[a].with];
        all.rates[a] = joined_[a].times * all.rates[joined_[a].with];
    }
    for (int a = 0; a < form_.count(); ++a) {
        if (is_certain_[a] == 0) continue;
        double rate = form_.normals.row(a).dot(d);
        for (int b = 0; b < a; ++b) {
            const double slope = all.rates[b] > 0.0 ? 1.0 : form_.leak[b];
            rate += (form_.through_h(a, b) * slope + form_.through_z(a, b)) * all.rates[b];
        }
        all.rates[a] = rate;
    }
    stop_what_depends(d, all);
    return all;
}

// What is in the span of what stays does, too: where it is so but for the tolerance it has a rate by that.
void LocalMinima::stop_what_depends(const Vector& d, Minimum& all) const {
    Matrix rows = form_.normals;
    std::vector<Vector> resting;
    std::vector<int> slow;
    for (int a = 0; a < form_.count(); ++a) {
        for (int b = 0; b < a; ++b) {
            const double slope = all.signs[b] > 0 ? 1.0 : all.signs[b] < 0 ? form_.leak[b] : 0.0;
            const double passed = form_.through_h(a, b) * slope + form_.through_z(a, b);
            if (passed != 0.0) rows.row(a) += passed * rows.row(b);
        }
        const double length = rows.row(a).norm();
        if (all.signs[a] == 0 && length > 0.0) add_direction(rows.row(a).transpose(), resting);
        const bool has_none = length == 0.0;  // all that it reads stays: what it has is the rounding of that
        if (all.signs[a] != 0 && (has_none || std::abs(all.rates[a]) <= kDependentRow * length * d.norm()))
            slow.push_back(a);
    }
    for (const int a : slow) {
        Vector rest = rows.row(a).transpose();
        take_away(resting, rest);
        if (rest.norm() > kDependentRow * rows.row(a).norm()) continue;
        all.signs[a] = 0;
        all.rates[a] = 0.0;
    }
}

}  // namespace reluflow::layered
