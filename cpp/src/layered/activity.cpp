#include "layered/activity.hpp"

#include <algorithm>
#include <utility>

namespace reluflow::layered {
namespace {

/// The number of a bias among the roots of stems; units follow.
constexpr int kBiasRoot = 1;

}  // namespace

Activity::Activity(const Graph& graph, const Matrix& X) : graph_(&graph), X_(&X), directions_(X) {
    int count = kBiasRoot + 1;
    for (const Node& node : graph.nodes()) {
        first_.push_back(count);
        count += static_cast<int>(node.size);
        stems_.emplace_back(static_cast<std::size_t>(X.rows() * node.size));
        side_.emplace_back(SignMatrix::Zero(X.rows(), node.size));
        mode_.emplace_back(SignMatrix::Zero(X.rows(), node.size));
        single_.emplace_back(SignMatrix::Zero(X.rows(), node.size));
        slope_.emplace_back(Matrix::Ones(X.rows(), node.size));
        if (directions_.any()) contents_.emplace_back(static_cast<std::size_t>(X.rows() * node.size));
    }
    find_cancelled();
    become_new();
}

void Activity::set(const Place& p, int side, Mode mode) {
    mark(p.sample);
    const Node& node = graph_->node(p.node);
    side_[p.node](p.sample, p.unit) = static_cast<std::int8_t>(side);
    mode_[p.node](p.sample, p.unit) = static_cast<std::int8_t>(mode);
    if (!node.linear) slope_[p.node](p.sample, p.unit) = mode == Mode::sliding ? 0.0 : side > 0 ? 1.0 : node.leak;
}

void Activity::slide(Boundary boundary) {
    for (const Place& p : boundary.members) set(p, 0, Mode::sliding);
    may_keep_ = may_keep_ || boundary.is_parameter();
    sliding_.push_back(std::move(boundary));
}

bool Activity::is_live(const Edge& edge, Index sample, Index col) const noexcept {
    if (edge.source == 0) return (*X_)(sample, col) != 0.0;
    const Place p{edge.source, sample, col};
    if (mode(p) != Mode::moving) return false;
    const Node& node = graph_->node(edge.source);
    return node.linear || edge.tap == Tap::preactivation || side(p) > 0 || node.leak > 0.0;
}

double Activity::input_rate(const Edge& edge, Index sample, Index col,
                            const std::vector<std::vector<double>>& rate) const {
    const double z = rate[edge.source][col];
    if (edge.tap == Tap::preactivation || graph_->node(edge.source).linear) return z;
    return z * slope_[edge.source](sample, col);
}

Activity::Wiring Activity::wiring(const Place& p, const Vector& theta, const std::vector<std::vector<char>>& zero,
                                  const std::vector<std::vector<double>>& rate) {
    Wiring found;
    if (is_cancelled(p)) return found;
    common_.clear();
    const Node& node = graph_->node(p.node);
    bool up = false;
    bool down = false;
    const bool only_kept = reads_only_kept(p);
    if (!node.bias.empty() && node.bias[p.unit] >= 0) {
        ++found.live;
        found.all_zero = false;
        sent_ = {{kBiasRoot, 1, 0}};
        add_stems(true, 0);
    }
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols && (found.live < 2 || found.all_zero || !common_.empty()); ++c) {
            if (!reads(edge, p, c, only_kept)) continue;
            ++found.live;
            found.linear_source = edge.source > 0 && graph_->node(edge.source).linear;
            if (found.live == 1 || !common_.empty()) {
                list_stems(edge, p.sample, c);
                add_stems(found.live == 1, mixed(static_cast<std::uint64_t>(e) + 1, static_cast<std::uint64_t>(c)));
            }
            if (edge.source == 0 || !zero[edge.source][c]) {
                found.all_zero = false;
                continue;
            }
            const double term = edge.entry(p.unit, c, theta) * input_rate(edge, p.sample, c, rate);
            found.rate += term;
            found.size += std::abs(term);
            up = up || term > 0.0;
            down = down || term < 0.0;
        }
    }
    found.mixed = up && down;
    if (!common_.empty()) found.stem = common_.front();
    if (found.stem.taps == 3) {  // z and h of the root: in what ratio, its side says
        const Input root = root_input(found.stem);
        const int s = side({root.node, p.sample, root.unit}) > 0 ? 1 : 2;
        found.stem.path = mixed(found.stem.path, static_cast<std::uint64_t>(s));
    }
    return found;
}

// Lists the units that all passes which an input sends, itself first. A linear unit is none: it has no event where it
// vanishes.
void Activity::list_stems(const Edge& edge, Index sample, Index col) {
    const int tap = edge.source > 0 && edge.tap == Tap::preactivation ? 2 : 1;
    sent_.clear();
    if (edge.source == 0 || !graph_->node(edge.source).linear) sent_.push_back({number(edge.source, col), tap, 0});
    if (edge.source == 0) return;
    Place p{edge.source, sample, col};
    int taps = tap;
    std::uint64_t path = 0;
    for (bool is_first = true;; is_first = false) {
        const Stem& below = stems_[p.node][sample * graph_->node(p.node).size + p.unit];
        if (below.root == 0) return;
        const std::uint64_t own = link(p, taps, below);
        path = is_first ? own : mixed(path, own);
        sent_.push_back({below.root, below.taps, path});
        const Input root = root_input(below);
        if (root.node < 1) return;
        p = {root.node, sample, root.unit};
        taps = below.taps;
    }
}

// Names what lies between a place and the unit below that it passes, and the side on which it is read.
std::uint64_t Activity::link(const Place& p, int taps, const Stem& below) const {
    const Node& node = graph_->node(p.node);
    const bool turns = !node.linear && (taps & 1) != 0 && node.leak > 0.0;
    const int s = turns && side(p) < 0 ? 2 : 1;
    return mixed(below.path, static_cast<std::uint64_t>(4 * s + taps));
}

// Keeps what the inputs before and this one pass.
void Activity::add_stems(bool is_first, std::uint64_t name) {
    const auto named = [&](std::uint64_t before, const Stem& sent) {
        return mixed(mixed(before, name), mixed(sent.path, static_cast<std::uint64_t>(sent.taps)));
    };
    if (is_first) {
        common_ = sent_;
        for (Stem& stem : common_) stem.path = named(0, stem);
        return;
    }
    std::erase_if(common_, [&](Stem& stem) {
        const auto same = std::ranges::find(sent_, stem.root, &Stem::root);
        if (same == sent_.end()) return true;
        stem.path = named(stem.path, *same);
        stem.taps |= same->taps;
        return false;
    });
}

Input Activity::root_input(const Stem& stem) const {
    if (stem.root == kBiasRoot) return {};
    int v = graph_->count() - 1;
    while (first_[v] > stem.root) --v;
    return {v, (stem.taps & 1) != 0 ? Tap::activated : Tap::preactivation, static_cast<Index>(stem.root - first_[v])};
}

// How fast a place moves by what is zero below it.
double Activity::zero_rate(const Place& p, const Vector& theta, const std::vector<std::vector<char>>& zero,
                           const std::vector<std::vector<double>>& rate) const {
    double sum = 0.0;
    for (const int e : graph_->node(p.node).incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols && edge.source > 0; ++c)
            if (edge.connects(p.unit, c) && is_live(edge, p.sample, c) && zero[edge.source][c] != 0)
                sum += edge.entry(p.unit, c, theta) * input_rate(edge, p.sample, c, rate);
    }
    return sum;
}

// The rate of an empty unit when what slides below it would leave upwards: Σ A over what would wake it.
double Activity::awaited_rate(const Place& p, const Vector& theta, const std::vector<std::vector<double>>& rate) const {
    double sum = 0.0;
    for (const int e : graph_->node(p.node).incoming) {
        const Edge& edge = graph_->edges()[e];
        if (edge.source == 0) continue;
        const Node& source = graph_->node(edge.source);
        for (Index c = 0; c < edge.cols; ++c) {
            const Place q{edge.source, p.sample, c};
            double t = 0.0;
            if (mode(q) == Mode::sliding) t = 1.0;
            if (mode(q) == Mode::empty) t = rate[q.node][c];
            if (!source.linear && edge.tap == Tap::activated) t = std::max(t, source.leak * t);
            if (t != 0.0) sum += edge.entry(p.unit, c, theta) * t;
        }
    }
    return sum;
}

void Activity::rewire(Index sample, const Vector& theta, int orders, std::vector<std::vector<char>>& zero,
                      std::vector<std::vector<double>>& rate, std::vector<Change>& changes) {
    mark(sample);
    for (int v = 1; v < graph_->count(); ++v) {
        for (Index u = 0; u < graph_->node(v).size; ++u) {
            const Place p{v, sample, u};
            const Wiring wires = wiring(p, theta, zero, rate);
            if (wires.live == 0) {
                rate[v][u] = awaited_rate(p, theta, rate);
                zero[v][u] = 1;
                make_empty(p, rate[v][u], changes);
                continue;
            }
            const bool changed = set_stem(p, wires);
            const auto own =
                given_ == nullptr ? std::vector<Given>::const_iterator{} : std::ranges::find(*given_, p, &Given::place);
            if (given_ != nullptr && own != given_->end()) {
                zero[v][u] = 1;
                rate[v][u] = own->rate;
                take(*own, changed);
            } else if (wires.all_zero) {
                zero[v][u] = 1;
                rate[v][u] = told_of(p) == nullptr && wires.is_told() ? wires.rate : 0.0;
                used_rates_ = used_rates_ || wires.mixed;
                update(p, wires, orders, changes);
            } else if (mode(p) == Mode::sliding && changed) {
                stale_.push_back({p, zero_rate(p, theta, zero, rate)});
            }
        }
    }
}

void Activity::update(const Place& p, const Wiring& wires, int orders, std::vector<Change>& changes) {
    const Node& node = graph_->node(p.node);
    const Mode before = mode(p);
    if (before == Mode::sliding) leave_boundary(p);
    if (node.linear) {
        set(p, 1, Mode::moving);
        return;
    }
    const Told* told = told_of(p);
    const int by_rate = !wires.is_told() ? untold_ : wires.rate > 0.0 ? 1 : -1;
    const int now = told != nullptr ? told->side : by_rate;
    const bool changed = before != Mode::moving || side(p) != now;
    if (changed) {
        if (before == Mode::empty)
            changes.push_back({p, now > 0 ? Kind::wake_up : Kind::wake_down});
        else if (before == Mode::sliding)
            changes.push_back({p, now > 0 ? Kind::leave_up : Kind::leave_down});
        else
            changes.push_back({p, now > 0 ? Kind::cross_up : Kind::cross_down});
    }
    set(p, now, Mode::moving);
    zeros_.push_back({p, told != nullptr ? told->orders : orders, false, told == nullptr && wires.is_told()});
}

void Activity::make_empty(const Place& p, double awaited, std::vector<Change>& changes) {
    const Mode before = mode(p);
    if (before == Mode::sliding) leave_boundary(p);
    if (before != Mode::empty && !graph_->node(p.node).linear) changes.push_back({p, Kind::void_unit});
    set(p, awaited > 0.0 ? 1 : -1, Mode::empty);
    set_stem(p, {});
}

// True if the boundary of the place may be another one now.
bool Activity::set_stem(const Place& p, const Wiring& wires) {
    const Node& node = graph_->node(p.node);
    int shared = wires.live == 1 && !wires.linear_source ? 1 : wires.stem.root != 0 ? 2 : 0;
    bool renamed = false;
    if (!contents_.empty()) {
        const Content found = wires.live == 0 ? Content{} : content_of(p);
        renamed = content(p).name != found.name || content(p).form != found.form;
        const bool reads_data = shared == 1 && wires.stem.root < first_[1];
        if ((shared == 0 && wires.live > 0) || reads_data) shared = 3;
        content(p) = found;
    }
    if (node.linear) shared = 0;
    std::int8_t& flag = single_[p.node](p.sample, p.unit);
    Stem& stem = stems_[p.node][p.sample * node.size + p.unit];
    const bool changed =
        flag != shared || renamed ||
        ((shared == 1 || shared == 2) && (stem.path != wires.stem.path || stem.root != wires.stem.root));
    const auto is_single = [](int by) { return by == 1 || by == 2; };
    n_shared_ += (shared != 0 ? 1 : 0) - (flag != 0 ? 1 : 0);
    n_single_ += (is_single(shared) ? 1 : 0) - (is_single(flag) ? 1 : 0);
    flag = static_cast<std::int8_t>(shared);
    stem = wires.stem;
    return changed;
}

bool Activity::reads_only(const Place& p, const std::vector<Place>& places) const {
    const Node& node = graph_->node(p.node);
    if (!node.bias.empty() && node.bias[p.unit] >= 0) return false;
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols; ++c) {
            if (!reads(edge, p, c)) continue;
            if (std::ranges::find(places, Place{edge.source, p.sample, c}) == places.end()) return false;
        }
    }
    return true;
}

void Activity::restore(const std::vector<SignMatrix>& sides, const std::vector<SignMatrix>& modes,
                       std::vector<Boundary> sliding, std::vector<Zero> zeros) {
    std::vector<std::vector<char>> zero;
    std::vector<std::vector<double>> rate;
    for (const Node& node : graph_->nodes()) {
        zero.emplace_back(node.size, 0);
        rate.emplace_back(node.size, 0.0);
    }
    const Vector theta = Vector::Zero(graph_->parameters());
    sliding_ = std::move(sliding);
    may_keep_ = std::ranges::any_of(sliding_, &Boundary::is_parameter);
    for (int v = 1; v < graph_->count(); ++v)
        for (Index i = 0; i < samples(); ++i)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                const Place p{v, i, u};
                set(p, sides[v](i, u), static_cast<Mode>(modes[v](i, u)));
                set_stem(p, mode(p) == Mode::empty ? Wiring{} : wiring(p, theta, zero, rate));
            }
    for (Boundary& boundary : sliding_) {
        if (boundary.is_parameter() || boundary.inputs.empty()) continue;
        boundary.stem = boundary_of(boundary.members.front()).stem;
        for (std::size_t m = 0; m < boundary.members.size(); ++m)
            boundary.inputs[m] = boundary_of(boundary.members[m]).inputs.front();
    }
    zeros_ = std::move(zeros);
    become_new();
}

void Activity::read(const std::vector<Matrix>& z, const Vector& theta) {
    sliding_.clear();
    may_keep_ = false;
    zeros_.clear();
    std::vector<std::vector<char>> zero;
    std::vector<std::vector<double>> rate;
    for (const Node& node : graph_->nodes()) {
        zero.emplace_back(node.size, 0);
        rate.emplace_back(node.size, 0.0);
    }
    std::vector<Change> ignored;
    for (Index i = 0; i < samples(); ++i) {
        for (int v = 1; v < graph_->count(); ++v)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                set({v, i, u}, graph_->node(v).linear || z[v](i, u) > 0.0 ? 1 : -1, Mode::moving);
                zero[v][u] = 0;
                rate[v][u] = 0.0;
            }
        rewire(i, theta, 1, zero, rate, ignored);
    }
    zeros_.clear();
    become_new();
}

void pre_activations(const Graph& graph, const Matrix& X, const Vector& theta, std::vector<Matrix>& z) {
    // Column by column: the sums of all samples advance together, each in the order of its inputs.
    std::vector<Eigen::MatrixXd> pre(graph.count()), post(graph.count());
    pre[0] = post[0] = X;
    for (int v = 1; v < graph.count(); ++v) {
        const Node& node = graph.node(v);
        pre[v].setZero(X.rows(), node.size);
        for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
            if (node.bias[u] >= 0) pre[v].col(u).array() += theta[node.bias[u]];
        for (const int e : node.incoming) {
            const Edge& edge = graph.edges()[e];
            const Eigen::MatrixXd& t = edge.tap == Tap::preactivation ? pre[edge.source] : post[edge.source];
            for (Index r = 0; r < edge.rows; ++r)
                for (Index c = 0; c < edge.cols; ++c)
                    if (edge.connects(r, c)) pre[v].col(r) += edge.entry(r, c, theta) * t.col(c);
        }
        post[v] = node.linear ? pre[v] : pre[v].cwiseMax(node.leak * pre[v]);
    }
    z.assign(pre.begin(), pre.end());
}

void sizes_of_terms(const Graph& graph, const Vector& theta, const std::vector<Matrix>& z, std::vector<Matrix>& sizes) {
    sizes.assign(graph.count(), Matrix());
    std::vector<Matrix> sent(graph.count());
    sizes[0] = sent[0] = z[0].cwiseAbs();
    for (int v = 1; v < graph.count(); ++v) {
        const Node& node = graph.node(v);
        sizes[v].setZero(z[v].rows(), node.size);
        for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
            if (node.bias[u] >= 0) sizes[v].col(u).array() += std::abs(theta[node.bias[u]]);
        for (const int e : node.incoming) {
            const Edge& edge = graph.edges()[e];
            const Matrix& t = edge.tap == Tap::preactivation ? sizes[edge.source] : sent[edge.source];
            for (Index r = 0; r < edge.rows; ++r)
                for (Index c = 0; c < edge.cols; ++c)
                    if (edge.connects(r, c)) sizes[v].col(r) += std::abs(edge.entry(r, c, theta)) * t.col(c);
        }
        sent[v] = node.linear ? sizes[v] : (z[v].array() < 0.0).select(node.leak * sizes[v], sizes[v]);
    }
}

}  // namespace reluflow::layered
