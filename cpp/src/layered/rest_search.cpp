#include "layered/rest_search.hpp"

#include <limits>

#include "layered/rest_proof.hpp"

namespace reluflow::layered {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What is kept and what attracts most first, but after what it reads.
std::vector<int> by_attraction(const LocalForm& form, const std::vector<char>& kept) {
    const int count = form.count();
    std::vector<double> pull;
    for (int a = 0; a < count; ++a)
        pull.push_back(kept[a] != 0 ? -kInfinity : form.beta[a] * form.normals.row(a).norm());
    std::vector<int> order;
    std::vector<char> is_placed(kept.size(), 0);
    const auto waits = [&](int a) {
        for (int b = 0; b < a; ++b)
            if (is_placed[b] == 0 && (form.through_h(a, b) != 0.0 || form.through_z(a, b) != 0.0)) return true;
        return false;
    };
    while (std::ssize(order) < count) {
        int next = -1;
        for (int a = 0; a < count; ++a)
            if (is_placed[a] == 0 && (next < 0 || pull[a] < pull[next]) && !waits(a)) next = a;
        is_placed[next] = 1;
        order.push_back(next);
    }
    return order;
}

}  // namespace

RestSearch::RestSearch(const LocalForm& form, const std::vector<char>& kept, const std::vector<int>& sides, int most,
                       Interrupt* interrupt)
    : most_(most), interrupt_(interrupt) {
    const std::vector<int> order = by_attraction(form, kept);
    form_ = form.part(order);
    form_.elsewhere = form.elsewhere;
    for (const int a : order) {
        kept_.push_back(kept[a]);
        sides_.push_back(sides[a]);
    }
}

RestSearch::Found RestSearch::search() {
    looks_ = 0;
    return form_.count() == 0 ? Found::nothing : look();
}

// The place whose bounds are loosest gets a side, then the other one.
RestSearch::Found RestSearch::look() {
    if (interrupt_ != nullptr && interrupt_->is_wanted()) throw Abandoned{};
    if (++looks_ > most_) return Found::nothing;
    RestProof proof(form_, kept_, sides_);
    if (proof.succeeds()) return Found::rests;
    if (proof.moves()) {
        direction_ = proof.left();
        return Found::moves;
    }
    const int next = proof.loosest();
    if (next < 0) return Found::nothing;
    Found found = Found::rests;
    for (const int side : {1, -1}) {
        sides_[next] = side;
        if (found == Found::rests) found = look();
    }
    sides_[next] = 0;
    return found;
}

bool proves_rest(const LocalForm& form, const std::vector<char>& kept) {
    return RestSearch(form, kept, std::vector<int>(kept.size(), 0), 1, nullptr).search() == RestSearch::Found::rests;
}

}  // namespace reluflow::layered
