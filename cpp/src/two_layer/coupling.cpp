#include "two_layer/coupling.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "two_layer/coupling_sums.hpp"

namespace reluflow {

namespace {

using Map = Eigen::Map<Vector>;
using ConstMap = Eigen::Map<const Vector>;

/// Initial reserve, in groups; grows geometrically.
constexpr Index kUsualGroups = 4096;
/// Groups whose sums are transposed together: a cache line.
constexpr Index kTurned = 8;
/// Sides that are compared together.
constexpr Index kBlock = 64;

}  // namespace

Coupling::Coupling(const Dataset& data, Index neurons, double leak, Pool& pool)
    : data_(data),
      leak_(leak),
      pool_(pool),
      one_to_one_(data.n_boundaries() == data.n()),
      orientation_(data.n()),
      own_(static_cast<std::size_t>(pool.threads())),
      column_(kFewGroups * data.rank()),
      all_(data.rank()),
      shares_(strips_of(data.rank()), data.n()) {
    for (Index i = 0; i < data.n(); ++i) {
        orientation_[i] = static_cast<std::int8_t>(data.orientation(i));
        one_to_one_ = one_to_one_ && data.boundary_of(i) == i;
    }
    grow(std::min(neurons, kUsualGroups));
}

Coupling::~Coupling() = default;

void Coupling::grow(Index groups) {
    capacity_ = groups;
    sides_.assign(groups * data_.n(), 0);
    sample_codes_.assign(groups * chunks_of(data_.n()), 0);
    group_codes_.assign(data_.n() * chunks_of(groups), 0);
}

void Coupling::set_slopes(const Pattern& pattern, const Groups& groups) {
    if (groups.count() > capacity_)
        grow(std::min(static_cast<Index>(pattern.neurons()), std::max(groups.count(), 2 * capacity_)));
    groups_ = groups.count();
    const Index pieces = kPiece / kChunk * kChunk;  // so that a byte of group_codes_ belongs to one piece
    pool_.run_pieces(groups_, pieces, static_cast<double>(groups_ * data_.n()), [&](Index begin, Index end) {
        for (Index c = begin; c < end; ++c) set_group(c, pattern, groups.leader(c));
    });
    held_.clear();
    for (Index c = 0; leak_ > 0.0 && c < groups_; ++c) {
        const std::int8_t* row = sides_.data() + c * data_.n();
        const std::int8_t* end = row + data_.n();
        for (const std::int8_t* at = std::find(row, end, 0); at != end; at = std::find(at + 1, end, 0))
            held_.emplace_back(c, at - row);
    }
}

/// Updates what differs from the previous slopes of the group: mostly few sides.
void Coupling::set_group(Index group, const Pattern& pattern, Index leader) {
    const std::int8_t* sides = pattern.row(leader).data();
    std::int8_t* row = sides_.data() + group * data_.n();
    std::int8_t signs[kBlock];
    for (Index begin = 0; begin < data_.n(); begin += kBlock) {
        const Index count = std::min(kBlock, data_.n() - begin);
        const std::int8_t* orientation = orientation_.data() + begin;
        if (one_to_one_)
            for (Index i = 0; i < count; ++i) signs[i] = static_cast<std::int8_t>(sides[begin + i] * orientation[i]);
        else
            for (Index i = 0; i < count; ++i)
                signs[i] = static_cast<std::int8_t>(sides[data_.boundary_of(begin + i)] * orientation[i]);
        if (std::memcmp(signs, row + begin, static_cast<std::size_t>(count)) == 0) continue;
        for (Index i = 0; i < count; ++i)
            if (signs[i] != row[begin + i]) set_side(group, begin + i, signs[i]);
    }
}

void Coupling::set_side(Index group, Index sample, std::int8_t sign) noexcept {
    sides_[group * data_.n() + sample] = sign;
    const auto set = [sign](std::uint8_t& code, Index bit) {
        const unsigned mask = 1U << bit;
        code = static_cast<std::uint8_t>(sign > 0 ? code | mask : code & ~mask);
    };
    set(sample_codes_[group * chunks_of(data_.n()) + sample / kChunk], sample % kChunk);
    set(group_codes_[sample * chunks_of(capacity_) + group / kChunk], group % kChunk);
}

/// Operations of adding `rows` rows for each of so many sums.
double Coupling::sum_work(Index rows, Index sums) const noexcept {
    return static_cast<double>(data_.rank()) * static_cast<double>(rows * sums / kChunk + rows * kSubsets / kChunk);
}

/// The number of parts into which a loop over sums is cut. Each part makes its own tables, so there are no more than
/// threads. This does not affect the bits, since each sum is added up by itself.
Index Coupling::parts_of(double work) const noexcept {
    return pool_.is_worthwhile(work) ? pool_.threads() : 1;
}

void Coupling::gradients(const double* weights, Matrix& G) {
    if (groups_ <= kFewGroups) return gradients_of_few(weights, G);
    if (leak_ > 0.0) all_ = data_.X().transpose() * ConstMap(weights, data_.n());
    const double work = sum_work(data_.n(), groups_);
    const Index parts = parts_of(work);
    pool_.run(parts, work, [&](Index part) {
        const Range groups{groups_ * part / parts, groups_ * (part + 1) / parts};
        for (Index strip = 0; strip < strips_of(data_.rank()); ++strip)
            add_gradients(weights, groups, columns_of(strip), own_[static_cast<std::size_t>(part)], G);
    });
}

/// The columns of a strip.
Range Coupling::columns_of(Index strip) const noexcept {
    return {strip * kStrip, std::min(data_.rank(), (strip + 1) * kStrip)};
}

/// The given coordinates of the gradients of the given groups.
void Coupling::add_gradients(const double* weights, Range groups, Range columns, SubsetSums& sums, Matrix& G) {
    const auto fill = [&](Index first, Index stride, double* rows) {
        for (Index i = first; i < std::min(data_.n(), first + kChunk); ++i, rows += stride) {
            const double weight = weights[i];
            const double* from = &data_.X()(i, columns.begin);
            if (columns.count() == kStrip)  // a number that the compiler knows
                for (Index x = 0; x < kStrip; ++x) rows[x] = weight * from[x];
            else
                for (Index x = 0; x < columns.count(); ++x) rows[x] = weight * from[x];
        }
    };
    sums.make(data_.n(), columns.count(), fill, sample_codes_.data(), chunks_of(data_.n()), groups);
    if (leak_ > 0.0) add_leaks_to_gradients(weights, groups, columns, sums);
    for (Index first = groups.begin; first < groups.end; first += kTurned) {
        const Index end = std::min(groups.end, first + kTurned);
        for (Index x = 0; x < columns.count(); ++x)
            for (Index c = first; c < end; ++c) G(columns.begin + x, c) = sums.of(c - groups.begin)[x];
    }
}

/// g = (1 - α) Σ_active + α (Σ_all - Σ_held).
void Coupling::add_leaks_to_gradients(const double* weights, Range groups, Range columns, SubsetSums& sums) {
    const auto all = all_.segment(columns.begin, columns.count());
    for (Index c = groups.begin; c < groups.end; ++c) {
        Map sum(sums.of(c - groups.begin), columns.count());
        sum = (1.0 - leak_) * sum + leak_ * all;
    }
    for (auto at = std::lower_bound(held_.begin(), held_.end(), std::pair<Index, Index>{groups.begin, 0});
         at != held_.end() && at->first < groups.end; ++at)
        Map(sums.of(at->first - groups.begin), columns.count()) -=
            leak_ * weights[at->second] * data_.X().row(at->second).segment(columns.begin, columns.count()).transpose();
}

void Coupling::gradients_of_few(const double* weights, Matrix& G) {
    const Index r = data_.rank();
    for (Index c = 0; c < groups_; ++c) {
        double* g = column_.data() + c * r;
        std::fill(g, g + r, 0.0);
        for (Index i = 0; i < data_.n(); ++i) {
            const double factor = weights[i] * slope(i, c);
            if (factor == 0.0) continue;
            Map(g, r) += factor * ConstMap(data_.X().row(i).data(), r);
        }
        for (Index k = 0; k < r; ++k) G(k, c) = g[k];
    }
}

void Coupling::margins(const Matrix& M, Vector& q) {
    if (groups_ <= kFewGroups) return margins_of_few(M, q);
    const Index r = data_.rank();
    if (leak_ > 0.0)
        for (Index x = 0; x < r; ++x) all_[x] = M.row(x).head(groups_).sum();
    const double work = sum_work(groups_, data_.n());
    const Index parts = parts_of(work);
    // Cut by coordinates if these can be distributed evenly, because then no table is made twice; otherwise by samples.
    const Index strips = strips_of(r);
    const bool is_even = 2 * (r - (strips - 1) * kStrip) > kStrip;
    const Index across = is_even ? std::gcd(parts, strips) : 1;
    const Index down = parts / across;
    pool_.run(parts, work, [&](Index part) {
        const Range samples{data_.n() * (part / across) / down, data_.n() * (part / across + 1) / down};
        for (Index strip = part % across; strip < strips; strip += across)
            add_margins(M, samples, columns_of(strip), own_[static_cast<std::size_t>(part)]);
    });
    q = shares_.colwise().sum().transpose().cwiseProduct(data_.signs());
}

/// The contribution of the given coordinates to the given margins.
void Coupling::add_margins(const Matrix& M, Range samples, Range columns, SubsetSums& sums) {
    const auto fill = [&](Index first, Index stride, double* rows) {
        const Index count = std::min<Index>(kChunk, groups_ - first);
        for (Index x = 0; x < columns.count(); ++x)
            for (Index c = 0; c < count; ++c) rows[c * stride + x] = M(columns.begin + x, first + c);
    };
    sums.make(groups_, columns.count(), fill, group_codes_.data(), chunks_of(capacity_), samples);
    if (leak_ > 0.0) add_leaks_to_margins(M, samples, columns, sums);
    for (Index i = samples.begin; i < samples.end; ++i)
        shares_(columns.begin / kStrip, i) = data_.X()
                                                 .row(i)
                                                 .segment(columns.begin, columns.count())
                                                 .dot(ConstMap(sums.of(i - samples.begin), columns.count()));
}

void Coupling::add_leaks_to_margins(const Matrix& M, Range samples, Range columns, SubsetSums& sums) {
    const auto all = all_.segment(columns.begin, columns.count());
    for (Index i = samples.begin; i < samples.end; ++i) {
        Map sum(sums.of(i - samples.begin), columns.count());
        sum = (1.0 - leak_) * sum + leak_ * all;
    }
    for (const auto& [c, i] : held_)
        if (i >= samples.begin && i < samples.end)
            Map(sums.of(i - samples.begin), columns.count()) -=
                leak_ * M.col(c).segment(columns.begin, columns.count());
}

void Coupling::margins_of_few(const Matrix& M, Vector& q) {
    const Index r = data_.rank();
    for (Index c = 0; c < groups_; ++c)
        for (Index k = 0; k < r; ++k) column_[c * r + k] = M(k, c);
    for (Index i = 0; i < data_.n(); ++i) {
        const double* x = data_.X().row(i).data();
        double sum = 0.0;
        for (Index c = 0; c < groups_; ++c) {
            const double factor = slope(i, c);
            if (factor == 0.0) continue;
            sum += factor * ConstMap(x, r).dot(ConstMap(column_.data() + c * r, r));
        }
        q[i] = data_.signs()[i] * sum;
    }
}

}  // namespace reluflow
