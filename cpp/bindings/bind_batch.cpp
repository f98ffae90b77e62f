/// Binds the module batch: runs on threads that never touch Python; their results are taken by the caller's thread.
#include <pybind11/pybind11.h>

#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "hook.hpp"
#include "run/batch.hpp"
#include "run_plan.hpp"
#include "run_result.hpp"

namespace reluflow::bindings {
namespace {

using MatrixMap = Eigen::Map<const Matrix>;
using VectorMap = Eigen::Map<const Vector>;

/// One run: views of arrays that the owner of the job keeps alive.
struct Job {
    std::shared_ptr<const Dataset> data;
    MatrixMap W;
    VectorMap a;
    double leak;
    RunPlan plan;
    std::optional<SignMatrix> pattern;
};

py::object exception_out(const std::exception_ptr& error) {
    const auto make = [](PyObject* type, const char* text) { return py::reinterpret_borrow<py::object>(type)(text); };
    try {
        std::rethrow_exception(error);
    } catch (const std::invalid_argument& caught) {
        return make(PyExc_ValueError, caught.what());
    } catch (const std::bad_alloc& caught) {
        return make(PyExc_MemoryError, caught.what());
    } catch (const std::exception& caught) {
        return make(PyExc_RuntimeError, caught.what());
    } catch (...) {
        return make(PyExc_RuntimeError, "an unknown error in the core");
    }
}

py::dict batch_report_of(const BatchReport& report, double seconds) {
    py::dict out;
    out["done"] = report.done;
    out["steps"] = report.steps;
    out["events"] = report.events;
    out["seconds"] = seconds;
    py::list running;
    for (const auto& run : report.running) running.append(py::make_tuple(run.index, report_of(run.progress)));
    out["running"] = running;
    return out;
}

class BatchRun {
  public:
    BatchRun(const py::list& datasets, const py::list& jobs, const std::string& loss, const std::string& reduction_name,
             int n_threads, bool begin_all, py::object hook)
        : kept_alive_(py::make_tuple(datasets, jobs)), gate_(std::move(hook)) {
        read_jobs(read_datasets(datasets, loss_kind(loss), decays(jobs)), jobs, loss, reduction_name);
        const auto work = [this](std::size_t index, const Hook& asked, const Batch::Ask& urgent) {
            return run(index, asked, urgent);
        };
        const py::gil_scoped_release no_gil;
        batch_ = std::make_unique<Batch>(jobs_.size(), n_threads, begin_all, work);
    }

    ~BatchRun() {
        const py::gil_scoped_release no_gil;  // abandons unfinished runs
        batch_.reset();
    }
    BatchRun(const BatchRun&) = delete;
    BatchRun& operator=(const BatchRun&) = delete;

    /// (index, result, error) of the next run that has ended, or None.
    py::object next() {
        std::optional<Finished> taken;
        {
            const py::gil_scoped_release no_gil;
            while (!taken && !batch_->is_over()) {
                taken = batch_->take(kPatience, [this] { return ask(); });
                if (const Request request = ask(); request != Request::go_on) batch_->stop(request);
            }
        }
        if (!taken) return py::none();
        if (taken->error) return py::make_tuple(taken->index, py::none(), exception_out(taken->error));
        return py::make_tuple(taken->index, result_out(std::move(taken->result)), py::none());
    }

    void stop() { batch_->stop(Request::stop); }
    bool interrupted() const { return batch_->request() == Request::interrupt; }

  private:
    /// How long to wait for a result before checking for Ctrl-C.
    static constexpr std::chrono::milliseconds kPatience{50};

    Request ask() {
        return gate_.ask([this] { return batch_report_of(batch_->report(), gate_.seconds()); });
    }

    RunResult run(std::size_t index, const Hook& hook, const Batch::Ask& urgent) const {
        const Job& job = jobs_[index];
        RunPlan plan = job.plan;
        plan.hook = hook;
        plan.urgent = urgent;
        Flow flow(*job.data, job.W, job.a, job.leak, std::move(plan), job.pattern ? &*job.pattern : nullptr);
        flow.run();
        return collect(flow, *job.data);
    }

    /// Whether the runs have weight decay; those of a batch have it together.
    static bool decays(const py::list& jobs) {
        if (jobs.empty()) return false;
        const py::dict options = py::reinterpret_borrow<py::tuple>(jobs[0])[4];
        return options.contains("weight_decay") && options["weight_decay"].cast<double>() > 0.0;
    }

    /// `datasets`: tuples (X, y) or (X, y, weights).
    static std::vector<std::shared_ptr<const Dataset>> read_datasets(const py::list& datasets, LossKind loss,
                                                                     bool all_moves) {
        std::vector<std::shared_ptr<const Dataset>> read;
        for (const auto& item : datasets) {
            const auto given = py::reinterpret_borrow<py::tuple>(item);
            const auto X = matrix_in("X", given[0]);
            const auto y = vector_in("y", given[1]);
            const Vector counts = given.size() > 2 ? counts_in(given[2]) : Vector();
            const py::gil_scoped_release no_gil;
            read.push_back(std::make_shared<const Dataset>(X, y, loss, counts, all_moves));
        }
        return read;
    }

    void read_jobs(const std::vector<std::shared_ptr<const Dataset>>& datasets, const py::list& jobs,
                   const std::string& loss, const std::string& reduction_name) {
        for (const auto& item : jobs) {
            const auto given = py::reinterpret_borrow<py::tuple>(item);
            const py::dict options = given[4];
            Job job{datasets.at(given[0].cast<std::size_t>()),
                    matrix_in("W", given[1]),
                    vector_in("a", given[2]),
                    given[3].cast<double>(),
                    plan_in(loss, reduction_name, options),
                    std::nullopt};
            if (options.contains("pattern") && !options["pattern"].is_none())
                job.pattern = signs_in("pattern", py::reinterpret_borrow<py::array>(options["pattern"]));
            jobs_.push_back(std::move(job));
        }
    }

    py::object kept_alive_;
    HookGate gate_;
    std::vector<Job> jobs_;
    std::unique_ptr<Batch> batch_;
};

}  // namespace

void bind_batch(py::module_& module) {
    py::class_<BatchRun>(module, "Batch", "Many runs on a few threads.")
        .def(
            py::init<const py::list&, const py::list&, const std::string&, const std::string&, int, bool, py::object>(),
            py::arg("datasets"), py::arg("jobs"), py::arg("loss"), py::arg("reduction"), py::arg("n_threads"),
            py::arg("begin_all"), py::arg("hook"))
        .def("next", &BatchRun::next)
        .def("stop", &BatchRun::stop)
        .def_property_readonly("interrupted", &BatchRun::interrupted);
}

}  // namespace reluflow::bindings
