/// Binds the module layered.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "hook.hpp"
#include "layered_data.hpp"
#include "run/layered_flow.hpp"
#include "run_plan.hpp"
#include "run_result.hpp"

namespace reluflow::bindings {
namespace {

using namespace reluflow::layered;

/// An array of numbers, or none.
Vector optional_in(const char* name, const py::object& array) {
    return array.is_none() ? Vector() : Vector(vector_in(name, py::cast<py::array>(array)));
}

/// A network on data with a loss, and its runs. Owns what the flows point at.
class LayeredModel {
  public:
    LayeredModel(const py::list& nodes, const py::list& edges, Index parameters, const py::array& X,
                 const py::array& targets, const std::string& loss, double factor, const py::object& counts,
                 const py::object& decay)
        : graph_(graph_in(nodes, edges, parameters)),
          X_(matrix_in("X", X)),
          duals_(layered_loss(loss), matrix_in("targets", targets), factor, optional_in("counts", counts),
                 optional_in("decay", decay)) {}

    /// Runs from parameters or from a stored state, and keeps the run.
    py::dict run(const py::object& start, const py::dict& options, py::object hook) {
        RunPlan plan = plan_in(options);
        const bool has_period = options.contains("hook_period");
        HookGate gate(std::move(hook), has_period ? options["hook_period"].cast<double>() : HookGate::kPeriod);
        plan.hook = [&gate](const Progress& progress) { return gate.ask([&] { return report_of(progress); }); };
        plan.urgent = [] { return look_for_signals(); };
        if (py::isinstance<py::dict>(start))
            flow_ = std::make_unique<LayeredFlow>(graph_, X_, duals_, snapshot_in(start, graph_, X_), std::move(plan));
        else
            flow_ = std::make_unique<LayeredFlow>(
                graph_, X_, duals_, Vector(vector_in("theta", py::cast<py::array>(start))), std::move(plan));
        {
            const py::gil_scoped_release no_gil;
            flow_->run();
        }
        kept_ = flow_->snapshots();
        kept_.push_back(flow_->state());
        return layered_result_out(*flow_);
    }

    /// At most `count` of the kept states, the first and the last among them.
    py::list states(std::size_t count) const {
        py::list out;
        const std::size_t all = kept_.size();
        const std::size_t number = std::min(all, std::max<std::size_t>(count, 2));
        for (std::size_t i = 0; i < number; ++i)
            out.append(snapshot_out(kept_[number == 1 ? 0 : i * (all - 1) / (number - 1)], graph_));
        return out;
    }

    /// Takes kept states that another model wrote.
    void restore(const py::list& stored) {
        kept_.clear();
        for (const py::handle& item : stored) kept_.push_back(snapshot_in(py::cast<py::dict>(item), graph_, X_));
    }

    /// The state at a time of the kept run, from the snapshot before it.
    py::dict state_at(double time, bool in_log, double rtol) {
        const Clock when = in_log ? Clock::at_log(time) : Clock(time);
        const auto after = std::ranges::find_if(kept_, [&](const Snapshot& s) { return when.is_before(s.clock); });
        const Snapshot& from = after == kept_.begin() ? kept_.front() : *(after - 1);
        if (!from.clock.is_before(when)) return snapshot_out(from, graph_);
        RunPlan plan;
        plan.settings.rtol = std::min(rtol, kLoosestRtol);
        plan.settings.checkpoint_bytes = 0;
        (in_log ? plan.stop.log_time : plan.stop.time) = time;
        LayeredFlow replay(graph_, X_, duals_, from, std::move(plan));
        {
            const py::gil_scoped_release no_gil;
            replay.run();
        }
        return snapshot_out(replay.state(), graph_);
    }

  private:
    Graph graph_;
    Matrix X_;
    DualSeries duals_;
    std::unique_ptr<LayeredFlow> flow_;
    std::vector<Snapshot> kept_;
};

}  // namespace

void bind_layered(py::module_& module) {
    py::class_<LayeredModel>(module, "LayeredModel", "A layered network on data with a loss, and its runs.")
        .def(py::init<const py::list&, const py::list&, Index, const py::array&, const py::array&, const std::string&,
                      double, const py::object&, const py::object&>(),
             py::arg("nodes"), py::arg("edges"), py::arg("parameters"), py::arg("X"), py::arg("targets"),
             py::arg("loss"), py::arg("factor"), py::arg("counts") = py::none(), py::arg("decay") = py::none())
        .def("run", &LayeredModel::run, py::arg("start"), py::arg("options"), py::arg("hook"))
        .def("states", &LayeredModel::states, py::arg("count"))
        .def("restore", &LayeredModel::restore, py::arg("states"))
        .def("state_at", &LayeredModel::state_at, py::arg("time"), py::arg("in_log"), py::arg("rtol"));
}

}  // namespace reluflow::bindings
