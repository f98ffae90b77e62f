#include "layered/sign_bounds.hpp"

#include <limits>
#include <numeric>

#include "numeric/decompositions.hpp"

namespace reluflow::layered {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// A rate above this part of its terms has a sign.
constexpr double kSure = 1e-9;
/// A rate that is below this part of its terms is none.
constexpr double kNone = 1e-15;
/// What unit normals add up to below this depends on others; a part of it in such a sum below the other is none.
constexpr double kDependent = 1e-8;
constexpr double kPart = 1e-6;
/// Bounds of a pull that come closer by less than this part of their distance change nothing.
constexpr double kCloser = 1e-2;
/// Rounds in which bounds alone come closer.
constexpr int kMostRounds = 20;

}  // namespace

SignBounds::SignBounds(const LocalForm& form, const std::vector<int>& open)
    : form_(form),
      open_(open),
      alone_(open.size(), 0),
      above_(open.size()),
      skip_(open.size()),
      pulls_(open.size()),
      limits_(open.size()),
      rates_(open.size()) {
    Matrix rows(static_cast<Index>(open.size()), form.normals.cols());
    for (std::size_t k = 0; k < open.size(); ++k) rows.row(static_cast<Index>(k)) = form.normals.row(open[k]);
    gram_ = rows * rows.transpose();
    at_rest_ = rows * form.velocity;
    size_ = rows.rowwise().norm() * form.velocity.norm();
    find_mates();
    find_readers();
}

// Where normals add up to zero those that have a part in it are in the span of others. All such sums are those within
// groups that do not overlap. A normal of zero is one by itself.
void SignBounds::find_mates() {
    const Index count = gram_.rows();
    mates_.resize(open_.size());
    if (count == 0) return;
    Eigen::MatrixXd units = gram_;
    for (Index k = 0; k < count; ++k) {
        const double length = std::sqrt(gram_(k, k));
        if (length == 0.0) mates_[static_cast<std::size_t>(k)].push_back(static_cast<std::size_t>(k));
        units.row(k) /= length == 0.0 ? 1.0 : length;
        units.col(k) /= length == 0.0 ? 1.0 : length;
    }
    const SymmetricModes modes = symmetric_modes(units);
    Index zero = 0;
    while (zero < count && modes.values[zero] <= kDependent) ++zero;
    const Eigen::MatrixXd parts = modes.vectors.leftCols(zero) * modes.vectors.leftCols(zero).transpose();
    std::vector<std::size_t> name(open_.size());
    std::iota(name.begin(), name.end(), std::size_t{0});
    for (Index k = 0; k < count; ++k)
        for (Index c = 0; c < k; ++c)
            if (std::abs(parts(k, c)) > kPart)
                std::ranges::replace(name, std::max(name[k], name[c]), std::min(name[k], name[c]));
    for (std::size_t k = 0; k < name.size(); ++k)
        for (std::size_t c = 0; c < name.size(); ++c)
            if (c != k && name[c] == name[k]) mates_[k].push_back(c);
}

void SignBounds::find_readers() {
    readers_.resize(open_.size());
    for (std::size_t k = open_.size(); k-- > 0;) {
        std::vector<char> reads(open_.size(), 0);
        for (std::size_t c = k + 1; c < open_.size(); ++c) {
            if (form_.through_h(open_[c], open_[k]) == 0.0 && form_.through_z(open_[c], open_[k]) == 0.0) continue;
            reads[c] = 1;
            for (const std::size_t other : readers_[c]) reads[other] = 1;
        }
        for (std::size_t c = 0; c < reads.size(); ++c)
            if (reads[c] != 0) readers_[k].push_back(c);
    }
}

// The row of what rests is its normal and those of the places that move below it. A sum of such rows that is zero is
// one of normals: in it a mate that moves counts by the rows that read it.
void SignBounds::find_alone(const std::vector<std::uint8_t>& options) {
    for (std::size_t k = open_.size(); k-- > 0;)
        alone_[k] = std::ranges::none_of(mates_[k], [&](std::size_t mate) {
            return mate == k || (options[mate] & kRests) != 0 ||
                   std::ranges::any_of(readers_[mate], [&](std::size_t c) {
                       return (options[c] & kRests) != 0 && (c <= k || alone_[c] == 0);
                   });
        });
}

bool SignBounds::follow(std::vector<std::uint8_t>& options) {
    std::ranges::fill(limits_, Bounds{-kInfinity, kInfinity});
    for (int round = 0;; ++round) {
        const std::vector<std::uint8_t> before = options;
        const std::vector<Bounds> limits = limits_;
        find_alone(options);
        pull(options);
        for (std::size_t k = 0; k < open_.size(); ++k)
            if (!move(k, options[k])) return false;
        bool is_closer = options != before;
        for (std::size_t k = 0; k < open_.size() && !is_closer && round < kMostRounds; ++k) {
            const double gain = std::max(limits_[k].low - limits[k].low, limits[k].high - limits_[k].high);
            is_closer = gain > kCloser * (pulls_[k].high - pulls_[k].low);
        }
        if (!is_closer) return true;
    }
}

// What rests with a normal of its own can leave to both sides without moving any other but those that read it: its
// multiplier is above what pulls it upwards and below what pulls it back from below.
Bounds SignBounds::pull_of(std::size_t k, std::uint8_t option) const {
    const Bounds& above = above_[k];
    const Bounds& skip = skip_[k];
    const double leak = form_.leak[open_[k]];
    if (option == kUp) return {above.low + skip.low, above.high + skip.high};
    if (option == kDown || alone_[k] != 0)
        return {(option == kDown ? leak : 1.0) * above.low + skip.low, leak * above.high + skip.high};
    return {std::min(above.low, leak * above.low) + skip.low, std::max(above.high, leak * above.high) + skip.high};
}

void SignBounds::pull(const std::vector<std::uint8_t>& options) {
    for (std::size_t k = open_.size(); k-- > 0;) {
        const int a = open_[k];
        above_[k] = {form_.beta[a], form_.beta[a]};
        skip_[k] = {form_.gamma[a], form_.gamma[a]};
        for (std::size_t c = k + 1; c < open_.size(); ++c) {
            const double through_h = form_.through_h(open_[c], a);
            const double through_z = form_.through_z(open_[c], a);
            if (through_h != 0.0) above_[k].add(through_h, pulls_[c]);
            if (through_z != 0.0) skip_[k].add(through_z, pulls_[c]);
        }
        Bounds all{kInfinity, -kInfinity};
        for (const std::uint8_t option : {kUp, kDown, kRests})
            if ((options[k] & option) != 0) all.cover(pull_of(k, option));
        pulls_[k] = all.within(limits_[k]);
        if (pulls_[k].low > pulls_[k].high) pulls_[k] = {pulls_[k].high, pulls_[k].low};  // by rounding
    }
}

// x but for what the own pull adds.
Bounds SignBounds::rest_of(std::size_t k, double& size) const {
    const auto row = static_cast<Index>(k);
    const int a = open_[k];
    Bounds rate{at_rest_[row], at_rest_[row]};
    size = size_[row];
    const auto add = [&](double factor, const Bounds& other) {
        if (factor == 0.0) return;
        rate.add(factor, other);
        size += std::abs(factor) * other.size();
    };
    for (std::size_t c = 0; c < open_.size(); ++c)
        if (c != k) add(gram_(row, static_cast<Index>(c)), pulls_[c]);
    for (std::size_t b = 0; b < k; ++b) {
        const double leak = form_.leak[open_[b]];
        const auto psi = [&](double x) { return x > 0.0 ? x : leak * x; };
        add(form_.through_h(a, open_[b]), {psi(rates_[b].low), psi(rates_[b].high)});
        add(form_.through_z(a, open_[b]), rates_[b]);
    }
    return rate;
}

// Each option has a pull and a rate of its own; what they leave of it bounds the pull, too.
bool SignBounds::move(std::size_t k, std::uint8_t& options) {
    double size = 0.0;
    const Bounds rest = rest_of(k, size);
    const double own = gram_(static_cast<Index>(k), static_cast<Index>(k));
    size += own * (above_[k].size() + skip_[k].size());
    const double sure = kSure * size;
    Bounds limit{kInfinity, -kInfinity};
    Bounds rates{kInfinity, -kInfinity};
    std::uint8_t left = 0;
    for (const std::uint8_t option : {kUp, kDown, kRests}) {
        if ((options & option) == 0) continue;
        Bounds pulled = pull_of(k, option).within(limits_[k]);
        if (own * (pulled.low - pulled.high) > sure) continue;
        Bounds rate{rest.low + own * pulled.low, rest.high + own * pulled.high};
        if (option != kDown && rate.high < -sure) continue;
        if (option != kUp && rate.low > sure) continue;
        if (option != kRests && std::max(std::abs(rate.low), std::abs(rate.high)) <= kNone * size) continue;
        left |= option;
        rate = rate.within({option == kUp ? 0.0 : -kInfinity, option == kDown ? 0.0 : kInfinity});
        if (option == kRests) {
            if (own > 0.0) pulled = pulled.within({-(rest.high + sure) / own, (sure - rest.low) / own});
            rate = {0.0, 0.0};
        }
        limit.cover(pulled);
        rates.cover(rate);
    }
    options = left;
    rates_[k] = rates;
    limits_[k] = limits_[k].within(limit);
    return left != 0;
}

}  // namespace reluflow::layered
