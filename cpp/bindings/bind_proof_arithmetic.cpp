/// Binds the arithmetic of proofs for the tests, which compare it with rational numbers.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "proof/combination.hpp"
#include "proof/rounding.hpp"
#include "proof/sigmoid.hpp"

namespace reluflow::bindings {
namespace {

using namespace reluflow::proof;

/// Rows (high, low).
std::vector<DoubleDouble> numbers_in(const char* name, const py::array& array) {
    const auto rows = matrix_in(name, array);
    std::vector<DoubleDouble> numbers;
    for (Index k = 0; k < rows.rows(); ++k) numbers.emplace_back(rows(k, 0), rows(k, 1));
    return numbers;
}

py::array numbers_out(const std::vector<DoubleDouble>& numbers) {
    std::vector<double> words;
    for (const DoubleDouble& number : numbers) words.insert(words.end(), {number.high, number.low});
    return array_out(std::move(words), {static_cast<py::ssize_t>(numbers.size()), 2});
}

using Operation = DoubleDouble (*)(const DoubleDouble&, const DoubleDouble&);

const std::map<std::string, Operation> kOperations{
    {"x + y", [](const DoubleDouble& x, const DoubleDouble& y) { return x + y; }},
    {"x - y", [](const DoubleDouble& x, const DoubleDouble& y) { return x - y; }},
    {"x * y", [](const DoubleDouble& x, const DoubleDouble& y) { return x * y; }},
    {"x / y", [](const DoubleDouble& x, const DoubleDouble& y) { return x / y; }},
    {"x + high", [](const DoubleDouble& x, const DoubleDouble& y) { return x + y.high; }},
    {"x * high", [](const DoubleDouble& x, const DoubleDouble& y) { return x * y.high; }},
    {"x / high", [](const DoubleDouble& x, const DoubleDouble& y) { return x / y.high; }},
    {"exact sum of highs", [](const DoubleDouble& x, const DoubleDouble& y) { return exact_sum(x.high, y.high); }},
    {"exact product of highs",
     [](const DoubleDouble& x, const DoubleDouble& y) { return exact_product(x.high, y.high); }},
    {"logistic", [](const DoubleDouble& x, const DoubleDouble&) { return margin_weight(LossKind::logistic, x); }},
    {"exponential", [](const DoubleDouble& x, const DoubleDouble&) { return margin_weight(LossKind::exponential, x); }},
};

/// The operation on each pair of rows.
py::array operate(const std::string& operation, const py::array& x, const py::array& y) {
    const std::vector<DoubleDouble> first = numbers_in("x", x);
    const std::vector<DoubleDouble> second = numbers_in("y", y);
    std::vector<DoubleDouble> results;
    for (std::size_t k = 0; k < first.size(); ++k) results.push_back(kOperations.at(operation)(first[k], second.at(k)));
    return numbers_out(results);
}

/// Σ_k coefficients_k rows_k, shape (width, 2).
py::array combined(const py::array& coefficients, const py::array& rows) {
    const std::vector<DoubleDouble> factors = numbers_in("coefficients", coefficients);
    const auto entries = matrix_in("rows", rows);
    std::vector<DoubleDouble> sums(static_cast<std::size_t>(entries.cols()));
    combine(factors.data(), entries.rows(), entries.data(), entries.cols(), entries.cols(), sums.data());
    return numbers_out(sums);
}

/// v · w with the bound of its error.
py::tuple exactly_multiplied(const py::array& v, const py::array& w) {
    const auto first = vector_in("v", v);
    const std::vector<DoubleDouble> second = numbers_in("w", w);
    const Dot<DoubleDouble> product = exact_dot(first.data(), second.data(), first.size());
    return py::make_tuple(product.value.high, product.value.low, product.error);
}

}  // namespace

void bind_proof_arithmetic(py::module_& module) {
    module.def("proof_arithmetic", &operate, py::arg("operation"), py::arg("x"), py::arg("y"));
    module.def("proof_combine", &combined, py::arg("coefficients"), py::arg("rows"));
    module.def("proof_exact_dot", &exactly_multiplied, py::arg("v"), py::arg("w"));
}

}  // namespace reluflow::bindings
