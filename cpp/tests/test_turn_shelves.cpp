/// Boundaries on shelves against a plain list: a search finds all whose turns are in reach, and no others.
#include "two_layer/turn_shelves.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "check.hpp"
#include "uniform.hpp"

namespace {

using namespace reluflow;

constexpr Index kNeurons = 3;
constexpr Index kBoundaries = 200;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
using Turns = std::vector<double>;

/// Boundaries at random distances: some at none, some far beyond what shelves tell apart.
Turns draw(tests::Uniform& uniform, std::size_t count) {
    Turns turns(count);
    for (double& turn : turns) {
        const double drawn = uniform();
        turn = drawn < -0.8 ? 0.0 : (drawn > 0.8 ? 1e3 * drawn : 0.5 * (drawn + 1.0));
    }
    return turns;
}

void make(TurnShelves& shelves, Index neuron, const Turns& turns, double finest) {
    shelves.make_list(neuron, kInfinite, finest, [&](int* boundaries, double* to) {
        for (std::size_t i = 0; i < turns.size(); ++i) {
            boundaries[i] = static_cast<int>(i);
            to[i] = turns[i];
        }
        return turns.size();
    });
}

/// The entries with turns up to this one, which are taken off.
std::vector<int> take(TurnShelves& shelves, Index neuron, double turn) {
    std::vector<int> taken(kBoundaries);
    std::size_t count = 0;
    const int last = shelves.shelf_of(neuron, turn);
    for (int shelf = 0; (shelf = shelves.first_filled(neuron, shelf, last)) < TurnShelves::kShelves; ++shelf)
        count += shelves.take(neuron, shelf, turn, taken.data() + count);
    taken.resize(count);
    return taken;
}

/// Takes entries and puts them back with turns that have grown, as searches do.
void finds_all_in_reach_and_no_others(double finest) {
    tests::Uniform uniform;
    TurnShelves shelves(kNeurons, kBoundaries);
    for (int step = 0; step < 3; ++step) {
        shelves.clear();
        std::vector<Turns> turns;
        for (Index j = 0; j < kNeurons; ++j) {
            turns.push_back(draw(uniform, step == 0 ? 5 : kBoundaries));
            make(shelves, j, turns[j], finest);
        }
        double reach = 0.0;
        for (int search = 0; search < 40; ++search, reach += search % 3 == 0 ? 0.0 : 0.05) {
            const Index j = search % kNeurons;
            std::vector<int> expected;
            for (std::size_t i = 0; i < turns[j].size(); ++i)
                if (turns[j][i] <= reach) expected.push_back(static_cast<int>(i));
            std::vector<int> found;
            for (const int entry : take(shelves, j, reach)) {
                const int boundary = shelves.boundary(entry);
                found.push_back(boundary);
                CHECK(shelves.turn(entry) == turns[j][boundary]);
                if (uniform() > 0.0) turns[j][boundary] = shelves.turn(entry) = reach + 0.3 * (uniform() + 1.0);
                shelves.put(j, entry);
            }
            std::sort(found.begin(), found.end());
            CHECK(found == expected);
        }
        CHECK(std::ssize(take(shelves, 0, kInfinite)) == std::ssize(turns[0]));
        CHECK(take(shelves, 0, kInfinite).empty());
    }
}

void a_list_that_is_made_again_replaces_the_one_before() {
    TurnShelves shelves(kNeurons, kBoundaries);
    make(shelves, 1, {0.1, 0.2, 0.3}, 0.3);
    make(shelves, 2, {0.1}, 0.1);
    make(shelves, 1, {0.4}, 0.4);
    CHECK(take(shelves, 1, 1.0).size() == 1);
    CHECK(take(shelves, 2, 1.0).size() == 1);
}

}  // namespace

int main() {
    for (const double finest : {0.0, 1e-300, 0.5, 1e4, kInfinite}) finds_all_in_reach_and_no_others(finest);
    a_list_that_is_made_again_replaces_the_one_before();
    return tests::failures();
}
