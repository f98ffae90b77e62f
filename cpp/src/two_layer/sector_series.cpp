#include "two_layer/sector_series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

/// Initial reserve, in sectors, if they are small; grows geometrically.
constexpr Index kUsualSectors = 8;
constexpr Index kUsualNumbers = Index{1} << 20;
/// Largest storage of all sectors, in numbers (256 MiB with growth); beyond it neurons are expanded one by one.
constexpr double kMostNumbers = 1 << 24;
/// A matrix product does about this many operations in the time of one operation of a neuron's series.
constexpr double kProductSpeed = 4.0;
/// Sectors must be estimated to be less work by this factor, because the estimates are rough.
constexpr double kGain = 1.5;

}  // namespace

SectorSeries::SectorSeries(Index neurons, Index rank, Pool& pool) : neurons_(neurons), rank_(rank), pool_(pool) {
    if (!is_worth(1, kMaxOrder)) return;  // too narrow for any step to go by sectors
    const Index usual = std::min({kUsualSectors, neurons, kUsualNumbers / Sector::numbers(rank)});
    sectors_.assign(usual, Sector(rank));
    rows_.assign(usual, Matrix(kSectorColumns, rank + 1));
    blocks_.reserve(neurons / kSectorColumns + 2 * kUsualSectors);
}

bool SectorSeries::is_worth(Index groups, int order) const noexcept {
    const double m = static_cast<double>(neurons_);
    if (static_cast<double>(groups * Sector::numbers(rank_)) > kMostNumbers) return false;
    const double r = static_cast<double>(rank_);
    const double k = order;
    const double by_neuron = 1.5 * k * k * r * m;
    const double moving = m * r * (r + 4.0 * k) / kProductSpeed;
    return kGain * (work(groups, order) + moving) < by_neuron;
}

double SectorSeries::work(Index groups, int order) const noexcept {
    const double r = static_cast<double>(rank_);
    const double k = order;
    return static_cast<double>(groups) * k * (2.0 * r * r / kProductSpeed + 6.0 * k * r + k * k);
}

void SectorSeries::start(const NetworkState& state, double floor, const Groups& groups, Matrix& moments) {
    state_ = &state;
    groups_ = &groups;
    floor_ = floor;
    if (std::ssize(sectors_) < groups.count()) {
        sectors_.resize(2 * groups.count(), Sector(rank_));
        rows_.resize(2 * groups.count(), Matrix(kSectorColumns, rank_ + 1));
    }
    if (workspaces_.empty())
        workspaces_.assign(kTasks, {Matrix(rank_ + 1, kSectorColumns), std::vector<double>(Sector::work_size(rank_))});
    find_blocks();
    const double work = static_cast<double>(neurons_ * rank_ * rank_);
    pool_.run(groups.count(), work, [&](Index group) { gather(group); });
    restart(moments);
}

void SectorSeries::find_blocks() {
    blocks_.clear();
    for (Index group = 0; group < groups_->count(); ++group) {
        const auto members = groups_->members(group);
        for (std::size_t begin = 0; begin < members.size(); begin += kSectorColumns)
            blocks_.push_back(
                {group, members.subspan(begin, std::min<std::size_t>(kSectorColumns, members.size() - begin))});
    }
}

void SectorSeries::gather(Index group) {
    Sector& sector = sectors_[group];
    sector.clear();
    const auto members = groups_->members(group);
    Matrix& rows = rows_[group];
    for (std::size_t begin = 0; begin < members.size(); begin += kSectorColumns) {
        const auto block = members.subspan(begin, std::min<std::size_t>(kSectorColumns, members.size() - begin));
        for (Index x = 0; x < rank_; ++x)
            for (std::size_t i = 0; i < block.size(); ++i) rows(i, x) = state_->w(x, block[i]);
        for (std::size_t i = 0; i < block.size(); ++i) rows(i, rank_) = state_->a[block[i]];
        sector.add(rows.topRows(std::ssize(block)));
    }
    sector.close();
}

void SectorSeries::restart(Matrix& moments) {
    order_ = 0;
    for (Index group = 0; group < groups_->count(); ++group) {
        sectors_[group].restart();
        moments.col(group) = sectors_[group].moment(0).transpose();
    }
}

void SectorSeries::push(const Matrix& gradients, double step, Matrix& moments) {
    const double count = static_cast<double>(groups_->count());
    const double work = count * static_cast<double>(rank_ * (rank_ + 4 * order_ * order_));
    pool_.run(groups_->count(), work, [&](Index group) {
        sectors_[group].push(gradients.col(group), step);
        moments.col(group) = sectors_[group].moment(order_ + 1).transpose();
    });
    ++order_;
}

double SectorSeries::relative_size(int k) const noexcept {
    double largest = 0.0;
    for (Index group = 0; group < groups_->count(); ++group) {
        const Sector& sector = sectors_[group];
        if (sector.is_at_zero()) continue;
        const double share = floor_ > 0.0 ? sector.size() / (sector.size() + floor_) : 1.0;
        const double size = share * sector.growth(k);
        if (!std::isfinite(size)) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, size);
    }
    return largest;
}

void SectorSeries::evaluate(double u, Matrix& w, Vector& a) const {
    w = state_->w;
    a = state_->a;
    if (u == 0.0 && !carrying_) return;
    for (Index group = 0; u > 0.0 && group < groups_->count(); ++group) sectors_[group].set_end(u);
    const Index tasks = std::min<Index>(kTasks, std::ssize(blocks_));
    const double work = static_cast<double>(neurons_ * order_ * (4 * rank_ + 2 * order_));
    pool_.run(tasks, work, [&](Index task) {
        for (Index i = task; i < std::ssize(blocks_); i += tasks) move_block(blocks_[i], u, workspaces_[task], w, a);
    });
}

void SectorSeries::carry(double u) {
    for (Index group = 0; group < groups_->count(); ++group) {
        if (!carrying_) sectors_[group].start_carry();
        sectors_[group].carry(u);
    }
    carrying_ = true;
}

double SectorSeries::square() const noexcept {
    double sum = 0.0;
    for (Index group = 0; group < groups_->count(); ++group) sum += sectors_[group].size() * sectors_[group].size();
    return sum;
}

void SectorSeries::move_block(const Block& block, double u, Workspace& workspace, Matrix& w, Vector& a) const {
    const Index count = std::ssize(block.neurons);
    Matrix& columns = workspace.block;
    columns.setZero();
    for (Index x = 0; x < rank_; ++x)
        for (Index i = 0; i < count; ++i) columns(x, i) = w(x, block.neurons[i]);
    for (Index i = 0; i < count; ++i) columns(rank_, i) = a[block.neurons[i]];
    const Sector& sector = sectors_[block.group];
    if (carrying_) sector.lead(columns.data(), workspace.work.data());
    if (u > 0.0) sector.move(columns.data(), workspace.work.data());
    for (Index x = 0; x < rank_; ++x)
        for (Index i = 0; i < count; ++i) w(x, block.neurons[i]) = columns(x, i);
    for (Index i = 0; i < count; ++i) a[block.neurons[i]] = columns(rank_, i);
}

}  // namespace reluflow
