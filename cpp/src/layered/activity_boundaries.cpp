/// What slides on which boundary, and who shares it: a part of Activity.
#include "layered/activity.hpp"
#include "layered/dependence.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace reluflow::layered {
namespace {

// Of parameters at an event, below this size one is zero.
double largest_part(const Vector& theta) {
    constexpr double kVanishing = 1e-9;
    return kVanishing * theta.cwiseAbs().maxCoeff();
}

}  // namespace

bool Activity::is_kept_zero(const Edge& edge, const Place& reader, Index col) const noexcept {
    if (!may_keep_ || edge.at(reader.unit, col) < 0) return false;
    return std::ranges::any_of(sliding_, [&](const Boundary& boundary) {
        return boundary.is_parameter() && boundary.parameter == edge.at(reader.unit, col) &&
               boundary.constant == edge.fixed(reader.unit, col) && boundary.place_of(reader) < 0;
    });
}

bool Activity::reads_only_kept(const Place& p) const noexcept {
    return may_keep_ && read_count(p, true) > 0 && read_count(p, false) == 0;
}

int Activity::read_count(const Place& p, bool reads_kept) const noexcept {
    const Node& node = graph_->node(p.node);
    int count = !node.bias.empty() && node.bias[p.unit] >= 0 ? 1 : 0;
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols; ++c) count += reads(edge, p, c, reads_kept) ? 1 : 0;
    }
    return count;
}

std::vector<std::pair<Index, double>> Activity::kept() const {
    std::vector<std::pair<Index, double>> found;
    for (const Boundary& boundary : sliding_)
        if (boundary.is_parameter()) found.emplace_back(boundary.parameter, boundary.constant);
    std::ranges::sort(found);
    return found;
}

// One multiplier for each entry does not say what the members may do where several entries of a row are kept at zero:
// such a member pulls all of them at once.
bool Activity::any_row_vanishes() const {
    if (kept().size() < 2) return false;
    for (const Boundary& boundary : sliding_)
        for (const Place& p : boundary.members)
            if (boundary.acts_on_parameter() && read_count(p, true) > read_count(p, false)) return true;
    for (int v = 1; v < graph_->count(); ++v)
        for (Index i = 0; i < samples(); ++i)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                const Place p{v, i, u};
                if (!graph_->node(v).linear && mode(p) == Mode::moving && reads_only_kept(p)) return true;
            }
    return false;
}

void Activity::leave_boundary(const Place& p) {
    for (Boundary& boundary : sliding_) {
        const auto found = std::find(boundary.members.begin(), boundary.members.end(), p);
        if (found == boundary.members.end()) continue;
        if (!boundary.inputs.empty())
            boundary.inputs.erase(boundary.inputs.begin() + (found - boundary.members.begin()));
        boundary.members.erase(found);
    }
    std::erase_if(sliding_, [](const Boundary& boundary) { return boundary.members.empty(); });
}

void Activity::regroup(const Vector& theta, int orders, std::vector<Change>& changes) {
    parted_.clear();
    touched_.clear();
    if (n_shared_ == 0 && stale_.empty()) return;
    sort_sliding();
    stale_.clear();
    const double scale = largest_part(theta);
    for (std::size_t b = 0; b < sliding_.size(); ++b) {
        const Boundary& one = sliding_[b];
        if (one.is_parameter() && std::abs(one.constant + theta[one.parameter]) > scale) stand_alone(b);
    }
    join_vanishing(theta, orders, changes);
}

// Boundaries under their names of now. What has parted from the others of its boundary is listed.
void Activity::sort_sliding() {
    std::vector<Boundary> sorted;
    renamed_.clear();
    for (const Boundary& old : sliding_) {
        std::vector<Boundary> groups;
        part(groups, old);
        for (Boundary& group : groups) {
            const bool renamed = !group.is_same(old);
            const auto same = std::ranges::find_if(sorted, [&](const Boundary& b) { return b.is_same(group); });
            if (same == sorted.end()) {
                sorted.push_back(std::move(group));
                renamed_.push_back(renamed ? 1 : 0);
                continue;
            }
            for (std::size_t m = 0; m < group.members.size(); ++m) {
                if (same->place_of(group.members[m]) >= 0) continue;
                same->members.push_back(group.members[m]);
                if (!group.inputs.empty()) same->inputs.push_back(group.inputs[m]);
            }
        }
    }
    sliding_ = std::move(sorted);
    may_keep_ = std::ranges::any_of(sliding_, &Boundary::is_parameter);
}

void Activity::part(std::vector<Boundary>& groups, const Boundary& old) {
    for (const Place& p : old.members) {
        Boundary own = boundary_of(p);
        const auto same = std::ranges::find_if(groups, [&](const Boundary& b) { return b.is_same(own); });
        if (same == groups.end()) {
            groups.push_back(std::move(own));
            continue;
        }
        same->members.push_back(p);
        same->inputs.push_back(own.inputs.front());
    }
    if (groups.size() < 2) return;
    const auto stays = std::ranges::find_if(groups, [&](const Boundary& b) { return b.is_same(old); });
    const std::size_t kept = stays == groups.end() ? 0 : static_cast<std::size_t>(stays - groups.begin());
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (g == kept) continue;
        const Place& p = groups[g].members.front();
        const auto known = std::ranges::find_if(stale_, [&](const Stale& one) { return one.place == p; });
        const int up = known != stale_.end() && known->rate < 0.0 ? -1 : 1;
        const int turn = groups[g].inputs.empty() ? 1 : input_sign(p, groups[g].inputs.front());
        parted_.emplace_back(groups[g], up * turn);
    }
}

// What shares a boundary with something that slides vanishes with it: it slides too. If the side of that boundary has
// just been chosen and what slid came to it only now, that follows.
void Activity::join_vanishing(const Vector& theta, int orders, std::vector<Change>& changes) {
    if (std::ranges::none_of(sliding_, [](const Boundary& b) { return b.is_shared(); })) return;
    std::vector<Matrix> z;  // made when it is needed
    for (int v = 1; v < graph_->count(); ++v)
        for (Index i = 0; i < samples(); ++i)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                const Place q{v, i, u};
                if (shared_by(q) == 0 || mode(q) != Mode::moving) continue;
                if (const std::uint64_t name = name_of(q);
                    name != 0 && std::ranges::find(sliding_, name, &Boundary::stem) == sliding_.end())
                    continue;
                const Boundary own = boundary_of(q);
                if (!own.is_shared()) continue;
                const auto same = std::ranges::find_if(sliding_, [&](const Boundary& b) { return b.is_same(own); });
                if (same == sliding_.end()) continue;
                const auto b = static_cast<std::size_t>(same - sliding_.begin());
                if (!vanishes(q, theta, z)) {
                    stand_alone(b);
                    continue;
                }
                touched_.push_back(i);
                const auto chosen = [&](const Zero& zero) { return zero.place == q && zero.is_chosen; };
                if (renamed_[b] != 0 && std::ranges::any_of(zeros_, chosen)) {
                    follow_chosen(b, q, orders, changes);
                    continue;
                }
                same->members.push_back(q);
                same->inputs.push_back(own.inputs.front());
                set(q, 0, Mode::sliding);
                changes.push_back({q, Kind::slide});
            }
}

// z = w t of what has come to a shared boundary is zero there by w, or by t on its sample alone: what moves says which.
bool Activity::vanishes(const Place& q, const Vector& theta, std::vector<Matrix>& z) const {
    if (z.empty()) pre_activations(*graph_, *X_, theta, z);
    double read = graph_->node(q.node).bias.empty() ? 0.0 : 1.0;
    for (const int e : graph_->node(q.node).incoming) {
        const int source = graph_->edges()[e].source;
        read = std::max(read, (source == 0 ? *X_ : z[source]).cwiseAbs().maxCoeff());
    }
    return std::abs(z[q.node](q.sample, q.unit)) <= largest_part(theta) * read;
}

void Activity::stand_alone(std::size_t b) {
    const Boundary shared = sliding_[b];
    sliding_[b] = {};
    sliding_[b].members = {shared.members.front()};
    for (std::size_t m = 1; m < shared.members.size(); ++m) {
        Boundary own;
        own.members = {shared.members[m]};
        sliding_.push_back(std::move(own));
        renamed_.push_back(1);
    }
}

void Activity::follow_chosen(std::size_t b, const Place& chosen, int orders, std::vector<Change>& changes) {
    const Boundary boundary = sliding_[b];
    const int up = side(chosen) * input_sign(chosen, boundary_of(chosen).inputs.front());
    for (std::size_t m = 0; m < boundary.members.size(); ++m) {
        const Place& p = boundary.members[m];
        const int now = up * input_sign(p, boundary.inputs[m]);
        set(p, now, Mode::moving);
        zeros_.push_back({p, orders});
        changes.push_back({p, now > 0 ? Kind::leave_up : Kind::leave_down});
        touched_.push_back(p.sample);
    }
    sliding_.erase(sliding_.begin() + static_cast<std::ptrdiff_t>(b));
    renamed_.erase(renamed_.begin() + static_cast<std::ptrdiff_t>(b));
}

int Activity::input_sign(const Place& p, const Input& input) const noexcept {
    if (input.node < 0) return input.value < 0.0 ? -1 : 1;
    if (input.node == 0) return (*X_)(p.sample, input.unit) > 0.0 ? 1 : -1;
    return side({input.node, p.sample, input.unit}) >= 0 ? 1 : -1;
}

// The name of what vanishes with a place: of a stem or of z itself; 0 if a parameter or nothing else does.
std::uint64_t Activity::name_of(const Place& p) const noexcept {
    if (shared_by(p) == 3) return mixed(content(p).name, 3);
    if (shared_by(p) != 2) return 0;
    const Stem& stem = stems_[p.node][p.sample * graph_->node(p.node).size + p.unit];
    return mixed(stem.path, static_cast<std::uint64_t>(number(p.node, p.unit)));
}

// Two places that read the same entries of values that are multiples of each other, all by one factor, are multiples
// of each other by that factor. The factor of two samples that are parallel themselves is left out of all sizes.
Content Activity::content_of(const Place& p) const {
    constexpr std::uint64_t kNumber = 1;  // names what is no pre-activation
    Content found;
    const auto add = [&](std::uint64_t entry, std::uint64_t name, double size) {
        if (size == 0.0) return;
        if (found.size == 0.0) found.size = size;
        const auto part = std::bit_cast<std::uint64_t>(size / found.size);
        found.name = mixed(mixed(found.name, entry), mixed(name, part));
    };
    const Node& node = graph_->node(p.node);
    if (!node.bias.empty() && node.bias[p.unit] >= 0)
        add(found.form = mixed(static_cast<std::uint64_t>(node.bias[p.unit]), 0), kNumber,
            1.0 / directions_.ratio(p.sample));
    const bool only_kept = reads_only_kept(p);
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols; ++c) {
            const std::uint64_t entry = mixed(static_cast<std::uint64_t>(edge.at(p.unit, c)),
                                              std::bit_cast<std::uint64_t>(edge.fixed(p.unit, c)));
            if (edge.source == 0) {  // a function of the sample reads its zeros too
                if (!edge.connects(p.unit, c) || (!only_kept && is_kept_zero(edge, p, c))) continue;
                found.form = mixed(mixed(found.form, entry), static_cast<std::uint64_t>(c));
                add(entry, kNumber, (*X_)(directions_.leader(p.sample), c));
                continue;
            }
            if (!reads(edge, p, c, only_kept)) continue;
            const Content& below = content({edge.source, p.sample, c});
            const double slope = edge.tap == Tap::activated ? slope_[edge.source](p.sample, c) : 1.0;
            found.form = mixed(mixed(found.form, entry), mixed(below.form, std::bit_cast<std::uint64_t>(slope)));
            add(entry, below.name, slope * below.size);
        }
    }
    return found;
}

// The columns of X that a place reads, and the units below it that read them.
void Activity::mark_read(const Place& p, std::vector<char>& columns, std::vector<Place>& first) const {
    const Node& node = graph_->node(p.node);
    if (has_fixed_form(p) && std::ranges::find(first, p) == first.end()) first.push_back(p);
    if (!node.bias.empty() && node.bias[p.unit] >= 0) columns.back() = 1;
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols; ++c) {
            if (!edge.connects(p.unit, c) || is_kept_zero(edge, p, c)) continue;
            if (edge.source == 0) {
                columns[c] = 1;
                if (!has_fixed_form(p)) first.push_back({0, p.sample, c});  // it sees that input itself
            } else if (is_live(edge, p.sample, c)) {
                mark_read({edge.source, p.sample, c}, columns, first);
            }
        }
    }
}

Vector Activity::row_of(const Place& p) const {
    std::vector<char> columns(static_cast<std::size_t>(X_->cols()) + 1, 0);
    std::vector<Place> first;
    mark_read(p, columns, first);
    Vector row = Vector::Zero(X_->cols() + 1);
    for (Index c = 0; c < X_->cols(); ++c)
        if (columns[c] != 0) row[c] = (*X_)(p.sample, c);
    if (columns.back() != 0) row[X_->cols()] = 1.0;
    if (!has_fixed_form(p) && !sliding_.empty()) drop_unseen(first, columns.back() != 0, row);
    return row;
}

// What a unit slides on it sends as zero: of a row that is a sum of it and something else only that is seen. A place
// above sees what one of the units below it sees; if it reads a bias anywhere, the constant too.
void Activity::drop_unseen(const std::vector<Place>& first, bool reads_bias, Vector& row) const {
    SpannedRows seen;
    Vector unit = Vector::Zero(row.size());
    for (const Place& p : first) {
        SpannedRows unseen;
        for (const Boundary& boundary : sliding_) {
            const Place& q = boundary.members.front();
            if (q.node == p.node && q.unit == p.unit && form_of(q) != 0) unseen.add(row_of(q));
        }
        if (unseen.rank() == 0) return;
        for (Index c = 0; c < row.size(); ++c) {
            unit.setZero();
            unit[c] = 1.0;
            for (const Vector& e : unseen.basis()) unit -= unit.dot(e) * e;
            if (unit.norm() > 1e-8) seen.add(unit);
        }
    }
    unit.setZero();
    unit[row.size() - 1] = 1.0;
    if (reads_bias) seen.add(unit);
    Vector kept = Vector::Zero(row.size());
    for (const Vector& e : seen.basis()) kept += row.dot(e) * e;
    row = kept;
}

bool Activity::has_fixed_form(const Place& p) const noexcept {
    const std::vector<int>& incoming = graph_->node(p.node).incoming;
    return std::ranges::all_of(incoming, [&](int e) { return graph_->edges()[e].source == 0; });
}

Boundary Activity::boundary_of(const Place& p) const {
    const Node& node = graph_->node(p.node);
    Boundary own;
    own.members = {p};
    if (shared_by(p) == 0) return own;
    own.stem = name_of(p);
    if (shared_by(p) == 2) {
        own.inputs = {root_input(stems_[p.node][p.sample * node.size + p.unit])};
        return own;
    }
    if (shared_by(p) == 3) {
        own.inputs = {Input{-1, Tap::activated, 0, content(p).size * directions_.ratio(p.sample)}};
        return own;
    }
    if (!node.bias.empty() && node.bias[p.unit] >= 0) {
        own.parameter = node.bias[p.unit];
        own.inputs = {Input{}};
        return own;
    }
    const bool only_kept = reads_only_kept(p);
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols; ++c) {
            if (!reads(edge, p, c, only_kept)) continue;
            own.parameter = edge.at(p.unit, c);
            own.constant = edge.fixed(p.unit, c);
            if (own.is_parameter()) own.inputs = {Input{edge.source, edge.tap, c}};
            return own;
        }
    }
    return own;
}

Boundary Activity::whole_boundary_of(const Place& p) const {
    Boundary own = boundary_of(p);
    if (!own.is_shared()) return own;
    const std::uint64_t name = own.stem;
    own.members.clear();
    own.inputs.clear();
    const bool is_alone = graph_->owns_row(p.node, p.unit);  // then all members are of this unit
    for (int v = is_alone ? p.node : 1; v <= (is_alone ? p.node : graph_->count() - 1); ++v)
        for (Index i = 0; i < samples(); ++i)
            for (Index u = is_alone ? p.unit : 0; u < (is_alone ? p.unit + 1 : graph_->node(v).size); ++u) {
                const Place q{v, i, u};
                if (shared_by(q) != shared_by(p) || mode(q) == Mode::empty || name_of(q) != name) continue;
                const Boundary other = boundary_of(q);
                if (!other.is_same(own)) continue;
                own.members.push_back(q);
                own.inputs.push_back(other.inputs.front());
            }
    return own;
}

}  // namespace reluflow::layered
