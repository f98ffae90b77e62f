/// Products of a coupling with few of the samples.
#include <algorithm>

#include "two_layer/coupling.hpp"
#include "two_layer/coupling_sums.hpp"

namespace reluflow {

void Coupling::select(std::span<const int> samples) {
    if (!by_class_ && groups_ <= kFewGroups) return;  // there all samples are little work
    const bool is_known = knows_selected_ && std::ranges::equal(samples, selected_);
    if (!is_known) selected_.assign(samples.begin(), samples.end());
    selects_ = knows_selected_ = true;
    if (by_class_) classes_.select(selected_);
    if (is_known) return;
    if (by_class_)
        list_terms(selected_terms_);
    else
        list_selected_codes();
}

void Coupling::select_all() noexcept {
    selects_ = false;
    classes_.select_all();
}

void Coupling::list_selected_codes() {
    selected_sample_codes_.assign(groups_ * chunks_of(rows()), 0);
    std::uint8_t* of_groups = selected_sample_codes_.data();
    for (Index c = 0; c < groups_; ++c, of_groups += chunks_of(rows()))
        for (Index row = 0; row < rows(); ++row) {
            const unsigned bit = sides_[c * data_.n() + selected_[row]] > 0 ? 1U << row % kChunk : 0U;
            of_groups[row / kChunk] = static_cast<std::uint8_t>(of_groups[row / kChunk] | bit);
        }
    selected_group_codes_.resize(chunks_of(groups_) * rows());
    for (Index chunk = 0; chunk < chunks_of(groups_); ++chunk)
        for (Index row = 0; row < rows(); ++row)
            selected_group_codes_[chunk * rows() + row] = group_codes_[chunk * data_.n() + selected_[row]];
}

}  // namespace reluflow
