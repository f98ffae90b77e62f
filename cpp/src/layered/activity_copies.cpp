/// Copies of an activity that are brought up to date by what has changed: a part of Activity.
#include <algorithm>
#include <atomic>

#include "layered/activity.hpp"

namespace reluflow::layered {

void Activity::become_new() {
    static std::atomic<std::uint64_t> last{0};
    origin_ = ++last;
    changed_.clear();
}

void Activity::settle(std::initializer_list<Activity*> equal) {
    Activity& first = **equal.begin();
    first.become_new();
    for (Activity* one : equal) {
        one->origin_ = first.origin_;
        one->changed_.clear();
    }
}

std::vector<Index> Activity::changed() const {
    std::vector<Index> samples = changed_;
    std::ranges::sort(samples);
    const auto repeated = std::ranges::unique(samples);
    samples.erase(repeated.begin(), repeated.end());
    return samples;
}

void Activity::take_over(const Activity& other) {
    if (origin_ != other.origin_) {
        *this = other;
        return;
    }
    for (const Index i : changed()) copy_sample(other, i);
    for (const Index i : other.changed()) copy_sample(other, i);
    sliding_ = other.sliding_;
    zeros_ = other.zeros_;
    touched_ = other.touched_;
    stale_ = other.stale_;
    renamed_ = other.renamed_;
    parted_ = other.parted_;
    n_shared_ = other.n_shared_;
    n_single_ = other.n_single_;
    used_rates_ = other.used_rates_;
    may_keep_ = other.may_keep_;
    changed_ = other.changed_;
}

void Activity::copy_sample(const Activity& other, Index sample) {
    for (int v = 0; v < graph_->count(); ++v) {
        side_[v].row(sample) = other.side_[v].row(sample);
        mode_[v].row(sample) = other.mode_[v].row(sample);
        single_[v].row(sample) = other.single_[v].row(sample);
        slope_[v].row(sample) = other.slope_[v].row(sample);
        const Index size = graph_->node(v).size;
        std::copy_n(other.stems_[v].begin() + sample * size, size, stems_[v].begin() + sample * size);
        if (contents_.empty()) continue;
        std::copy_n(other.contents_[v].begin() + sample * size, size, contents_[v].begin() + sample * size);
    }
}

}  // namespace reluflow::layered
