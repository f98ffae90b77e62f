/// Binds the prover of runs.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "hook.hpp"
#include "proof/prover.hpp"
#include "proof/sigmoid.hpp"
#include "proof/spectral_bound.hpp"

namespace reluflow::bindings {
namespace {

using namespace reluflow::proof;

template <class Scalar>
const Scalar* column(const char* name, const py::array& array) {
    detail::check_array<Scalar>(name, array, 1);
    return static_cast<const Scalar*>(array.data());
}

std::vector<Claim> claims_in(const py::tuple& columns) {
    const py::array t = columns[0];
    const py::array neuron = columns[1];
    const py::array sample = columns[2];
    const py::array kind = columns[3];
    const auto* times = column<double>("t", t);
    const auto* neurons = column<std::int32_t>("neuron", neuron);
    const auto* samples = column<std::int32_t>("sample", sample);
    const auto* kinds = column<std::int8_t>("kind", kind);
    std::vector<Claim> claims;
    for (py::ssize_t k = 0; k < t.size(); ++k)
        claims.push_back({times[k], neurons[k], samples[k], static_cast<Kind>(kinds[k])});
    return claims;
}

/// `starting`: pairs (neuron, sample) that are on their boundary at the start and leave it at once.
template <class Real>
std::vector<ProvedNeuron<Real>> neurons_in(const py::array& W, const py::array& a, const py::array& signs,
                                           const std::vector<std::pair<Index, Index>>& starting) {
    const auto weights = matrix_in("W", W);
    const auto outputs = vector_in("a", a);
    const auto pattern = signs_in("signs", signs);
    std::vector<ProvedNeuron<Real>> neurons(static_cast<std::size_t>(weights.rows()));
    for (Index j = 0; j < weights.rows(); ++j) {
        ProvedNeuron<Real>& neuron = neurons[static_cast<std::size_t>(j)];
        neuron.w.assign(weights.data() + j * weights.cols(), weights.data() + (j + 1) * weights.cols());
        neuron.a = outputs[j];
        neuron.signs.assign(pattern.data() + j * pattern.cols(), pattern.data() + (j + 1) * pattern.cols());
    }
    for (const auto& [j, i] : starting) neurons.at(static_cast<std::size_t>(j)).starting.push_back(i);
    return neurons;
}

/// One array per field of the events.
py::dict events_out(const std::vector<ProvedEvent>& events) {
    const auto out = [&](auto field) {
        std::vector<decltype(field(events[0]))> values;
        for (const ProvedEvent& event : events) values.push_back(field(event));
        return array_out(std::move(values));
    };
    py::dict columns;
    columns["t_lo"] = out([](const ProvedEvent& e) { return e.t_lo; });
    columns["t_hi"] = out([](const ProvedEvent& e) { return e.t_hi; });
    columns["t"] = out([](const ProvedEvent& e) { return e.t; });
    columns["t_low"] = out([](const ProvedEvent& e) { return e.t_low; });
    columns["t_radius"] = out([](const ProvedEvent& e) { return e.t_radius; });
    columns["margin"] = out([](const ProvedEvent& e) { return e.margin; });
    columns["neuron"] = out([](const ProvedEvent& e) { return e.neuron; });
    columns["sample"] = out([](const ProvedEvent& e) { return e.sample; });
    columns["kind"] = out([](const ProvedEvent& e) { return static_cast<std::int8_t>(e.kind); });
    return columns;
}

/// The states, stacked: t (k,), W and W_low (k, m, d), a and a_low (k, m), radius (k, m), signs (k, m, n).
py::dict states_out(const std::vector<Enclosure>& states, Index m, Index d, Index n) {
    const auto k = static_cast<py::ssize_t>(states.size());
    const auto stacked = [&](auto field, std::vector<py::ssize_t> shape) {
        std::remove_cvref_t<decltype(field(states[0]))> values;
        for (const Enclosure& state : states) values.insert(values.end(), field(state).begin(), field(state).end());
        return array_out(std::move(values), std::move(shape));
    };
    std::vector<double> t;
    for (const Enclosure& state : states) t.push_back(state.t);
    py::dict columns;
    columns["t"] = array_out(std::move(t));
    columns["W"] = stacked([](const Enclosure& e) -> const auto& { return e.W; }, {k, m, d});
    columns["W_low"] = stacked([](const Enclosure& e) -> const auto& { return e.W_low; }, {k, m, d});
    columns["a"] = stacked([](const Enclosure& e) -> const auto& { return e.a; }, {k, m});
    columns["a_low"] = stacked([](const Enclosure& e) -> const auto& { return e.a_low; }, {k, m});
    columns["radius"] = stacked([](const Enclosure& e) -> const auto& { return e.radius; }, {k, m});
    columns["signs"] = stacked([](const Enclosure& e) -> const auto& { return e.signs; }, {k, m, n});
    return columns;
}

ProverSettings settings_in(const py::dict& given) {
    ProverSettings settings;
    settings.until = given["until"].cast<double>();
    settings.at = given["at"].cast<std::vector<double>>();
    settings.only_states = given["only_states"].cast<bool>();
    const auto optional = [&](const char* name, auto& value) {
        if (given.contains(name)) value = given[name].cast<std::remove_cvref_t<decltype(value)>>();
    };
    optional("order", settings.order);
    optional("dropped", settings.dropped);
    optional("last_term", settings.last_term);
    optional("kink_budget", settings.kink_budget);
    optional("longest", settings.longest);
    optional("radius", settings.radius);
    return settings;
}

/// With centres of this type.
template <class Real>
ProofRecord prove_with(const py::dict& problem, const py::tuple& claims, const py::dict& settings, py::object hook) {
    Samples samples(matrix_in("X", problem["X"]), vector_in("y", problem["y"]), problem["leak"].cast<double>(),
                    loss_kind(problem["loss"].cast<std::string>()), problem["mean"].cast<bool>());
    std::vector<ProvedNeuron<Real>> neurons = neurons_in<Real>(
        problem["W"], problem["a"], problem["signs"], problem["starting"].cast<std::vector<std::pair<Index, Index>>>());
    Prover<Real> prover(std::move(samples), std::move(neurons), problem["t"].cast<double>(), claims_in(claims),
                        settings_in(settings));
    HookGate gate(std::move(hook));
    const py::gil_scoped_release release;
    return prover.run([&](const ProofProgress& progress) {
        return gate.ask([&] { return py::make_tuple(progress.t, progress.steps, progress.events); });
    });
}

py::dict prove(const py::dict& problem, const py::tuple& claims, const py::dict& settings, py::object hook) {
    const py::array X = problem["X"];
    const py::array W = problem["W"];
    const bool more = settings.contains("digits") && settings["digits"].cast<int>() == 32;
    const ProofRecord record = more ? prove_with<DoubleDouble>(problem, claims, settings, std::move(hook))
                                    : prove_with<double>(problem, claims, settings, std::move(hook));
    py::dict out;
    out["reason"] = kReasonNames[static_cast<std::size_t>(record.failure.reason)];
    out["neuron"] = record.failure.neuron;
    out["sample"] = record.failure.sample;
    out["t"] = record.failure.time;
    out["proved_until"] = record.proved_until;
    out["steps"] = record.steps;
    out["bound"] = record.bound;
    out["events"] = events_out(record.events);
    out["states"] = states_out(record.states, W.shape(0), W.shape(1), X.shape(0));
    return out;
}

}  // namespace

void bind_proof(py::module_& module) {
    module.def("prove", &prove, py::arg("problem"), py::arg("claims"), py::arg("settings"),
               py::arg("hook") = py::none());
    module.attr("PROOF_TERMS") = py::cast(std::vector<std::string>(kTermNames.begin(), kTermNames.end()));
    module.def(
        "spectral_norm_up", [](const py::array& X) { return spectral_norm_up(matrix_in("X", X)); }, py::arg("X"));
    module.def(
        "proof_boundaries",
        [](const py::array& X) {
            const auto rows = matrix_in("X", X);
            return array_out(std::vector<Index>(Boundaries(rows.data(), rows.rows(), rows.cols()).first));
        },
        py::arg("X"));
    module.def(
        "proof_weights",
        [](const py::array& margins, const std::string& loss) {
            const LossKind kind = loss_kind(loss);
            return mapped("margins", margins, [=](double q) { return margin_weight(kind, q); });
        },
        py::arg("margins"), py::arg("loss"));
}

}  // namespace reluflow::bindings
