/// What modes of a symmetric operator a vector is made of.
#pragma once

#include <functional>

#include "base/types.hpp"

namespace reluflow {

/// A vector is `vectors` times `parts`, and each column of `vectors` is nearly an eigenvector with the value beside it.
struct KrylovModes {
    Vector values;  // increasing
    Vector parts;
    Eigen::MatrixXd vectors;
    double largest() const { return values.size() > 0 ? values.cwiseAbs().maxCoeff() : 0.0; }
};

/// Lanczos' method from this vector, each new direction put at right angles to all before: exact once `most` reaches
/// the number of modes that the vector has a part in. The least and the largest values come first.
KrylovModes krylov_modes(const std::function<Vector(const Vector&)>& times, const Vector& vector, Index most);

}  // namespace reluflow
