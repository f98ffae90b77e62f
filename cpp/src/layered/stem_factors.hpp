/// The factor w of what passes one unit: z = w t with the value t of that unit, a root of a stem.
///
/// w is made of the entries and slopes between. It is summed along them and not divided out of z, so that it is exact
/// where t begins or ends at zero.
#pragma once

#include <optional>
#include <vector>

#include "base/types.hpp"
#include "layered/jet.hpp"

namespace reluflow::layered {

class StemFactors {
  public:
    /// For places of one sample. `jet` must not change meanwhile.
    StemFactors(const Jet& jet, Index sample);

    /// The series of w of a place whose boundary is a stem's, `root` being the input that boundary names.
    const Row& of(int node, Index unit, const Input& root);

  private:
    Row make(int node, Index unit, const Input& root);
    void add(const Edge& edge, int e, Index row, Index col, const Row& sent, Row& sum) const;

    const Jet& jet_;
    Index sample_;
    Input root_;
    std::vector<std::vector<std::optional<Row>>> known_;  // by node and unit
};

}  // namespace reluflow::layered
