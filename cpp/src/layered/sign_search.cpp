#include "layered/sign_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "numeric/decompositions.hpp"

namespace reluflow::layered {
namespace {

/// Minima that are found of one block.
constexpr std::size_t kMostFound = 4000;

bool is_decided(std::uint8_t options) noexcept {
    return options == kUp || options == kDown;
}

bool is_open(std::uint8_t options) noexcept {
    return !is_decided(options) && options != kRests;
}

}  // namespace

SignSearch::SignSearch(const LocalForm& form, Interrupt* interrupt, int most_looks)
    : interrupt_(interrupt),
      full_(form.velocity.size()),
      form_(form.in_own_span(basis_)),
      places_(static_cast<std::size_t>(form.count())),
      bounds_(form_, (std::iota(places_.begin(), places_.end(), 0), places_)),
      most_looks_(most_looks) {}

std::vector<CellMinimum> SignSearch::find() {
    found_.clear();
    gap_ = nullptr;
    looks_ = 0;
    search(Options(places_.size(), kAnything));
    if (gap_ == nullptr && found_.empty()) gap_ = kHiddenMinimum;
    if (gap_ != nullptr) found_.clear();
    return std::move(found_);
}

// To first order the loss is a homogeneous function of a direction d, and ½|d|² is added: in whatever direction d ≠ 0
// it is least, it is below zero. So no such direction may be found.
bool SignSearch::stays(double size) {
    found_.clear();
    gap_ = nullptr;
    looks_ = 0;
    least_ = kSameDirection * (form_.rounding(Vector::Zero(form_.velocity.size())) + kActingRounding * size);
    search(Options(places_.size(), kAnything));
    return gap_ == nullptr && found_.empty();
}

void SignSearch::search(Options options) {
    if (gap_ != nullptr || (least_ >= 0.0 && !found_.empty())) return;
    if (interrupt_ != nullptr && interrupt_->is_wanted()) throw Abandoned{};
    if (++looks_ > most_looks_ || found_.size() > kMostFound) {
        gap_ = kTooManyWays;
        return;
    }
    if (!bounds_.follow(options)) return;
    const int next = most_open(options);
    if (next < 0) {
        settle(std::move(options));
        return;
    }
    const std::uint8_t all = options[next];
    for (const std::uint8_t one : {kUp, kDown, kRests}) {
        if ((all & one) == 0) continue;
        options[next] = one;
        search(options);
    }
}

// Whether the kink of a place reaches others that are open, or have to stay at zero, also through decided ones.
std::vector<char> SignSearch::feeds_open(const Options& options) const {
    std::vector<char> reaches(options.size(), 0);
    std::vector<char> feeds(options.size(), 0);
    for (int a = form_.count() - 1; a >= 0; --a)
        for (int c = a + 1; c < form_.count(); ++c) {
            if (is_decided(options[c]) && reaches[c] == 0) continue;
            if (form_.through_h(c, a) != 0.0) feeds[a] = reaches[a] = 1;
            if (form_.through_z(c, a) != 0.0) reaches[a] = 1;
        }
    return feeds;
}

// The place that can go farthest to both sides and pulls most; -1 if nothing is open but boundaries that attract and
// feed nothing.
int SignSearch::most_open(const Options& options) const {
    const std::vector<char> feeds = feeds_open(options);
    int found = -1;
    double most = -1.0;
    for (const int a : places_) {
        const auto k = static_cast<std::size_t>(a);
        if (!is_open(options[k]) || (feeds[k] == 0 && bounds_.above(k).high <= 0.0)) continue;
        const double room = std::min(bounds_.rate(k).high, -bounds_.rate(k).low) * bounds_.above(k).size();
        if (room <= most) continue;
        most = room;
        found = a;
    }
    return found;
}

// With all signs given but those of boundaries that attract there is one best direction.
void SignSearch::settle(Options options) {
    LocalForm form = form_;
    const auto put_in = [&](int a) { form.put_in(a, options[a] == kUp ? 1 : -1); };
    for (const int a : places_)
        if (is_decided(options[a])) put_in(a);
    double size = 0.0;
    const Vector d = best(form, options, size);
    if (gap_ != nullptr) return;
    const auto rate = [&](int a) { return form.normals.row(a).dot(d); };
    const auto moves = [&](int a) { return std::abs(rate(a)) > form_.rounding(d) * form.normals.row(a).norm(); };
    for (const int a : places_) {
        if (!is_open(options[a])) continue;
        options[a] = !moves(a) ? kRests : rate(a) > 0.0 ? kUp : kDown;
        if (is_decided(options[a])) put_in(a);
    }
    std::vector<int> rests;
    for (const int a : places_) {
        if (options[a] == kRests)
            rests.push_back(a);
        else if (!moves(a) || (rate(a) > 0.0) != (options[a] == kUp))
            return;
    }
    const auto same = [&](const CellMinimum& m) { return form_.is_same(m.direction, d); };
    const bool is_wanted = least_ >= 0.0 ? d.norm() > least_ + kSameDirection * kActingRounding * size
                                         : std::ranges::none_of(found_, same) && is_minimum(form, rests, d, size);
    if (!is_wanted) return;
    found_.push_back(describe(form, options, d));
}

// The least |velocity + Σ μ_a row_a|: μ is free where a place rests, and between its bounds where its sign is open.
// `size`: of the terms that add up to it.
Vector SignSearch::best(const LocalForm& form, const Options& options, double& size) {
    std::vector<Vector> rests;
    for (const int a : places_)
        if (options[a] == kRests && !form.normals.row(a).isZero(0.0))
            add_direction(form.normals.row(a).transpose(), rests);
    Vector offset = form.velocity;
    take_away(rests, offset);
    size = form.velocity.norm();
    std::vector<int> open;
    std::vector<Vector> rows;
    for (const int a : places_) {
        if (!is_open(options[a]) || form.normals.row(a).isZero(0.0)) continue;
        Vector row = form.normals.row(a).transpose();
        offset += form.gamma[a] * row;
        take_away(rests, row);
        if (row.norm() <= kDependentRow * form.normals.row(a).norm()) continue;
        open.push_back(a);
        rows.push_back(std::move(row));
    }
    take_away(rests, offset);
    if (open.empty()) return offset;
    const auto rank = static_cast<int>(offset.size());
    problem_.resize(static_cast<int>(open.size()), rank);
    for (std::size_t k = 0; k < open.size(); ++k) {
        const double length = rows[k].norm();
        const double pull = std::min(form.beta[open[k]], 0.0) * length;
        for (int e = 0; e < rank; ++e) problem_.vector(static_cast<int>(k))[e] = rows[k][e] / length;
        problem_.set_interval(static_cast<int>(k), pull, form.leak[open[k]] * pull);
    }
    std::copy_n(offset.data(), rank, problem_.offset());
    if (!problem_.solve(form_.scale)) gap_ = kNoEnd;
    for (std::size_t k = 0; k < open.size(); ++k) size += std::abs(problem_.coefficient(static_cast<int>(k)));
    return Eigen::Map<const Vector>(problem_.residual(), rank);
}

// Where the rows of what rests are independent each place can leave alone, and its multiplier says whether it does.
bool SignSearch::is_minimum(const LocalForm& form, const std::vector<int>& rests, const Vector& d, double size) {
    if (rests.empty()) return true;
    LocalForm zero = form.part(rests);
    zero.elsewhere = std::hypot(form_.elsewhere, d.norm());
    std::vector<Vector> basis;
    for (Index k = 0; k < zero.normals.rows(); ++k) {
        const bool is_row = !zero.normals.row(k).isZero(0.0);
        if (is_row && add_direction(zero.normals.row(k).transpose(), basis)) continue;
        zero.velocity -= d;  // as seen from d
        SignSearch beside(zero, interrupt_, most_looks_);
        const bool keeps = beside.stays(size);
        if (beside.gap_ != nullptr) gap_ = beside.gap_;
        return keeps;
    }
    const Vector pulls = least_squares(zero.normals.transpose(), d - form.velocity);
    const double hidden = kSameDirection * (form_.rounding(d) + kActingRounding * size);
    for (int k = zero.count() - 1; k >= 0; --k) {
        double above = zero.beta[k];
        double skip = zero.gamma[k];
        for (int c = k + 1; c < zero.count(); ++c) {
            above += zero.through_h(c, k) * pulls[c];
            skip += zero.through_z(c, k) * pulls[c];
        }
        const double slack = hidden / zero.normals.row(k).norm();
        if (pulls[k] - skip < above - slack || pulls[k] - skip > zero.leak[k] * above + slack) return false;
    }
    return true;
}

CellMinimum SignSearch::describe(const LocalForm& form, const Options& options, const Vector& d) const {
    CellMinimum found;
    found.direction = d;
    found.change.setZero(full_);
    for (Index k = 0; k < d.size(); ++k) found.change += (d[k] - form_.velocity[k]) * basis_[k];
    for (const int a : places_) {
        found.signs.push_back(options[a] == kUp ? 1 : options[a] == kDown ? -1 : 0);
        found.rates.push_back(is_decided(options[a]) ? form.normals.row(a).dot(d) : 0.0);
    }
    return found;
}

}  // namespace reluflow::layered
