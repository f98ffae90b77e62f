#include "two_layer/sector_series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "two_layer/neuron_series.hpp"

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

SectorSeries::SectorSeries(const State& state, const Groups& groups, double floor, Pool& pool)
    : StateSeries(state, groups, floor, pool) {
    if (!is_worth(1, kMaxOrder)) return;  // too narrow for any step to go by sectors
    const Index usual = std::min({kUsualSectors, neurons(), kUsualNumbers / Sector::numbers(rank())});
    sectors_.assign(usual, Sector(rank()));
    rows_.assign(usual, Matrix(kBlockColumns, rank() + 1));
    blocks_.reserve(neurons() / kBlockColumns + 2 * kUsualSectors);
}

bool SectorSeries::is_worth(Index groups, int order) const noexcept {
    const double m = static_cast<double>(neurons());
    if (static_cast<double>(groups * Sector::numbers(rank())) > kMostNumbers) return false;
    const double r = static_cast<double>(rank());
    const double k = order;
    const double by_neuron = NeuronSeries::work(neurons(), rank(), order);
    const double moving = m * r * (r + 4.0 * k) / kProductSpeed;
    return kGain * (work(groups, order) + moving) < by_neuron;
}

double SectorSeries::work(Index groups, int order) const noexcept {
    const double r = static_cast<double>(rank());
    const double k = order;
    return static_cast<double>(groups) * k * (2.0 * r * r / kProductSpeed + 6.0 * k * r + k * k);
}

void SectorSeries::read_state() {
    if (std::ssize(sectors_) < groups_.count()) {
        sectors_.resize(2 * groups_.count(), Sector(rank()));
        rows_.resize(2 * groups_.count(), Matrix(kBlockColumns, rank() + 1));
    }
    if (workspaces_.empty())
        workspaces_.assign(kTasks, {Matrix(rank() + 1, kBlockColumns), Numbers(Sector::work_size(rank()))});
    find_blocks();
    const double work = static_cast<double>(neurons() * rank() * rank());
    pool_.run(groups_.count(), work, [&](Index group) { gather(group); });
}

void SectorSeries::find_blocks() {
    blocks_.clear();
    for (Index group = 0; group < groups_.count(); ++group) {
        const auto members = groups_.members(group);
        for (std::size_t begin = 0; begin < members.size(); begin += kBlockColumns)
            blocks_.push_back(
                {group, members.subspan(begin, std::min<std::size_t>(kBlockColumns, members.size() - begin))});
    }
}

void SectorSeries::gather(Index group) {
    Sector& sector = sectors_[group];
    sector.clear();
    const auto members = groups_.members(group);
    Matrix& rows = rows_[group];
    for (std::size_t begin = 0; begin < members.size(); begin += kBlockColumns) {
        const auto block = members.subspan(begin, std::min<std::size_t>(kBlockColumns, members.size() - begin));
        for (Index x = 0; x < rank(); ++x)
            for (std::size_t i = 0; i < block.size(); ++i) rows(i, x) = parameters().w(x, block[i]);
        for (std::size_t i = 0; i < block.size(); ++i) rows(i, rank()) = parameters().a[block[i]];
        sector.add(rows.topRows(std::ssize(block)));
    }
    sector.close();
}

void SectorSeries::restart(Matrix& moments) {
    order_ = 0;
    for (Index group = 0; group < groups_.count(); ++group) {
        sectors_[group].restart();
        moments.col(group) = sectors_[group].moment(0).transpose();
    }
}

void SectorSeries::push(const Matrix& gradients, double step, Matrix& moments) {
    step_ = step;
    const double count = static_cast<double>(groups_.count());
    const double work = count * static_cast<double>(rank() * (rank() + 4 * order_ * order_));
    pool_.run(groups_.count(), work, [&](Index group) {
        sectors_[group].push(gradients.col(group), step);
        moments.col(group) = sectors_[group].moment(order_ + 1).transpose();
    });
    ++order_;
}

double SectorSeries::relative_size(int k) const noexcept {
    double largest = 0.0;
    for (Index group = 0; group < groups_.count(); ++group) {
        const Sector& sector = sectors_[group];
        if (sector.is_at_zero()) continue;
        const double share = floor_ > 0.0 ? sector.size() / (sector.size() + floor_) : 1.0;
        const double size = share * sector.growth(k);
        if (!std::isfinite(size)) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, size);
    }
    return largest;
}

double SectorSeries::bend(Index neuron) const noexcept {
    return of(neuron).path(size(neuron), parameters().a[neuron], 2, 1.0);
}

void SectorSeries::path_bounds(double u, Index begin, Index end, Vector& bounds) const {
    for (Index j = begin; j < end; ++j) bounds[j] = of(j).path(size(j), parameters().a[j], 1, u);
}

void SectorSeries::copy_rates(std::span<const int> neurons, MatrixRef rates) const noexcept {
    for (Index i = 0; i < std::ssize(neurons); ++i)
        rates.row(i) = step_ * parameters().a[neurons[i]] * of(neurons[i]).start_gradient();
}

void SectorSeries::copy(Index neuron, double* w, double* a, double* g) const noexcept {
    const Sector& sector = of(neuron);
    for (int k = 0; k < order_; ++k)
        for (Index x = 0; x < rank(); ++x) g[k * rank() + x] = sector.g(k, x);
    for (Index x = 0; x < rank(); ++x) w[x] = parameters().w(x, neuron);
    a[0] = parameters().a[neuron];
    sector.expand(w, a);
}

void SectorSeries::evaluate(double u, Matrix& w, Vector& a) const {
    w = parameters().w;
    a = parameters().a;
    if (u == 0.0 && state_.is_current()) return;
    for (Index group = 0; u > 0.0 && group < groups_.count(); ++group) sectors_[group].set_end(u);
    const Index tasks = std::min<Index>(kTasks, std::ssize(blocks_));
    const double work = static_cast<double>(neurons() * order_ * (4 * rank() + 2 * order_));
    pool_.run(tasks, work, [&](Index task) {
        for (Index i = task; i < std::ssize(blocks_); i += tasks) move_block(blocks_[i], u, workspaces_[task], w, a);
    });
}

void SectorSeries::carry(double u) {
    for (Index group = 0; group < groups_.count(); ++group) {
        if (state_.is_current()) sectors_[group].start_carry();
        sectors_[group].carry(u);
    }
}

double SectorSeries::square() const noexcept {
    double sum = 0.0;
    for (Index group = 0; group < groups_.count(); ++group) sum += sectors_[group].size() * sectors_[group].size();
    return sum;
}

void SectorSeries::move_block(const Block& block, double u, Workspace& workspace, Matrix& w, Vector& a) const {
    const Index count = std::ssize(block.neurons);
    Matrix& columns = workspace.block;
    columns.setZero();
    for (Index x = 0; x < rank(); ++x)
        for (Index i = 0; i < count; ++i) columns(x, i) = w(x, block.neurons[i]);
    for (Index i = 0; i < count; ++i) columns(rank(), i) = a[block.neurons[i]];
    const Sector& sector = sectors_[block.group];
    if (!state_.is_current()) sector.lead(columns.data(), workspace.work.data());
    if (u > 0.0) sector.move(columns.data(), workspace.work.data());
    for (Index x = 0; x < rank(); ++x)
        for (Index i = 0; i < count; ++i) w(x, block.neurons[i]) = columns(x, i);
    for (Index i = 0; i < count; ++i) a[block.neurons[i]] = columns(rank(), i);
}

}  // namespace reluflow
