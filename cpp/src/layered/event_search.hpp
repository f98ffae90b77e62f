/// The first events of a step: boundaries that are reached, multipliers that reach their bounds.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "base/types.hpp"
#include "layered/activity.hpp"
#include "layered/dependence.hpp"
#include "layered/jet.hpp"

namespace reluflow::layered {

/// A boundary at the instant of an event. `from` is the sign of w before, 0 if it slid; `wants` is the side to try
/// first.
struct Contact {
    Boundary boundary;
    int from = 0;
    int wants = 0;
    bool turns = false;   ///< both bounds are reached at once: the boundary turns from attracting to repelling
    bool begins = false;  ///< its multiplier and both bounds are zero to the last bit, and part from now on
    double beyond = 0.0;  ///< by how much its multiplier is beyond its bound at the event
    double known = 0.0;   ///< to what part of a unit of rescaled time it is known when the boundary turns
};

class EventSearch {
  public:
    /// The first u in [0, end] with an event and the contacts there; a value > end if there is none.
    /// What is held jointly (for each sliding boundary not 0, or empty for none) is not looked at. `missed`: how
    /// many times their rounding duals that cancel are off by the steps; `usual`: by coarser ones. What leaves is
    /// beyond its bound by more than that before `until`, where the step could end: `end` may be a first part of it.
    double find(const Jet& jet, double end, const std::vector<int>& joint, std::vector<Contact>& contacts,
                double missed = 0.0, double usual = 0.0, double until = 0.0);

    /// Has to be told what was found to slide on after an event at which it was to leave, and what slides at all: it is
    /// not asked again before it is twice as far beyond its bound.
    void stays(const std::vector<Contact>& contacts, const Activity& activity);

    /// Has to be told where a step ends, before its events are decided. Bounds that pass each other while no event of
    /// theirs is known have not turned: what slides between them leaves once it is known to be beyond.
    void passes(const Jet& jet, double u);

    /// True if what comes first is no event: until there the series tell how near a place is to its boundary.
    bool is_doubtful() const noexcept { return is_doubtful_; }

    /// True if for all that the coarser steps know a multiplier may pass its bound.
    bool is_in_doubt() const noexcept { return is_in_doubt_; }

    /// Adds what a moving place meets when its z is zero, unless it is among the contacts.
    static void add_contact(const Activity& activity, const Place& p, std::vector<Contact>& contacts);

    /// A guess of the first event from the first two coefficients.
    static double guess(const Jet& jet);

  private:
    struct Candidate {
        double u = 0.0;
        Place place;
        Index parameter = -1;
        double constant = 0.0;
        bool is_of_z = false;  ///< its place comes to its boundary by z
        bool is_shared = false;
        bool is_known = true;
        int from = 0;
        int sliding = -1;
        int wants = 0;
        bool turns = false;
        bool begins = false;
        double beyond = 0.0;
        double known = 0.0;
        int group = -1;  ///< what leaves along a ray of a group of dependent boundaries
        std::size_t ray = 0;
    };
    /// First descent of c from its own side.
    static double descent(double* c, int order, double end) noexcept;
    void search_groups(const Jet& jet);
    bool is_joint(int b) const noexcept { return !joint_.empty() && joint_[b] != 0; }
    template <class IsOpen>
    void add_leaving_group(const SlidingGroup& group, Candidate candidate, double u, const IsOpen& is_open);
    static void add_ray(const Jet& jet, const Candidate& candidate, std::vector<Contact>& contacts);
    void list_near(const Jet& jet, int v);
    void search_places(const Jet& jet, int v);
    void search_single(const Jet& jet);
    void search_sliding(const Jet& jet);
    bool goes_beyond(Row gap, int order, double beyond) const;
    bool may_pass(Row gap, int order, double unknown) const;
    void add_leaving(const SlidingSeries& sliding, int b, int order, double hidden, Row& up, Row& down);
    double told_to_stay(const Boundary& boundary) const;
    bool has_turned(const Boundary& boundary) const;
    bool has_passed(const Boundary& boundary) const;
    void add(double u, Candidate candidate);
    void collect(const Jet& jet, std::vector<Contact>& contacts) const;

    double end_ = 0.0;    // of what is looked at: the first event that is known
    double until_ = 0.0;  // of the step
    double missed_ = 0.0;
    double usual_ = 0.0;
    bool is_doubtful_ = false;
    bool is_in_doubt_ = false;
    std::vector<Candidate> found_;
    std::vector<std::tuple<Index, double, std::uint64_t>> seen_;
    std::vector<Index> near_;  // places of a node that a step may bring to zero
    std::vector<int> joint_;
    std::vector<Contact> staying_;  // what was to leave, and slides on
    std::vector<Boundary> passed_;  // what slides between bounds that have passed each other without an event
};

}  // namespace reluflow::layered
