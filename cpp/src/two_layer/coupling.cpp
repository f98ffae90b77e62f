#include "two_layer/coupling.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "numeric/products.hpp"
#include "two_layer/coupling_sums.hpp"

namespace reluflow {

namespace {

using Map = Eigen::Map<Vector>;
using ConstMap = Eigen::Map<const Vector>;

/// Initial reserve, in groups; grows geometrically.
constexpr Index kUsualGroups = 4096;
/// Groups whose sums are transposed together: a cache line.
constexpr Index kTurned = 8;
/// Sides that are compared together: whole codes.
constexpr Index kBlock = 16 * kChunk;
/// There are few classes if they have so many samples each, on average. At 2 and at 6 P2, P3, P4 and breast cancer take
/// the same time.
constexpr Index kSamplesPerClass = 3;
/// Samples whose margins one task makes, and initial reserve of classes and of groups that act on them.
constexpr Index kPieceSamples = 128;
constexpr Index kUsualClasses = 64;

/// Calls body<Count>(x) for the coordinates of a range that go through registers together, in order.
template <class Body>
void in_strips(Range columns, const Body& body) {
    Index x = columns.begin;
    for (; x + 16 <= columns.end; x += 16) body.template operator()<16>(x);
    for (; x + 8 <= columns.end; x += 8) body.template operator()<8>(x);
    for (; x + 4 <= columns.end; x += 4) body.template operator()<4>(x);
    for (; x + 2 <= columns.end; x += 2) body.template operator()<2>(x);
    for (; x < columns.end; ++x) body.template operator()<1>(x);
}

void grow_to(Numbers& numbers, Index size) {
    if (std::ssize(numbers) < size) numbers.resize(size);
}

}  // namespace

Coupling::Coupling(const Dataset& data, Index neurons, double leak, Pool& pool)
    : data_(data),
      leak_(leak),
      pool_(pool),
      one_to_one_(data.n_boundaries() == data.n()),
      orientation_(data.n()),
      classes_(data.n(), data.n() / kSamplesPerClass, kSubsets),
      own_(static_cast<std::size_t>(pool.threads())),
      column_(kFewGroups * data.rank()),
      all_(data.rank()),
      shares_(strips_of(data.rank()), data.n()) {
    for (Index i = 0; i < data.n(); ++i) {
        orientation_[i] = static_cast<std::int8_t>(data.orientation(i));
        one_to_one_ = one_to_one_ && data.boundary_of(i) == i;
    }
    grow(std::min(neurons, kUsualGroups));
    selected_.reserve(data.n());
    const Index usual = std::min(kUsualClasses, data.n() / kSamplesPerClass);
    class_sums_.reserve(usual * data.rank());
    turned_.reserve(std::min(neurons, kUsualClasses) * data.rank());
    for (auto* list : {&terms_.groups_of_class, &terms_.classes_of_group, &selected_terms_.groups_of_class,
                       &selected_terms_.classes_of_group}) {
        list->terms.reserve(usual * std::min(neurons, kUsualClasses));
        list->begin.reserve(std::max(data.n() / kSamplesPerClass, neurons) + 1);
    }
}

Coupling::~Coupling() = default;

void Coupling::grow(Index groups) {
    capacity_ = groups;
    sides_.assign(groups * data_.n(), 0);
    sample_codes_.assign(groups * chunks_of(data_.n()), 0);
    group_codes_.assign(data_.n() * chunks_of(groups), 0);
    selected_sample_codes_.reserve(sample_codes_.size());
    selected_group_codes_.reserve(group_codes_.size());
}

void Coupling::set_slopes(const Pattern& pattern, const Groups& groups) {
    if (groups.count() > capacity_)
        grow(std::min(static_cast<Index>(pattern.neurons()), std::max(groups.count(), 2 * capacity_)));
    for (Index c = groups.count(); c < groups_; ++c) clear_group(c);
    groups_ = groups.count();
    const Index pieces = kPiece / kChunk * kChunk;  // so that a byte of group_codes_ belongs to one piece
    pool_.run_pieces(groups_, pieces, static_cast<double>(groups_ * data_.n()), [&](Index begin, Index end) {
        for (Index c = begin; c < end; ++c) set_group(c, pattern, groups.leader(c));
    });
    find_classes();
    select_all();
    knows_selected_ = false;
    if (by_class_) list_terms(terms_);
    if (by_class_) grow_to(class_sums_, classes_.count() * data_.rank());
    if (by_class_ || leak_ > 0.0) grow_to(turned_, groups_ * data_.rank());
    held_.clear();
    for (Index c = 0; leak_ > 0.0 && c < groups_; ++c) {
        const std::int8_t* row = sides_.data() + c * data_.n();
        const std::int8_t* end = row + data_.n();
        for (const std::int8_t* at = std::find(row, end, 0); at != end; at = std::find(at + 1, end, 0))
            held_.emplace_back(c, at - row);
    }
}

/// With leaks by the signs, where else the codes tell five groups at once.
void Coupling::find_classes() {
    const auto size = [this](Index rows) { return static_cast<std::size_t>(rows * data_.n()); };
    by_class_ = leak_ > 0.0
                    ? classes_.update(std::span<const std::int8_t>(sides_.data(), size(groups_)))
                    : classes_.update(std::span<const std::uint8_t>(group_codes_.data(), size(chunks_of(groups_))));
}

void Coupling::list_terms(ClassTerms& of_classes) const {
    const auto list = [](Terms& into, Index sums, Index others, const auto& slope_of) {
        into.terms.clear();
        into.begin.assign(1, 0);
        for (Index k = 0; k < sums; ++k) {
            for (Index other = 0; other < others; ++other)
                if (const double factor = slope_of(k, other); factor != 0.0)
                    into.terms.push_back({static_cast<int>(other), factor});
            into.begin.push_back(static_cast<int>(into.terms.size()));
        }
    };
    const auto of = [this](Index k, Index c) {
        return classes_.members(k).empty() ? 0.0 : slope(classes_.leader(k), c);
    };
    list(of_classes.groups_of_class, classes_.count(), groups_, of);
    list(of_classes.classes_of_group, groups_, classes_.count(), [&](Index c, Index k) { return of(k, c); });
}

/// Updates the blocks that differ from the previous slopes of the group. Mostly they are few; but where two neurons
/// come together, the groups behind them move up, and all their blocks differ.
void Coupling::set_group(Index group, const Pattern& pattern, Index leader) {
    const std::int8_t* sides = pattern.row(leader).data();
    std::int8_t* row = sides_.data() + group * data_.n();
    std::int8_t signs[kBlock] = {};
    for (Index begin = 0; begin < data_.n(); begin += kBlock) {
        const Index count = std::min(kBlock, data_.n() - begin);
        const std::int8_t* orientation = orientation_.data() + begin;
        if (one_to_one_)
            for (Index i = 0; i < count; ++i) signs[i] = static_cast<std::int8_t>(sides[begin + i] * orientation[i]);
        else
            for (Index i = 0; i < count; ++i)
                signs[i] = static_cast<std::int8_t>(sides[data_.boundary_of(begin + i)] * orientation[i]);
        if (std::memcmp(signs, row + begin, static_cast<std::size_t>(count)) == 0) continue;
        std::copy_n(signs, count, row + begin);
        set_codes(group, begin, {signs, static_cast<std::size_t>(count)});
    }
}

/// No codes of a group that there is no more: those of others stand in the same bytes.
void Coupling::clear_group(Index group) noexcept {
    constexpr std::int8_t kNone[kBlock] = {};
    std::fill_n(sides_.data() + group * data_.n(), data_.n(), std::int8_t{0});
    for (Index begin = 0; begin < data_.n(); begin += kBlock)
        set_codes(group, begin, {kNone, static_cast<std::size_t>(std::min(kBlock, data_.n() - begin))});
}

/// The codes of a group and the samples from `begin` on, of which these are the signs. Precondition: up to the next
/// whole code there are zeros behind them.
void Coupling::set_codes(Index group, Index begin, std::span<const std::int8_t> signs) noexcept {
    const Index count = std::ssize(signs);
    std::uint8_t* of_samples = sample_codes_.data() + group * chunks_of(data_.n()) + begin / kChunk;
    for (Index chunk = 0; chunk < chunks_of(count); ++chunk) {
        const std::int8_t* first = signs.data() + chunk * kChunk;
        unsigned code = 0;
        for (int bit = 0; bit < kChunk; ++bit) code |= static_cast<unsigned>(first[bit] > 0) << bit;
        of_samples[chunk] = static_cast<std::uint8_t>(code);
    }
    const auto mask = static_cast<std::uint8_t>(1U << group % kChunk);
    std::uint8_t* of_group = group_codes_.data() + group / kChunk * data_.n() + begin;
    for (Index i = 0; i < count; ++i)
        of_group[i] = static_cast<std::uint8_t>((of_group[i] & ~mask) | (signs[i] > 0 ? mask : 0));
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
    if (by_class_) return gradients_by_class(weights, G);
    if (groups_ <= kFewGroups) return gradients_of_few(weights, G);
    if (leak_ > 0.0) all_ = data_.X().transpose() * ConstMap(weights, data_.n());
    const double work = sum_work(rows(), groups_);
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
        for (Index row = first; row < std::min(this->rows(), first + kChunk); ++row, rows += stride) {
            const double weight = weights[sample(row)];
            const double* from = &data_.X()(sample(row), columns.begin);
            if (columns.count() == kStrip)  // a number that the compiler knows
                for (Index x = 0; x < kStrip; ++x) rows[x] = weight * from[x];
            else
                for (Index x = 0; x < columns.count(); ++x) rows[x] = weight * from[x];
        }
    };
    sums.make(rows(), columns.count(), fill, {codes_of_groups(), chunks_of(rows()), 1, groups});
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

/// sum = Σ slope · row of `rows`, r apart, of `Count` coordinates.
template <int Count>
void Coupling::add_terms(std::span<const Terms::Term> terms, const double* rows, double* sum) const noexcept {
    using Row = Eigen::Array<double, Count, 1>;
    Row total = Row::Zero();
    for (const auto& term : terms) total += term.slope * Eigen::Map<const Row>(rows + term.of * data_.rank());
    Eigen::Map<Row>{sum} = total;
}

void Coupling::gradients_by_class(const double* weights, Matrix& G) {
    const double work =
        2.0 * static_cast<double>(data_.rank()) * static_cast<double>(rows() + std::ssize(classes_of_group().terms));
    pool_.run(strips_of(data_.rank()), work, [&](Index strip) {
        in_strips(columns_of(strip), [&]<int Count>(Index x) { sum_classes<Count>(weights, x, G); });
    });
}

/// The coordinates from x on: the samples of each class, then the classes of each group.
template <int Count>
void Coupling::sum_classes(const double* weights, Index x, Matrix& G) {
    using Row = Eigen::Array<double, Count, 1>;
    const Index r = data_.rank();
    double* sums = class_sums_.data() + x;
    for (Index k = 0; k < classes_.count(); ++k) {
        if (groups_of_class().of(k).empty()) continue;
        Row sum = Row::Zero();
        for (const int i : classes_.members(k)) sum += weights[i] * Eigen::Map<const Row>(data_.X().row(i).data() + x);
        Eigen::Map<Row>(sums + k * r) = sum;
    }
    double gradient[Count];
    for (Index c = 0; c < groups_; ++c) {
        add_terms<Count>(classes_of_group().of(c), sums, gradient);
        for (int i = 0; i < Count; ++i) G(x + i, c) = gradient[i];
    }
}

/// The moments of one group after the other.
void Coupling::turn(const Matrix& M) {
    const Index r = data_.rank();
    for (Index x = 0; x < r; ++x)
        for (Index c = 0; c < groups_; ++c) turned_[c * r + x] = M(x, c);
}

/// The moments of the groups that act on a class add up to one, which every sample of the class is multiplied by.
void Coupling::margins_by_class(const Matrix& M, Vector& q) {
    const Index r = data_.rank();
    turn(M);
    const auto terms = static_cast<double>(std::ssize(groups_of_class().terms) * r);
    pool_.run_pieces(classes_.count(), kTurned, 2.0 * terms, [&](Index begin, Index end) {
        in_strips({0, r}, [&]<int Count>(Index x) {
            for (Index k = begin; k < end; ++k)
                add_terms<Count>(groups_of_class().of(k), turned_.data() + x, class_sums_.data() + k * r + x);
        });
    });
    const double work = 2.0 * static_cast<double>(rows() * r);
    pool_.run_pieces(rows(), kPieceSamples, work, [&](Index begin, Index end) {
        for (Index k = classes_.at(begin); begin < end; ++k) {
            const auto members = classes_.members(k, begin, end);
            const auto row = [&](std::size_t i) { return data_.X().row(members[i]).data(); };
            double* products = shares_.data() + begin;
            if (!groups_of_class().of(k).empty())
                multiply_rows(members.size(), row, class_sums_.data() + k * r, r, products);
            else
                std::fill_n(products, members.size(), 0.0);
            for (std::size_t i = 0; i < members.size(); ++i) q[members[i]] = data_.signs()[members[i]] * products[i];
            begin += std::ssize(members);
        }
    });
}

void Coupling::margins(const Matrix& M, Vector& q) {
    if (by_class_) return margins_by_class(M, q);
    if (groups_ <= kFewGroups) return margins_of_few(M, q);
    const Index r = data_.rank();
    if (leak_ > 0.0) {
        for (Index x = 0; x < r; ++x) all_[x] = M.row(x).head(groups_).sum();
        if (!held_.empty()) turn(M);
    }
    const double work = sum_work(groups_, rows());
    const Index parts = parts_of(work);
    // Cut by coordinates if these can be distributed evenly, because then no table is made twice; otherwise by samples.
    const Index strips = strips_of(r);
    const bool is_even = 2 * (r - (strips - 1) * kStrip) > kStrip;
    const Index across = is_even ? std::gcd(parts, strips) : 1;
    const Index down = parts / across;
    pool_.run(parts, work, [&](Index part) {
        const Range range{rows() * (part / across) / down, rows() * (part / across + 1) / down};
        for (Index strip = part % across; strip < strips; strip += across)
            add_margins(M, range, columns_of(strip), own_[static_cast<std::size_t>(part)]);
    });
    if (!selects_)
        q = shares_.colwise().sum().transpose().cwiseProduct(data_.signs());
    else
        for (Index row = 0; row < rows(); ++row) q[sample(row)] = shares_.col(row).sum() * data_.signs()[sample(row)];
}

/// The contribution of the given coordinates to the margins of the given rows.
void Coupling::add_margins(const Matrix& M, Range rows, Range columns, SubsetSums& sums) {
    const auto fill = [&](Index first, Index stride, double* moments) {
        const Index count = std::min<Index>(kChunk, groups_ - first);
        for (Index x = 0; x < columns.count(); ++x)
            for (Index c = 0; c < count; ++c) moments[c * stride + x] = M(columns.begin + x, first + c);
    };
    sums.make(groups_, columns.count(), fill, {codes_of_rows(), 1, this->rows(), rows});
    if (leak_ > 0.0) add_leaks_to_margins(rows, columns, sums);
    for (Index row = rows.begin; row < rows.end; ++row)
        shares_(columns.begin / kStrip, row) = data_.X()
                                                   .row(sample(row))
                                                   .segment(columns.begin, columns.count())
                                                   .dot(ConstMap(sums.of(row - rows.begin), columns.count()));
}

void Coupling::add_leaks_to_margins(Range rows, Range columns, SubsetSums& sums) {
    const auto all = all_.segment(columns.begin, columns.count());
    for (Index row = rows.begin; row < rows.end; ++row) {
        Map sum(sums.of(row - rows.begin), columns.count());
        sum = (1.0 - leak_) * sum + leak_ * all;
    }
    for (const auto& [c, i] : held_) {
        const Index row = selects_ ? std::lower_bound(selected_.begin(), selected_.end(), i) - selected_.begin() : i;
        if (row >= rows.begin && row < rows.end && sample(row) == i)
            Map(sums.of(row - rows.begin), columns.count()) -=
                leak_ * ConstMap(turned_.data() + c * data_.rank() + columns.begin, columns.count());
    }
}

}  // namespace reluflow
