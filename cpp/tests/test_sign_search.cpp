/// The directions in which a flow can go on, found by signs and their bounds, are those that all cells show.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "layered/cell_search.hpp"
#include "layered/sign_search.hpp"
#include "local_forms.hpp"

namespace {

using namespace reluflow;
using namespace reluflow::layered;
using reluflow::tests::local_form;

constexpr int kProblems = reluflow::tests::fewer_sanitized(1500);

bool has(const std::vector<CellMinimum>& all, const CellMinimum& one) {
    return std::ranges::any_of(all, [&](const CellMinimum& other) {
        return (one.change - other.change).norm() < 1e-9 && one.signs == other.signs;
    });
}

void both_searches_find_the_same(bool shared, double leak) {
    int branching = 0;
    int resting = 0;
    for (int seed = 0; seed < kProblems; ++seed) {
        const LocalForm form = local_form(seed, shared, leak);
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
        LocalForm form = local_form(seed, shared, leak);
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

// Places that slide and are kept as long as they can, and some that may rest.
LocalForm with_kept_places(int seed, bool shared, double leak) {
    LocalForm form = local_form(seed, shared, leak);
    form.rest.assign(form.group.size(), Rest::never);
    for (int a = 0; a < form.count(); ++a) {
        if ((seed / 7 + a) % 3 != 0) continue;
        form.group[a] = shared ? a / 2 : a;
        form.rest[a] = a % 2 == 0 ? Rest::may : Rest::stays;
    }
    if (seed % 2 == 0) form.beta = -form.beta.cwiseAbs();
    if (seed % 5 < 2) {
        form.velocity = form.normals.colwise().sum().transpose();
        form.beta = -(3.0 + form.beta.array().abs());
        form.gamma.setZero();
    }
    return form;
}

void cells_settled_as_one_are_those_settled_one_by_one(bool shared, double leak) {
    int branching = 0;
    int keeping = 0;
    for (int seed = 0; seed < kProblems; ++seed) {
        const LocalForm form = with_kept_places(seed, shared, leak);
        CellSearch fast(form, nullptr);
        CellSearch slow(form, nullptr, true);
        const std::vector<CellMinimum> one = fast.find();
        const std::vector<CellMinimum> other = slow.find();
        CHECK(fast.gap() == slow.gap());
        CHECK(one.size() == other.size());
        CHECK(std::ranges::all_of(one, [&](const CellMinimum& m) { return has(other, m); }));
        branching += one.size() > 1 ? 1 : 0;
        for (const int group : form.group) {
            if (group < 0) continue;
            const bool stays = CellSearch(form, nullptr).stays(group);
            CHECK(stays == CellSearch(form, nullptr, true).stays(group));
            keeping += stays ? 1 : 0;
        }
    }
    CHECK(branching > kProblems / 50);
    CHECK(keeping > kProblems / 20);
}

void a_search_is_given_up_when_that_is_wanted() {
    const LocalForm form = local_form(4, false, 0.0);
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

void less_is_tried_of_many_places() {
    CHECK(tried_of(6000, 1) == 6000);
    CHECK(tried_of(6000, 40) == 6000);
    CHECK(tried_of(6000, 80) == 1500);
    CHECK(tried_of(6000, 200) == 240);
}

}  // namespace

int main() {
    for (const double leak : {0.0, 0.2})
        for (const bool shared : {false, true}) {
            both_searches_find_the_same(shared, leak);
            both_say_whether_all_stay(shared, leak);
            cells_settled_as_one_are_those_settled_one_by_one(shared, leak);
        }
    a_search_is_given_up_when_that_is_wanted();
    less_is_tried_of_many_places();
    return reluflow::tests::failures();
}
