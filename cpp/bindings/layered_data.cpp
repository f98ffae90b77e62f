#include "layered_data.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "base/status.hpp"

namespace reluflow::bindings {
namespace {

using namespace reluflow::layered;

std::vector<Index> indices_in(const py::handle& array) {
    const auto values = py::cast<py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>>(array);
    return {values.data(), values.data() + values.size()};
}

std::vector<double> numbers_in(const py::handle& array) {
    const auto values = py::cast<py::array_t<double, py::array::c_style | py::array::forcecast>>(array);
    return {values.data(), values.data() + values.size()};
}

std::vector<SignMatrix> layers_in(const py::handle& list) {
    std::vector<SignMatrix> layers;
    for (const py::handle& layer : list) layers.emplace_back(signs_in("state", py::cast<py::array>(layer)));
    return layers;
}

py::dict states_out(const States& states, Index size) {
    std::vector<double> theta;
    theta.reserve(static_cast<std::size_t>(states.count() * size));
    for (Index i = 0; i < states.count(); ++i) theta.insert(theta.end(), states.theta[i], states.theta[i] + size);
    py::dict out;
    out["t"] = array_out(std::vector<double>(states.t));
    out["log_t"] = array_out(std::vector<double>(states.log_t));
    out["log_loss"] = array_out(std::vector<double>(states.log_loss));
    out["theta"] = array_out(std::move(theta), {states.count(), size});
    return out;
}

py::tuple boundary_out(const Boundary& boundary) {
    py::list members;
    py::list inputs;
    for (const Place& p : boundary.members) members.append(py::make_tuple(p.node, p.sample, p.unit));
    for (const Input& input : boundary.inputs)
        inputs.append(py::make_tuple(input.node, input.tap == Tap::preactivation, input.unit));
    return py::make_tuple(boundary.parameter, boundary.constant, members, inputs);
}

Place place_in(const py::tuple& place) {
    return {place[0].cast<int>(), place[1].cast<Index>(), place[2].cast<Index>()};
}

Boundary boundary_in(const py::tuple& stored) {
    Boundary boundary;
    boundary.parameter = stored[0].cast<Index>();
    boundary.constant = stored[1].cast<double>();
    for (const py::handle& member : py::list(stored[2]))
        boundary.members.push_back(place_in(py::cast<py::tuple>(member)));
    for (const py::handle& item : py::list(stored[3])) {
        const auto input = py::cast<py::tuple>(item);
        const Tap tap = input[1].cast<bool>() ? Tap::preactivation : Tap::activated;
        boundary.inputs.push_back({input[0].cast<int>(), tap, input[2].cast<Index>()});
    }
    return boundary;
}

py::dict events_out(const LayeredFlow& flow) {
    std::vector<double> t;
    std::vector<double> log_t;
    std::array<std::vector<std::int64_t>, 3> place;
    std::vector<std::uint8_t> kind;
    std::vector<std::int64_t> set;
    for (const LayeredEvent& event : flow.events()) {
        t.push_back(event.t);
        log_t.push_back(event.log_t);
        place[0].push_back(event.change.place.node);
        place[1].push_back(event.change.place.unit);
        place[2].push_back(event.change.place.sample);
        kind.push_back(static_cast<std::uint8_t>(event.change.kind));
        set.push_back(event.set);
    }
    py::dict out;
    out["t"] = array_out(std::move(t));
    out["log_t"] = array_out(std::move(log_t));
    out["layer"] = array_out(std::move(place[0]));
    out["unit"] = array_out(std::move(place[1]));
    out["sample"] = array_out(std::move(place[2]));
    out["kind"] = array_out(std::move(kind));
    out["event_set"] = array_out(std::move(set));
    return out;
}

}  // namespace

Graph graph_in(const py::list& nodes, const py::list& edges, Index parameters) {
    std::vector<Node> made;
    for (const py::handle& item : nodes) {
        const auto given = py::cast<py::tuple>(item);
        Node node;
        node.size = given[0].cast<Index>();
        node.linear = given[1].cast<bool>();
        node.leak = given[2].cast<double>();
        if (!given[3].is_none()) node.bias = indices_in(given[3]);
        made.push_back(std::move(node));
    }
    std::vector<Edge> linked;
    for (const py::handle& item : edges) {
        const auto given = py::cast<py::tuple>(item);
        Edge edge;
        edge.source = given[0].cast<int>();
        edge.target = given[1].cast<int>();
        edge.tap = given[2].cast<std::string>() == "z" ? Tap::preactivation : Tap::activated;
        const auto idx = py::cast<py::array>(given[3]);
        edge.rows = idx.shape(0);
        edge.cols = idx.shape(1);
        edge.parameter = indices_in(given[3]);
        if (!given[4].is_none()) edge.constant = numbers_in(given[4]);
        linked.push_back(std::move(edge));
    }
    return {std::move(made), std::move(linked), parameters};
}

py::dict snapshot_out(const Snapshot& snapshot, const Graph& graph) {
    py::list sides;
    py::list modes;
    for (int v = 0; v < graph.count(); ++v) {
        sides.append(array_out(SignMatrix(snapshot.activity.sides(v))));
        modes.append(array_out(SignMatrix(snapshot.activity.modes(v))));
    }
    py::list sliding;
    for (const Boundary& boundary : snapshot.activity.sliding()) sliding.append(boundary_out(boundary));
    py::list zeros;
    for (const Zero& zero : snapshot.activity.zeros())
        zeros.append(py::make_tuple(zero.place.node, zero.place.sample, zero.place.unit, zero.orders));
    py::dict out;
    out["t"] = snapshot.clock.t();
    out["log_t"] = snapshot.clock.log_t();
    out["theta"] = array_out(Vector(snapshot.theta));
    out["sides"] = sides;
    out["modes"] = modes;
    out["sliding"] = sliding;
    out["zeros"] = zeros;
    out["balance"] = array_out(Vector(snapshot.balance));
    return out;
}

Snapshot snapshot_in(const py::dict& stored, const Graph& graph, const Matrix& X) {
    const double t = stored["t"].cast<double>();
    const Clock clock = std::isfinite(t) ? Clock(t) : Clock::at_log(stored["log_t"].cast<double>());
    Snapshot snapshot{clock, vector_in("theta", py::cast<py::array>(stored["theta"])), Activity(graph, X)};
    std::vector<Boundary> sliding;
    for (const py::handle& item : py::list(stored["sliding"]))
        sliding.push_back(boundary_in(py::cast<py::tuple>(item)));
    std::vector<Zero> zeros;
    for (const py::handle& item : py::list(stored["zeros"])) {
        const auto zero = py::cast<py::tuple>(item);
        zeros.push_back({place_in(zero), zero[3].cast<int>()});
    }
    snapshot.activity.restore(layers_in(stored["sides"]), layers_in(stored["modes"]), std::move(sliding),
                              std::move(zeros));
    if (stored.contains("balance")) snapshot.balance = vector_in("balance", py::cast<py::array>(stored["balance"]));
    return snapshot;
}

py::dict layered_result_out(const LayeredFlow& flow) {
    const Index size = flow.parameters();
    py::list branchings;
    for (const LayeredBranching& point : flow.branchings()) {
        py::dict out;
        py::list places;
        for (const Place& p : point.places) places.append(py::make_tuple(p.node, p.unit, p.sample));
        py::list choices;
        for (const auto& option : point.options) {
            py::list sides;
            for (const int side : option) sides.append(side);
            choices.append(py::tuple(sides));
        }
        out["t"] = point.t;
        out["log_t"] = point.log_t;
        out["places"] = places;
        out["options"] = choices;
        out["chosen"] = point.chosen;
        out["lists_all"] = point.lists_all;
        branchings.append(out);
    }
    py::dict out;
    out["status"] = std::string(status_name(flow.status()));
    out["success"] = is_success(flow.status());
    out["message"] = flow.full_message();
    out["events"] = events_out(flow);
    out["branchings"] = branchings;
    out["saved"] = states_out(flow.saved(), size);
    out["steps"] = states_out(flow.kept(), size);
    out["log_loss"] = flow.log_loss();
    out["log_gradient_norm"] = flow.log_gradient_norm();
    out["n_steps"] = flow.steps();
    out["order_sum"] = flow.order_sum();
    out["n_event_sets"] = flow.event_sets();
    out["seconds"] = flow.seconds();
    return out;
}

}  // namespace reluflow::bindings
