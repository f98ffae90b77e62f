/// The directions in which a flow can go on, found by signs and their bounds, are those that all cells show.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "layered/cell_search.hpp"
#include "layered/sign_search.hpp"
#include "uniform.hpp"

namespace {

using namespace reluflow;
using namespace reluflow::layered;
using reluflow::tests::Uniform;

constexpr int kProblems = 1500;

/// Whole numbers make ties; they are moved a little, so that what is found does not depend on rounding.
double number(Uniform& uniform) {
    return std::round(2.0 * uniform()) + 0.1 * uniform();
}

/// Places of three layers that read those below. With `shared` normals depend on each other: several places have one.
LocalForm problem(int seed, bool shared, double leak) {
    Uniform uniform(static_cast<std::uint64_t>(seed) + 1);
    const int count = 3 + seed % 5;
    LocalForm form;
    const int rank = shared ? std::max(2, count - 2) : count;
    form.normals.setZero(count, rank);
    form.through_h.setZero(count, count);
    form.through_z.setZero(count, count);
    form.velocity.resize(rank);
    form.beta.resize(count);
    form.gamma.setZero(count);
    form.leak = Vector::Constant(count, leak);
    form.group.assign(static_cast<std::size_t>(count), -1);
    form.scale = 1.0;
    for (int k = 0; k < rank; ++k) form.velocity[k] = number(uniform);
    for (int a = 0; a < count; ++a) {
        const double length = 0.5 + std::abs(uniform());
        form.normals(a, a % rank) = length;
        if (seed % 3 == 0 && rank > 1) form.normals(a, (a + 1) % rank) = 0.3 * number(uniform);
        form.beta[a] = number(uniform);
        if (seed % 4 == 0) form.gamma[a] = number(uniform);
        for (int b = 0; b < a; ++b) {
            if (b % 3 >= a % 3) continue;
            form.through_h(a, b) = number(uniform);
            if (seed % 4 == 0) form.through_z(a, b) = 0.5 * number(uniform);
        }
    }
    return form;
}

bool has(const std::vector<CellMinimum>& all, const CellMinimum& one) {
    return std::ranges::any_of(all, [&](const CellMinimum& other) {
        return (one.change - other.change).norm() < 1e-9 && one.signs == other.signs;
    });
}

void both_searches_find_the_same(bool shared, double leak) {
    int branching = 0;
    int resting = 0;
    for (int seed = 0; seed < kProblems; ++seed) {
        const LocalForm form = problem(seed, shared, leak);
        CellSearch cells(form, nullptr);
        SignSearch signs(form, nullptr);
        const std::vector<CellMinimum> one = cells.find();
        const std::vector<CellMinimum> other = signs.find();
        CHECK(cells.gap() == nullptr && signs.gap() == nullptr);
        CHECK(one.size() == other.size());
        CHECK(std::ranges::all_of(one, [&](const CellMinimum& m) { return has(other, m); }));
        branching += one.size() > 1 ? 1 : 0;
        for (const CellMinimum& m : one) resting += std::ranges::count(m.signs, 0) > 0 ? 1 : 0;
    }
    CHECK(branching > kProblems / 20);
    CHECK(resting > kProblems / 20);
}

// Forces that boundaries alone would hold, of which what reads others may let go.
void both_say_whether_all_stay(bool shared, double leak) {
    int staying = 0;
    for (int seed = 0; seed < kProblems; ++seed) {
        LocalForm form = problem(seed, shared, leak);
        form.velocity = form.normals.colwise().sum().transpose();
        form.beta = -(3.0 + form.beta.array().abs());
        form.gamma.setZero();
        const std::vector<CellMinimum> found = CellSearch(form, nullptr).find();
        const bool stays = found.size() == 1 && std::ranges::count(found.front().signs, 0) == form.count();
        CHECK(CellSearch(form, nullptr).all_stay() == stays);
        CHECK(SignSearch(form, nullptr).stays(form.velocity.norm()) == stays);
        staying += stays ? 1 : 0;
    }
    CHECK(staying > kProblems / 100 && staying < kProblems - kProblems / 100);
}

void a_search_is_given_up_when_that_is_wanted() {
    const LocalForm form = problem(4, false, 0.0);
    Interrupt interrupt([] { return true; }, 0.0);
    int given_up = 0;
    const auto look = [&](auto search) {
        try {
            search.find();
        } catch (const Abandoned&) {
            ++given_up;
        }
    };
    look(CellSearch(form, &interrupt));
    look(SignSearch(form, &interrupt));
    CHECK(given_up == 2);
}

}  // namespace

int main() {
    for (const double leak : {0.0, 0.2})
        for (const bool shared : {false, true}) {
            both_searches_find_the_same(shared, leak);
            both_say_whether_all_stay(shared, leak);
        }
    a_search_is_given_up_when_that_is_wanted();
    return reluflow::tests::failures();
}
