#include "two_layer/radau_kernel.hpp"

#include <cmath>

#include "numeric/products.hpp"
#include "numeric/radau_nodes.hpp"

namespace reluflow {

/// Reserves memory that stays untouched in a run without Radau steps.
NodeKernels::NodeKernels(const Dataset& data, Index neurons, Index stages, Index most_active)
    : data_(data),
      neurons_(neurons),
      node_w_(stages, Matrix(data.rank(), neurons)),
      node_a_(stages, Vector(neurons)),
      mean_gradient_(data.rank()),
      column_(data.rank()),
      moment_(data.rank()),
      turned_(data.rank()),
      second_(data.rank(), data.rank()),
      outputs_(neurons),
      turns_(neurons) {
    own_.reserve(most_active);
    row_.resize(stages * (most_active + 1));
    member_w_.reserve(data.rank() * neurons);
    moving_.reserve(data.rank() * most_active);
    seen_.reserve(data.rank() * most_active);
    z_.reserve(most_active * neurons);
    products_.reserve(most_active * most_active);
    gram_.reserve(most_active * most_active);
    for (auto* column : {&along_, &with_output_, &with_gradient_, &change_}) column->reserve(most_active);
}

void NodeKernels::start(Expansion& expansion, std::span<const double> nodes, std::span<const int> active) {
    nodes_ = nodes;
    active_ = active;
    sectors_ = expansion.sectors();
    for (std::size_t node = 0; !sectors_ && node < nodes.size(); ++node)
        expansion.series().evaluate(nodes[node], node_w_[node], node_a_[node]);
    if (!sectors_) {
        member_w_.resize(data_.rank() * neurons_);
        z_.resize(count() * neurons_);
    }
    moving_.resize(data_.rank() * count());
    seen_.resize(data_.rank() * count());
    products_.resize(count() * count());
    gram_.resize(count() * count());
    for (auto* column : {&along_, &with_output_, &with_gradient_, &change_}) column->resize(count());
    own_.assign(count(), 0.0);
}

/// A change δg at node l changes M by δG M + M δG. The group's flow, a boost along ĝ of rapidity |g| H (c_k - c_l),
/// carries this to node k, where the (w, a) entry gives the margins.
void NodeKernels::add_group(const Expansion& expansion, Index group, const Vector& mean_weights, double step,
                            Eigen::Map<Matrix>& jacobian) {
    members_ = expansion.groups().members(group);
    prepare_group(expansion, group, mean_weights);
    const Index stages = static_cast<Index>(nodes_.size());
    for (Index other = 0; other < stages; ++other) {
        if (!(sectors_ ? take_sums(sectors_->sector(group), other) : take_moments(other))) continue;
        for (Index node = 0; node < stages; ++node)
            add_block(length_ * step * (nodes_[node] - nodes_[other]), step,
                      jacobian.block(node * (count() + 1), other * (count() + 1), count(), count()));
        if (other > 0) continue;
        for (Index k = 0; k < count(); ++k) own_[k] += square_ * products()(k, k) + gram()(k, k);
    }
}

void NodeKernels::integrate(Eigen::Map<Matrix>& jacobian) {
    const Index stages = static_cast<Index>(nodes_.size());
    Block before(row_.data(), stages, count() + 1);
    for (Index node = 0; node < stages; ++node)
        for (Index k = 0; k < count(); ++k) {
            Block row(&jacobian(node * (count() + 1) + k, 0), stages, count() + 1);
            before = row;
            multiply(RadauNodes::get().products[node], before, row);
        }
}

/// The active samples with the slopes and projection of the group, and its mean gradient over the step.
void NodeKernels::prepare_group(const Expansion& expansion, Index group, const Vector& mean_weights) {
    mean_gradient_.setZero();
    for (Index k = 0; k < count(); ++k) {
        const double factor = data_.signs()[active_[k]] * expansion.slope(active_[k], group);
        column_ = factor * data_.X().row(active_[k]).transpose();
        expansion.project(group, column_.data());
        moving().col(k) = column_;
        mean_gradient_ += mean_weights[k] * column_;
    }
    length_ = mean_gradient_.norm();
    if (length_ > 0.0) mean_gradient_ /= length_;
    transposed_multiply(moving(), moving(), products());
    along().noalias() = moving().transpose() * mean_gradient_;
}

/// Products of the moments at one node with the samples, the mean gradient ĝ and the output axis. False if all members
/// are zero.
bool NodeKernels::take_moments(Index node) {
    const Index members = static_cast<Index>(members_.size());
    const Matrix& w = node_w_[node];
    Block member_w(member_w_.data(), data_.rank(), members);
    for (Index x = 0; x < data_.rank(); ++x)
        for (Index i = 0; i < members; ++i) member_w(x, i) = w(x, members_[i]);
    for (Index i = 0; i < members; ++i) outputs_[i] = node_a_[node][members_[i]];
    auto outputs = outputs_.head(members);
    auto turns = turns_.head(members);
    turns.noalias() = member_w.transpose() * mean_gradient_;
    square_ = outputs.squaredNorm();
    along_square_ = outputs.dot(turns);
    Block z(z_.data(), count(), members);
    transposed_multiply(moving(), member_w, z);
    with_output().noalias() = z * outputs;
    with_gradient().noalias() = z * turns;
    multiply_transposed(z, z, gram());
    return square_ > 0.0;
}

/// The same from the sums over a sector.
bool NodeKernels::take_sums(Sector& sector, Index node) {
    sector.sums_at(nodes_[node], square_, moment_, second_);
    turned_.noalias() = second_ * mean_gradient_;
    along_square_ = mean_gradient_.dot(moment_);
    with_output().noalias() = moving().transpose() * moment_;
    with_gradient().noalias() = moving().transpose() * turned_;
    Block seen(seen_.data(), data_.rank(), count());
    multiply(second_, moving(), seen);
    transposed_multiply(moving(), seen, gram());
    return square_ > 0.0;
}

void NodeKernels::add_block(double rapidity, double factor, Eigen::Ref<Matrix> block) {
    const double c = std::cosh(rapidity);
    const double s = std::sinh(rapidity);
    const double turned = c * square_ + s * along_square_;
    change() = s * (c * with_output() + s * with_gradient()) + (c - 1.0) * turned * along() +
               c * ((c - 1.0) * with_gradient() + s * with_output()) +
               s * ((c - 1.0) * along_square_ + s * square_) * along();
    const double* const changes = change_.data();
    const double* const alongs = along_.data();
    for (Index k = 0; k < count(); ++k) {  // in one pass: most of the work is to bring the block
        const double of_product = factor * turned;
        const double of_gram = factor * c;
        const double of_change = factor * along_[k];
        const double of_along = factor * s * with_output_[k];
        const double* const product = products_.data() + k * count();
        const double* const square = gram_.data() + k * count();
        double* const row = &block(k, 0);
        for (Index l = 0; l < count(); ++l)
            row[l] += of_product * product[l] + of_gram * square[l] + of_change * changes[l] + of_along * alongs[l];
    }
}

}  // namespace reluflow
