/// Forms of the loss to first order, drawn by seed, for the tests of what looks for directions in them.
#pragma once

#include <algorithm>
#include <cmath>

#include "layered/local_form.hpp"
#include "uniform.hpp"

namespace reluflow::tests {

/// Whole numbers make ties; they are moved a little, so that what is found does not depend on rounding.
inline double number(Uniform& uniform) {
    return std::round(2.0 * uniform()) + 0.1 * uniform();
}

/// Places of three layers that read those below. With `shared` normals depend on each other: several places have one.
inline layered::LocalForm local_form(int seed, bool shared, double leak) {
    Uniform uniform(static_cast<std::uint64_t>(seed) + 1);
    const int count = 3 + seed % 5;
    layered::LocalForm form;
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

}  // namespace reluflow::tests
