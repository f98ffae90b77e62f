#include "reluflow/drive.hpp"

#include <algorithm>

#include "drive_sums.hpp"

namespace reluflow {

namespace {

using Map = Eigen::Map<Vector>;
using ConstMap = Eigen::Map<const Vector>;

/// Groups for which there is memory from the start; the memory doubles when more come.
constexpr Index kUsualGroups = 4096;
/// Columns that are turned into rows, or back, at a time: they stay in the cache.
constexpr Index kTurned = 64;

}  // namespace

Drive::Drive(const Dataset& data, Index neurons, double leak)
    : data_(data),
      leak_(leak),
      width_(padded(data.rank())),
      one_to_one_(data.n_walls() == data.n()),
      orientation_(data.n()),
      row_(data.n()),
      rows_(kChunk * width_, 0.0),
      tables_(kTables * kSubsets * width_),
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
    for (Index c = 0; c < groups.count(); ++c) set_group(c, pattern, groups.leader(c));
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
    if (one_to_one_)
        for (Index i = 0; i < n; ++i) row_[i] = static_cast<std::int8_t>(sides[i] * orientation_[i]);
    else
        for (Index i = 0; i < n; ++i) row_[i] = static_cast<std::int8_t>(sides[data_.wall_of(i)] * orientation_[i]);
    std::int8_t* row = sides_.data() + group * n;
    if (group < groups_ && std::equal(row_.begin(), row_.end(), row)) return;
    std::copy(row_.begin(), row_.end(), row);
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

void Drive::gradients(const double* weights, Matrix& G) {
    if (groups_ <= kFewGroups) return gradients_of_few(weights, G);
    const Index n = data_.n();
    const Index r = data_.rank();
    const Index chunks = chunks_of(n);
    std::fill_n(sums_.begin(), groups_ * width_, 0.0);
    for (Index first = 0; first < chunks; first += kTables) {
        const Index count = std::min<Index>(kTables, chunks - first);
        for (Index chunk = 0; chunk < count; ++chunk) {
            for (Index b = 0; b < kChunk; ++b) {
                const Index i = (first + chunk) * kChunk + b;
                Map row(rows_.data() + b * width_, r);
                if (i < n)
                    row = weights[i] * data_.X().row(i).transpose();
                else
                    row.setZero();
            }
            make_table(rows_.data(), width_, tables_.data() + chunk * kSubsets * width_);
        }
        for (Index c = 0; c < groups_; ++c)
            add_entries(tables_.data(), sample_codes_.data() + c * chunks + first, count, width_,
                        sums_.data() + c * width_);
    }
    if (leak_ > 0.0) add_leaks_to_gradients(weights);
    for (Index first = 0; first < groups_; first += kTurned) {
        const Index end = std::min(first + kTurned, groups_);
        for (Index x = 0; x < r; ++x)
            for (Index c = first; c < end; ++c) G(x, c) = sums_[c * width_ + x];
    }
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

void Drive::margins(const Matrix& M, Vector& q) {
    if (groups_ <= kFewGroups) return margins_of_few(M, q);
    const Index n = data_.n();
    const Index r = data_.rank();
    const Index chunks = chunks_of(groups_);
    const Index stride = chunks_of(capacity_);
    std::fill(mixed_.begin(), mixed_.end(), 0.0);
    for (Index first = 0; first < chunks; first += kTables) {
        const Index count = std::min<Index>(kTables, chunks - first);
        for (Index chunk = 0; chunk < count; ++chunk) {
            const Index begin = (first + chunk) * kChunk;
            for (Index x = 0; x < r; ++x)
                for (Index b = 0; b < kChunk; ++b) rows_[b * width_ + x] = begin + b < groups_ ? M(x, begin + b) : 0.0;
            make_table(rows_.data(), width_, tables_.data() + chunk * kSubsets * width_);
        }
        for (Index i = 0; i < n; ++i)
            add_entries(tables_.data(), group_codes_.data() + i * stride + first, count, width_,
                        mixed_.data() + i * width_);
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
