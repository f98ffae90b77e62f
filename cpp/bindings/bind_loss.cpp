/// Binds the losses of margins, for arrays of any shape.
#include <pybind11/pybind11.h>

#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "problem/loss.hpp"

namespace reluflow::bindings {
namespace {

using OfMargin = double (*)(LossKind, double) noexcept;

/// The function of margins and the name of a loss that Python sees.
auto of_margins(OfMargin function) {
    return [function](const py::array& margins, const std::string& loss) {
        const LossKind kind = loss_kind(loss);
        return mapped("margins", margins, [=](double q) { return function(kind, q); });
    };
}

}  // namespace

void bind_loss(py::module_& module) {
    const auto bind = [&](const char* name, OfMargin function) {
        module.def(name, of_margins(function), py::arg("margins"), py::arg("loss"));
    };
    bind("log_losses", [](LossKind kind, double q) noexcept { return log_loss(kind, q); });
    bind("log_weights", &log_weight);
    bind("log_curvatures", &log_curvature);
    module.def(
        "log_separation", [](const std::string& loss) { return log_separation(loss_kind(loss)); }, py::arg("loss"));
}

}  // namespace reluflow::bindings
