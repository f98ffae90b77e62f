/// Where pulls prove that nothing moves, all cells say so, however many there are.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "layered/cell_search.hpp"
#include "layered/rest_search.hpp"
#include "local_forms.hpp"

namespace {

using namespace reluflow;
using namespace reluflow::layered;
using reluflow::tests::local_form;
using reluflow::tests::Uniform;

constexpr int kProblems = reluflow::tests::fewer_sanitized(1500);

// Places above read those below, most of them nothing else, and forces that boundaries hold by some of their pulls.
LocalForm held_form(int seed, bool shared, double leak) {
    LocalForm form = local_form(seed, shared, leak);
    for (int a = 0; a < form.count(); ++a)
        if (a % 3 > 0 && (seed + a) % 4 != 0) form.normals.row(a).setZero();
    form.beta = form.beta.array() - 0.5;
    for (int a = 0; a < form.count(); ++a)
        if (!form.normals.row(a).isZero(0.0)) form.beta[a] -= 2.0;
    Vector above = form.beta;
    Vector skip = form.gamma;
    form.velocity.setZero();
    for (int a = form.count() - 1; a >= 0; --a) {
        const double pull = 0.5 * (1.0 + leak) * above[a] + skip[a];
        form.velocity -= pull * form.normals.row(a).transpose();
        above += pull * form.through_h.row(a).transpose();
        skip += pull * form.through_z.row(a).transpose();
    }
    return form;
}

bool all_cells_stay(const LocalForm& form) {
    return CellSearch(form, nullptr, true).all_stay();
}

void what_is_proved_is_what_all_cells_say(bool shared, double leak) {
    int proved = 0;
    int staying = 0;
    for (int seed = 0; seed < kProblems; ++seed) {
        LocalForm form = held_form(seed, shared, leak);
        const std::vector<char> none(form.group.size(), 0);
        std::vector<Vector> basis;
        const bool is_proved = proves_rest(form.in_own_span(basis), none);
        const bool stays = all_cells_stay(form);
        CHECK(stays || !is_proved);
        proved += is_proved ? 1 : 0;
        staying += stays ? 1 : 0;
        form.velocity *= 3.0;
        CHECK(all_cells_stay(form) || !proves_rest(form.in_own_span(basis), none));
    }
    CHECK(proved > kProblems / 5);
    CHECK(proved > 0.8 * staying && proved < kProblems);
}

// With some places kept the others stay by their own pulls, and a group does if all groups do.
void what_is_kept_pulls_as_it_has_to(bool shared, double leak) {
    int proved = 0;
    for (int seed = 0; seed < kProblems; ++seed) {
        LocalForm form = held_form(seed, shared, leak);
        for (int k = 0; k < form.velocity.size(); ++k) form.velocity[k] += k % 2 == 0 ? 0.3 : -0.3;
        for (int a = 0; a < form.count(); ++a)
            if ((seed + a) % 3 != 0) form.group[a] = a / 2;
        for (const int group : form.group) {
            if (group < 0) continue;
            std::vector<char> kept;
            for (const int one : form.group) kept.push_back(one >= 0 && one != group ? 1 : 0);
            std::vector<Vector> basis;
            if (!proves_rest(form.in_own_span(basis), kept)) continue;
            CHECK(CellSearch(form, nullptr, true).stays(group));
            ++proved;
        }
    }
    CHECK(proved > kProblems / 5);
}

// Units that slide on one sample, and many above that read nothing else, with weights of either sign: the cells of a
// group are more than are looked at one by one.
void many_cells_are_not_looked_at() {
    constexpr int kBelow = 8;
    constexpr int kAbove = 30;
    Uniform uniform(1);
    LocalForm form;
    constexpr int kCount = kBelow + 1 + kAbove;
    form.normals.setZero(kCount, kBelow);
    form.through_h.setZero(kCount, kCount);
    form.through_z.setZero(kCount, kCount);
    form.velocity = Vector::Constant(kBelow, 0.5);
    form.beta.setZero(kCount);
    form.gamma.setZero(kCount);
    form.leak.setZero(kCount);
    form.group.assign(kCount, -1);
    form.scale = 1.0;
    for (int b = 0; b < kBelow; ++b) {
        form.normals(b, b) = 1.0;
        form.group[b] = 0;
    }
    for (int a = kBelow; a < kCount; ++a) {
        form.beta[a] = a == kBelow ? -1.0 : 0.02;
        for (int b = 0; b < kBelow; ++b) form.through_h(a, b) = a == kBelow ? 1.0 : 1.5 * uniform();
    }
    CHECK(CellSearch(form, nullptr).stays(0));
    form.velocity.setConstant(1.01);
    CHECK(!CellSearch(form, nullptr).stays(0));
}

}  // namespace

int main() {
    for (const double leak : {0.0, 0.2})
        for (const bool shared : {false, true}) {
            what_is_proved_is_what_all_cells_say(shared, leak);
            what_is_kept_pulls_as_it_has_to(shared, leak);
        }
    many_cells_are_not_looked_at();
    return reluflow::tests::failures();
}
