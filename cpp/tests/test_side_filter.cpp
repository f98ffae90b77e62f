/// Sides that are left out are no local minimum, and of those that are none most are left out.
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "layered/cell_search.hpp"
#include "layered/side_filter.hpp"
#include "local_forms.hpp"

namespace {

using namespace reluflow;
using namespace reluflow::layered;
using reluflow::tests::local_form;

constexpr int kProblems = reluflow::tests::fewer_sanitized(200);

std::vector<std::vector<int>> all_signs(int count) {
    std::vector<std::vector<int>> all{{}};
    for (int a = 0; a < count; ++a) {
        std::vector<std::vector<int>> longer;
        for (const std::vector<int>& part : all)
            for (const int sign : {-1, 0, 1}) {
                longer.push_back(part);
                longer.back().push_back(sign);
            }
        all = std::move(longer);
    }
    return all;
}

void what_is_left_out_is_no_minimum(bool shared, double leak) {
    std::size_t looked_at = 0;
    std::size_t left = 0;
    std::size_t minima = 0;
    for (int seed = 0; seed < kProblems; ++seed) {
        const LocalForm form = local_form(seed, shared, leak);
        const std::vector<char> chosen(static_cast<std::size_t>(form.count()), 1);
        const SideFilter filter(form);
        for (const CellMinimum& one : CellSearch(form, nullptr).find()) {
            ++minima;
            CHECK(filter.may_go(one.signs, chosen));
        }
        for (const std::vector<int>& signs : all_signs(form.count())) {
            ++looked_at;
            left += filter.may_go(signs, chosen) ? 1 : 0;
        }
    }
    CHECK(minima >= kProblems);
    CHECK(left >= minima && left < looked_at / 10);
}

// With nothing chosen only what stays is looked at, so that more is left.
void what_is_not_chosen_may_move_either_way() {
    std::size_t more = 0;
    for (int seed = 0; seed < kProblems / 4; ++seed) {
        const LocalForm form = local_form(seed, false, 0.0);
        const auto count = static_cast<std::size_t>(form.count());
        const SideFilter filter(form);
        for (const std::vector<int>& signs : all_signs(form.count())) {
            const bool strictly = filter.may_go(signs, std::vector<char>(count, 1));
            const bool loosely = filter.may_go(signs, std::vector<char>(count, 0));
            CHECK(loosely || !strictly);
            more += loosely && !strictly ? 1 : 0;
        }
    }
    CHECK(more > 0);
}

}  // namespace

int main() {
    for (const double leak : {0.0, 0.2})
        for (const bool shared : {false, true}) what_is_left_out_is_no_minimum(shared, leak);
    what_is_not_chosen_may_move_either_way();
    return reluflow::tests::failures();
}
