/// Which units act on which samples: sides, slopes, what slides, and what follows from the wiring alone.
///
/// An input of a unit is live on a sample if it can be non-zero there. A unit without live input is empty: z = 0, no
/// boundary, no event. A unit with one live input, z = A t, vanishes with the entry A on every sample where that input
/// is its only one: one boundary with many members. All of it is read from the wiring and the sides, never from sizes.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "layered/directions.hpp"
#include "layered/graph.hpp"

namespace reluflow::layered {

/// sliding: held at z = 0, also where nothing moves it. empty: no live input.
enum class Mode : std::int8_t { moving, sliding, empty };

enum class Kind : std::uint8_t {
    cross_up,
    cross_down,
    slide,
    leave_up,
    leave_down,
    wake_up,
    wake_down,
    void_unit,
    start_up,
    start_down,
    start_slide,
    branch,
};

struct Change {
    Place place;
    Kind kind = Kind::cross_up;
};

/// What multiplies an entry of a unit's row: a unit of an earlier node, or a number (node -1), which is 1 for the bias.
struct Input {
    int node = -1;
    Tap tap = Tap::activated;
    Index unit = 0;
    double value = 1.0;
};

/// A surface w(θ) = 0 where pre-activations vanish: w = z of one place, or w = constant + θ[parameter], whose members
/// read nothing else: z = w t with the value t of their only live input. Or all that a unit reads passes through one
/// unit below by the same entries on several samples: z = w t there with the value t of that unit, a stem. Or it reads
/// the same on several samples up to a factor: z = w t with that number t.
struct Boundary {
    Index parameter = -1;
    std::uint64_t stem = 0;  ///< names w: what lies between the unit and the one that all passes through, or z itself
    double constant = 0.0;
    std::vector<Place> members;
    std::vector<Input> inputs;  ///< t of each member, if a parameter or a stem decides

    bool is_parameter() const noexcept { return parameter >= 0; }
    /// True if the multiplier belongs to the parameter: one member alone has it at its z.
    bool is_shared() const noexcept { return is_parameter() || stem != 0; }
    bool acts_on_parameter() const noexcept { return is_parameter() && members.size() > 1; }
    /// Number of a place among the members, or -1.
    int place_of(const Place& p) const noexcept {
        for (std::size_t m = 0; m < members.size(); ++m)
            if (members[m] == p) return static_cast<int>(m);
        return -1;
    }
    bool is_same(const Boundary& other) const noexcept {
        if (parameter != other.parameter || stem != other.stem) return false;
        return is_parameter() ? constant == other.constant : stem != 0 || members == other.members;
    }
};

/// A pre-activation whose first coefficients are exactly zero because an event has just happened there.
struct Zero {
    Place place;
    int orders = 1;
    bool is_chosen = false;  ///< its side was chosen, not followed from below
    bool is_told = true;     ///< what it reads has told its side to first order, if it was not chosen
};

/// The side of a place that goes where what it reads goes, and the order of its series that has told it: rates do not
/// where the entries vanish with what they multiply.
struct Told {
    Place place;
    int side = 0;
    int orders = 1;
};

/// A side that a place gets, or 0 to slide or to be empty, how fast it moves there, and what is zero of its series.
struct Given {
    Place place;
    int side = 0;
    double rate = 0.0;
    int orders = 1;
    bool is_known = false;  ///< its rate is more than rounding
    bool at_once = false;   ///< it goes by that rate, however small, as its acceleration would take it back
    bool cancels = false;   ///< it reads zeros alone, and that rate is the rounding of theirs
    int motion = 0;         ///< those of one number, if it is not 0, move by one rate but for a factor
};

/// One number of two: two different pairs have different ones but for a part of 2^-64.
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t x = a * 0x9E3779B97F4A7C15ULL + b + 0x632BE59BD9B4E019ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

/// The nearest unit through which all passes that a place reads.
struct Stem {
    int root = 0;            ///< number of that unit, input or bias; 0: there is none
    int taps = 0;            ///< 1: its h is read, 2: its z
    std::uint64_t path = 0;  ///< names the entries and slopes between
};

/// What a pre-activation is made of: two of one name are multiples of each other, as their sizes are; two of one form
/// are one linear function of their samples.
struct Content {
    std::uint64_t name = 0;
    std::uint64_t form = 0;
    double size = 0.0;
};

class Activity {
  public:
    Activity(const Graph& graph, const Matrix& X);

    const Graph& graph() const noexcept { return *graph_; }
    Index samples() const noexcept { return X_->rows(); }

    int side(const Place& p) const noexcept { return side_[p.node](p.sample, p.unit); }
    Mode mode(const Place& p) const noexcept { return static_cast<Mode>(mode_[p.node](p.sample, p.unit)); }
    /// 0: its boundary is z itself; 1: the entry of its only live input; 2: a stem's; 3: that of all its multiples.
    int shared_by(const Place& p) const noexcept { return single_[p.node](p.sample, p.unit); }
    const Matrix& slopes(int v) const noexcept { return slope_[v]; }
    const SignMatrix& sides(int v) const noexcept { return side_[v]; }
    const SignMatrix& modes(int v) const noexcept { return mode_[v]; }
    const SignMatrix& singles(int v) const noexcept { return single_[v]; }
    /// True if any place shares its boundary by the entry of its only live input or by a stem.
    bool any_single() const noexcept { return n_single_ > 0; }
    const std::vector<Boundary>& sliding() const noexcept { return sliding_; }
    const std::vector<Zero>& zeros() const noexcept { return zeros_; }
    void clear_zeros() noexcept { zeros_.clear(); }
    void add_zero(const Zero& zero) { zeros_.push_back(zero); }

    /// Becomes equal to `other`. Where both come from one state only the samples that either has changed since are
    /// copied.
    void take_over(const Activity& other);
    /// Samples on which anything may differ from the state it was copied from, in order.
    std::vector<Index> changed() const;
    /// Takes equal ones for one state from now on.
    static void settle(std::initializer_list<Activity*> equal);

    void set(const Place& p, int side, Mode mode);
    void slide(Boundary boundary);
    /// Takes a place out of the boundary it slides on.
    void leave_boundary(const Place& p);

    /// Reads wiring and sides of all samples anew from pre-activations z (one matrix (n, size) a node).
    void read(const std::vector<Matrix>& z, const Vector& theta);
    /// Takes sides, modes, what slides and what is zero as they were stored.
    void restore(const std::vector<SignMatrix>& sides, const std::vector<SignMatrix>& modes,
                 std::vector<Boundary> sliding, std::vector<Zero> zeros);
    /// Follows the consequences of the sides just set through the sample. `zero` and `rate` say which places of the
    /// sample are zero now and how fast they move (up to a factor), by node and unit; both are completed. `orders` is
    /// the number of leading zeros of what is zero now. Changes are appended.
    void rewire(Index sample, const Vector& theta, int orders, std::vector<std::vector<char>>& zero,
                std::vector<std::vector<double>>& rate, std::vector<Change>& changes);
    /// Gives sides to places, takes the others of their samples from the wiring, and sorts what slides.
    void arrange(const std::vector<Given>& given, const Vector& theta);
    /// rewire() and arrange() take the sides of these places as told, until `told`, which has to live so long, is null,
    /// and give `untold` to others that rates do not tell.
    void listen_to(const std::vector<Told>* told, int untold) noexcept {
        told_ = told;
        untold_ = untold;
    }
    /// True if a side that rewire() chose rests on rates of more than one input.
    bool used_rates() const noexcept { return used_rates_; }
    void forget_rates() noexcept { used_rates_ = false; }
    /// Samples on which regroup() has changed something.
    const std::vector<Index>& touched() const noexcept { return touched_; }
    /// After rewire(): sorts what slides by the boundaries it has now, and takes in what vanishes with them.
    void regroup(const Vector& theta, int orders, std::vector<Change>& changes);
    /// What regroup() found to have parted from the others of its boundary, and the sign of w it seems to get.
    const std::vector<std::pair<Boundary, int>>& parted() const noexcept { return parted_; }
    /// True if what an edge reads of a unit can be other than zero on the sample.
    bool is_live(const Edge& edge, Index sample, Index col) const noexcept;
    /// True if a boundary that slides keeps an entry at zero. One that `reader` itself slides on does not count.
    bool is_kept_zero(const Edge& edge, const Place& reader, Index col) const noexcept;
    /// True if a unit reads something live on its sample; through an entry that is kept at zero it reads nothing unless
    /// it has no other (`reads_kept`).
    bool reads(const Edge& edge, const Place& p, Index col, bool reads_kept = false) const noexcept {
        return edge.connects(p.unit, col) && is_live(edge, p.sample, col) &&
               (reads_kept || !is_kept_zero(edge, p, col));
    }
    /// True if all that a unit reads on its sample comes through entries that are kept at zero.
    bool reads_only_kept(const Place& p) const noexcept;
    /// The entries that slide at zero, in order: parameter and constant.
    std::vector<std::pair<Index, double>> kept() const;
    /// True if several entries that are kept at zero meet in one place, so that no multiplier of one says what they do.
    bool any_row_vanishes() const;
    /// True if every live input of p is a unit of `places`.
    bool reads_only(const Place& p, const std::vector<Place>& places) const;

    /// Sign of what an input sends on the sample of `p`.
    int input_sign(const Place& p, const Input& input) const noexcept;
    /// Names the linear function of the sample that a place is, if its boundary is that of its multiples; otherwise 0.
    std::uint64_t form_of(const Place& p) const noexcept { return shared_by(p) == 3 ? content(p).form : 0; }
    /// What that function reads of the sample, with a last entry of 1 if it reads a bias, less what all units that read
    /// the inputs below it send as zero: what each of them slides on.
    Vector row_of(const Place& p) const;
    /// True if the function is the same whatever the sides of other places are.
    bool has_fixed_form(const Place& p) const noexcept;
    /// The boundary of a place: its only input's entry, or z itself.
    Boundary boundary_of(const Place& p) const;
    /// The same with all members it has on all samples.
    Boundary whole_boundary_of(const Place& p) const;

  private:
    /// A rate below this part of its terms is their rounding: some ulp.
    static constexpr double kTold = 1e-14;
    int read_count(const Place& p, bool reads_kept) const noexcept;
    void mark(Index sample) {
        if (changed_.empty() || changed_.back() != sample) changed_.push_back(sample);
    }
    void find_cancelled();
    bool is_cancelled(const Place& p) const noexcept {
        return !cancelled_.empty() && cancelled_[p.node].size() > 0 && cancelled_[p.node](p.sample, p.unit) != 0;
    }
    void become_new();
    void copy_sample(const Activity& other, Index sample);
    struct Wiring {
        int live = 0;
        bool all_zero = true;
        double rate = 0.0;
        double size = 0.0;   // of the terms of that
        bool mixed = false;  // inputs of both signs
        bool is_told() const noexcept { return std::abs(rate) > kTold * size; }
        bool linear_source = false;
        Stem stem;
    };
    /// A sliding place whose inputs have changed, and how fast those that are new move it.
    struct Stale {
        Place place;
        double rate = 0.0;
    };
    Wiring wiring(const Place& p, const Vector& theta, const std::vector<std::vector<char>>& zero,
                  const std::vector<std::vector<double>>& rate);
    double awaited_rate(const Place& p, const Vector& theta, const std::vector<std::vector<double>>& rate) const;
    const Told* told_of(const Place& p) const noexcept;
    void update(const Place& p, const Wiring& wires, int orders, std::vector<Change>& changes);
    void make_empty(const Place& p, double awaited, std::vector<Change>& changes);
    bool set_stem(const Place& p, const Wiring& wires);
    void take(const Given& given, bool renamed);
    Content content_of(const Place& p) const;
    Content& content(const Place& p) noexcept {
        return contents_[p.node][p.sample * graph_->node(p.node).size + p.unit];
    }
    const Content& content(const Place& p) const noexcept {
        return contents_[p.node][p.sample * graph_->node(p.node).size + p.unit];
    }
    std::uint64_t name_of(const Place& p) const noexcept;
    void mark_read(const Place& p, std::vector<char>& columns, std::vector<Place>& first) const;
    void drop_unseen(const std::vector<Place>& first, bool reads_bias, Vector& row) const;
    void list_stems(const Edge& edge, Index sample, Index col);
    void add_stems(bool is_first, std::uint64_t name);
    std::uint64_t link(const Place& p, int taps, const Stem& below) const;
    int number(int v, Index u) const noexcept { return first_[v] + static_cast<int>(u); }
    Input root_input(const Stem& stem) const;
    double zero_rate(const Place& p, const Vector& theta, const std::vector<std::vector<char>>& zero,
                     const std::vector<std::vector<double>>& rate) const;
    void sort_sliding();
    void part(std::vector<Boundary>& groups, const Boundary& old);
    void join_vanishing(const Vector& theta, int orders, std::vector<Change>& changes);
    bool vanishes(const Place& q, const Vector& theta, std::vector<Matrix>& z) const;
    void stand_alone(std::size_t b);
    void follow_chosen(std::size_t b, const Place& chosen, int orders, std::vector<Change>& changes);
    double input_rate(const Edge& edge, Index sample, Index col, const std::vector<std::vector<double>>& rate) const;

    const Graph* graph_;
    const Matrix* X_;
    std::vector<SignMatrix> side_, mode_, single_;
    std::vector<Matrix> slope_;
    std::vector<SignMatrix> cancelled_;  // where inputs that share entries add up to nothing; empty if nowhere
    std::vector<Boundary> sliding_;
    std::vector<Zero> zeros_;
    std::vector<Index> touched_;
    std::vector<int> first_;                // number of the first unit of each node
    std::vector<std::vector<Stem>> stems_;  // by node, sample and unit
    Directions directions_;
    std::vector<std::vector<Content>> contents_;  // the same; empty where no two samples have anything in common
    std::vector<Stem> common_, sent_;  // what all inputs of a place pass, nearest first; the same of one input
    std::vector<Stale> stale_;
    std::vector<char> renamed_;  // by boundary: its name is new
    std::vector<std::pair<Boundary, int>> parted_;
    const std::vector<Given>* given_ = nullptr;  // during arrange()
    const std::vector<Told>* told_ = nullptr;    // what series have told of what is followed
    int untold_ = -1;                            // the side of what nothing tells
    Index n_shared_ = 0;  // places that share their boundaries, and of these those of one input or stem
    Index n_single_ = 0;
    bool used_rates_ = false;
    bool may_keep_ = false;       // an entry may slide: false if none does
    std::uint64_t origin_ = 0;    // the state that this is a copy of, but for what has changed
    std::vector<Index> changed_;  // samples, some more than once
};

/// Pre-activations of all nodes, (n, size) each, with the activation as written: no side is given.
void pre_activations(const Graph& graph, const Matrix& X, const Vector& theta, std::vector<Matrix>& z);

/// What z of every node is summed up from, as sizes: rounding of z is some ulp of it. `z` are those at theta.
void sizes_of_terms(const Graph& graph, const Vector& theta, const std::vector<Matrix>& z, std::vector<Matrix>& sizes);

}  // namespace reluflow::layered
