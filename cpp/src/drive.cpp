#include "reluflow/drive.hpp"

#include <algorithm>

#include "drive_sums.hpp"

namespace reluflow {

namespace {

using Map = Eigen::Map<Vector>;
using ConstMap = Eigen::Map<const Vector>;

/// Groups for which there is memory from the start; the memory doubles when more come.
constexpr Index kUsualGroups = 4096;
/// Tables that threads make together before they use them together: few waits for each other, and they stay in the
/// larger caches.
constexpr Index kSharedTables = 16 * kTables;
/// Columns that are turned into rows, or back, at a time: they stay in the cache.
constexpr Index kTurned = 64;

}  // namespace

Drive::Drive(const Dataset& data, Index neurons, double leak, Pool& pool)
    : data_(data),
      leak_(leak),
      pool_(pool),
      batch_(pool.threads() == 1 ? kTables : kSharedTables),
      width_(padded(data.rank())),
      one_to_one_(data.n_walls() == data.n()),
      orientation_(data.n()),
      rows_(batch_ * kChunk * width_, 0.0),
      tables_(batch_ * kSubsets * width_),
      column_(kFewGroups * data.rank()),
      mixed_(data.n() * width_) {
    for (Index i = 0; i < data.n(); ++i) {
        orientation_[i] = static_cast<std::int8_t>(data.orientation(i));
        one_to_one_ = one_to_one_ && data.wall_of(i) == i;
    }
    grow(std::min(neurons, kUsualGroups));
}

void Drive::grow(Index groups) {
    capacity_ = groups;
    groups_ = 0;  // all codes are made anew
    sides_.resize(groups * data_.n());
    sample_codes_.resize(groups * chunks_of(data_.n()));
    group_codes_.assign(data_.n() * chunks_of(groups), 0);
    sums_.resize(groups * width_);
}

void Drive::set_slopes(const Pattern& pattern, const Groups& groups) {
    if (groups.count() > capacity_)
        grow(std::min(static_cast<Index>(pattern.neurons()), std::max(groups.count(), 2 * capacity_)));
    const Index pieces = kPiece / kChunk * kChunk;  // a byte of group_codes_ belongs to one piece
    pool_.run_pieces(groups.count(), pieces, 4.0 * static_cast<double>(groups.count() * data_.n()),
                     [&](Index begin, Index end) {
                         for (Index c = begin; c < end; ++c) set_group(c, pattern, groups.leader(c));
                     });
    groups_ = groups.count();
    held_.clear();
    if (leak_ == 0.0) return;
    for (Index c = 0; c < groups_; ++c)
        for (Index i = 0; i < data_.n(); ++i)
            if (sides_[c * data_.n() + i] == 0) held_.emplace_back(c, i);
}

void Drive::set_group(Index group, const Pattern& pattern, Index leader) {
    const Index n = data_.n();
    const std::int8_t* sides = pattern.row(leader).data();
    std::int8_t* row = sides_.data() + group * n;
    bool changed = group >= groups_;
    const auto take = [&](Index i, std::int8_t side) {
        const auto sign = static_cast<std::int8_t>(side * orientation_[i]);
        changed |= sign != row[i];
        row[i] = sign;
    };
    if (one_to_one_)
        for (Index i = 0; i < n; ++i) take(i, sides[i]);
    else
        for (Index i = 0; i < n; ++i) take(i, sides[data_.wall_of(i)]);
    if (!changed) return;
    std::uint8_t* codes = sample_codes_.data() + group * chunks_of(n);
    for (Index chunk = 0; chunk < chunks_of(n); ++chunk) {
        unsigned code = 0;
        const Index end = std::min(n, (chunk + 1) * kChunk);
        for (Index i = chunk * kChunk; i < end; ++i) code |= static_cast<unsigned>(row[i] > 0) << (i % kChunk);
        codes[chunk] = static_cast<std::uint8_t>(code);
    }
    const Index stride = chunks_of(capacity_);
    std::uint8_t* of_sample = group_codes_.data() + group / kChunk;
    const unsigned bit = 1U << (group % kChunk);
    for (Index i = 0; i < n; ++i)
        of_sample[i * stride] = static_cast<std::uint8_t>((of_sample[i * stride] & ~bit) | (row[i] > 0 ? bit : 0U));
}

/// Operations of adding up `rows` rows for that many sums.
double Drive::sum_work(Index rows, Index sums) const noexcept {
    return static_cast<double>(width_) * static_cast<double>(rows * sums / kChunk + rows * kSubsets / kChunk);
}

void Drive::make_sample_tables(const double* weights, Index first, Index chunk) {
    double* rows = rows_.data() + chunk * kChunk * width_;
    for (Index b = 0; b < kChunk; ++b) {
        const Index i = (first + chunk) * kChunk + b;
        Map row(rows + b * width_, data_.rank());
        if (i < data_.n())
            row = weights[i] * data_.X().row(i).transpose();
        else
            row.setZero();
    }
    make_table(rows, width_, tables_.data() + chunk * kSubsets * width_);
}

void Drive::gradients(const double* weights, Matrix& G) {
    if (groups_ <= kFewGroups) return gradients_of_few(weights, G);
    const Index r = data_.rank();
    const Index chunks = chunks_of(data_.n());
    std::fill_n(sums_.begin(), groups_ * width_, 0.0);
    for (Index first = 0; first < chunks; first += batch_) {
        const Index count = std::min(batch_, chunks - first);
        const double work = sum_work(count * kChunk, groups_);
        pool_.run_pieces(count, kTables, work, [&](Index begin, Index end) {
            for (Index chunk = begin; chunk < end; ++chunk) make_sample_tables(weights, first, chunk);
        });
        pool_.run_pieces(groups_, kPiece, work, [&](Index begin, Index end) {
            for (Index table = 0; table < count; table += kTables)
                for (Index c = begin; c < end; ++c)
                    add_entries(tables_.data() + table * kSubsets * width_,
                                sample_codes_.data() + c * chunks + first + table,
                                std::min<Index>(kTables, count - table), width_, sums_.data() + c * width_);
        });
    }
    if (leak_ > 0.0) add_leaks_to_gradients(weights);
    const double copied = static_cast<double>(groups_ * r);
    pool_.run_pieces(groups_, kTurned, copied, [&](Index begin, Index end) {
        for (Index x = 0; x < r; ++x)
            for (Index c = begin; c < end; ++c) G(x, c) = sums_[c * width_ + x];
    });
}

/// g = (1 - α) Σ_active + α (Σ_all - Σ_held).
void Drive::add_leaks_to_gradients(const double* weights) {
    const Index r = data_.rank();
    Map all(rows_.data(), r);
    all.setZero();
    for (Index i = 0; i < data_.n(); ++i) all += weights[i] * data_.X().row(i).transpose();
    for (Index c = 0; c < groups_; ++c) Map(sums_.data() + c * width_, r) *= 1.0 - leak_;
    for (Index c = 0; c < groups_; ++c) Map(sums_.data() + c * width_, r) += leak_ * all;
    for (const auto& [c, i] : held_)
        Map(sums_.data() + c * width_, r) -= leak_ * weights[i] * data_.X().row(i).transpose();
}

void Drive::gradients_of_few(const double* weights, Matrix& G) {
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

void Drive::make_group_tables(const Matrix& M, Index first, Index chunk) {
    double* rows = rows_.data() + chunk * kChunk * width_;
    const Index begin = (first + chunk) * kChunk;
    for (Index x = 0; x < data_.rank(); ++x)
        for (Index b = 0; b < kChunk; ++b) rows[b * width_ + x] = begin + b < groups_ ? M(x, begin + b) : 0.0;
    make_table(rows, width_, tables_.data() + chunk * kSubsets * width_);
}

void Drive::margins(const Matrix& M, Vector& q) {
    if (groups_ <= kFewGroups) return margins_of_few(M, q);
    const Index n = data_.n();
    const Index r = data_.rank();
    const Index chunks = chunks_of(groups_);
    const Index stride = chunks_of(capacity_);
    std::fill(mixed_.begin(), mixed_.end(), 0.0);
    for (Index first = 0; first < chunks; first += batch_) {
        const Index count = std::min(batch_, chunks - first);
        const double work = sum_work(count * kChunk, n);
        pool_.run_pieces(count, kTables, work, [&](Index begin, Index end) {
            for (Index chunk = begin; chunk < end; ++chunk) make_group_tables(M, first, chunk);
        });
        pool_.run_pieces(n, kPiece, work, [&](Index begin, Index end) {
            for (Index table = 0; table < count; table += kTables)
                for (Index i = begin; i < end; ++i)
                    add_entries(tables_.data() + table * kSubsets * width_,
                                group_codes_.data() + i * stride + first + table,
                                std::min<Index>(kTables, count - table), width_, mixed_.data() + i * width_);
        });
    }
    if (leak_ > 0.0) add_leaks_to_margins(M);
    for (Index i = 0; i < n; ++i)
        q[i] = data_.y()[i] * ConstMap(data_.X().row(i).data(), r).dot(ConstMap(mixed_.data() + i * width_, r));
}

void Drive::add_leaks_to_margins(const Matrix& M) {
    const Index r = data_.rank();
    Map all(rows_.data(), r);
    all = M.leftCols(groups_).rowwise().sum();
    for (Index i = 0; i < data_.n(); ++i) {
        Map mixed(mixed_.data() + i * width_, r);
        mixed = (1.0 - leak_) * mixed + leak_ * all;
    }
    for (const auto& [c, i] : held_) Map(mixed_.data() + i * width_, r) -= leak_ * M.col(c);
}

void Drive::margins_of_few(const Matrix& M, Vector& q) {
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
        q[i] = data_.y()[i] * sum;
    }
}

}  // namespace reluflow
