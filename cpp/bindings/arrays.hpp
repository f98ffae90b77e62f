/// Arrays in and out: the one file that includes pybind11/numpy. In: checked float64, C-contiguous, seen through Eigen
/// maps without a copy. Out: read-only, owning their memory.
#pragma once

#include <pybind11/numpy.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/types.hpp"

namespace reluflow::bindings {

namespace py = pybind11;

namespace detail {

template <class Scalar>
void check_array(const char* name, const py::array& array, py::ssize_t n_axes) {
    if (array.ndim() != n_axes)
        throw InvalidArgument(name, std::to_string(array.ndim()) + " axes",
                              "an array of " + std::to_string(n_axes) + " axes");
    if (!py::isinstance<py::array_t<Scalar>>(array))
        throw InvalidArgument(name, py::str(array.dtype()),
                              "an array of " + std::string(py::str(py::dtype::of<Scalar>())));
    if ((array.flags() & py::array::c_style) == 0) throw InvalidArgument(name, "another storage order", "C-contiguous");
}

/// Moves `storage` to the heap and lets the array own it.
template <class Storage>
py::array share(Storage&& storage, std::vector<py::ssize_t> shape) {
    using Owned = std::remove_cvref_t<Storage>;
    using Scalar = std::remove_cvref_t<decltype(*storage.data())>;
    auto owned = std::make_unique<Owned>(std::forward<Storage>(storage));
    const Scalar* data = owned->data();
    py::capsule owner(owned.get(), [](void* pointer) { delete static_cast<Owned*>(pointer); });
    owned.release();
    py::array_t<Scalar> array(std::move(shape), data, owner);
    array.attr("flags").attr("writeable") = false;
    return array;
}

}  // namespace detail

/// A view of a (rows, cols) array; throws InvalidArgument. The array must outlive the view.
inline Eigen::Map<const Matrix> matrix_in(const char* name, const py::array& array) {
    detail::check_array<double>(name, array, 2);
    return {static_cast<const double*>(array.data()), array.shape(0), array.shape(1)};
}

/// A view of a (rows, cols) array of int8 signs; throws InvalidArgument. The array must outlive the view.
inline Eigen::Map<const SignMatrix> signs_in(const char* name, const py::array& array) {
    detail::check_array<std::int8_t>(name, array, 2);
    return {static_cast<const std::int8_t*>(array.data()), array.shape(0), array.shape(1)};
}

/// A view of a (size,) array; throws InvalidArgument. The array must outlive the view.
inline Eigen::Map<const Vector> vector_in(const char* name, const py::array& array) {
    detail::check_array<double>(name, array, 1);
    return {static_cast<const double*>(array.data()), array.shape(0)};
}

/// Read-only array of f(x) for each entry x of an array of any shape; throws InvalidArgument.
template <class Function>
py::array mapped(const char* name, const py::array& array, Function&& f) {
    detail::check_array<double>(name, array, array.ndim());
    const auto* begin = static_cast<const double*>(array.data());
    std::vector<double> values(static_cast<std::size_t>(array.size()));
    std::transform(begin, begin + array.size(), values.begin(), f);
    return detail::share(std::move(values), {array.shape(), array.shape() + array.ndim()});
}

/// Read-only array over `values`, moved in; the product of `shape` must be values.size().
template <class Scalar, class Allocator>
py::array array_out(std::vector<Scalar, Allocator>&& values, std::vector<py::ssize_t> shape) {
    return detail::share(std::move(values), std::move(shape));
}

/// Read-only vector over `values`, moved in.
template <class Scalar>
py::array array_out(std::vector<Scalar>&& values) {
    const auto size = static_cast<py::ssize_t>(values.size());
    return detail::share(std::move(values), {size});
}

/// Read-only array over a row-major matrix, moved in.
template <class Scalar>
py::array array_out(Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>&& matrix) {
    const std::vector<py::ssize_t> shape{matrix.rows(), matrix.cols()};
    return detail::share(std::move(matrix), shape);
}

/// Read-only array over a vector, moved in.
inline py::array array_out(Vector&& vector) {
    const std::vector<py::ssize_t> shape{vector.size()};
    return detail::share(std::move(vector), shape);
}

}  // namespace reluflow::bindings
