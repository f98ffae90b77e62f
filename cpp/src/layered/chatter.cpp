#include "layered/chatter.hpp"

#include <algorithm>

namespace reluflow::layered {
namespace {

/// So many changes in a row of so few places are more than a flow needs to settle them.
constexpr std::size_t kMany = 8;
constexpr std::size_t kFew = 3;

}  // namespace

bool Chatter::takes(const std::vector<Change>& changes) {
    for (const Change& change : changes) last_.push_back(change.place);
    if (last_.size() < kMany) return false;
    last_.erase(last_.begin(), last_.end() - kMany);
    std::vector<Place> distinct;
    for (const Place& p : last_)
        if (std::ranges::find(distinct, p) == distinct.end()) distinct.push_back(p);
    if (distinct.size() > kFew) return false;
    last_.clear();
    return true;
}

}  // namespace reluflow::layered
