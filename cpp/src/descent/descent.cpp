#include "descent/descent.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "base/errors.hpp"
#include "descent/descent_kernel.hpp"

namespace reluflow {
namespace {

std::string text(double value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

void check_length(const char* name, Index found, Index expected) {
    if (found != expected) throw InvalidArgument(name, std::to_string(found), "of length " + std::to_string(expected));
}

void check_count(const char* name, Index found, Index largest) {
    if (found < 0 || found > largest)
        throw InvalidArgument(name, std::to_string(found), "in 0.." + std::to_string(largest));
}

void check(const MatrixView& X, const VectorView& y, const Vector& counts, const MatrixView& W, const VectorView& a,
           const DescentSettings& settings) {
    if (X.rows() == 0) throw InvalidArgument("X", "no rows", "of one sample or more");
    check_length("y", y.size(), X.rows());
    check_length("weights", counts.size(), X.rows());
    check_length("a", a.size(), W.rows());
    check_length("each row of W", W.cols(), X.cols());
    if (!(settings.step > 0.0 && std::isfinite(settings.step)))
        throw InvalidArgument("step", text(settings.step), "positive and finite");
    if (!(settings.leak >= 0.0 && settings.leak < 1.0)) throw InvalidArgument("leak", text(settings.leak), "in [0, 1)");
    constexpr Index unbounded = std::numeric_limits<Index>::max();
    check_count("n_steps", settings.n_steps, unbounded);
    check_count("batch_size", settings.batch_size, X.rows());
    check_count("save_every", settings.save_every, unbounded);
}

void keep(DescentResult& result, Descent& descent) {
    const auto index = static_cast<std::int64_t>(descent.steps_done());
    if (!result.step_index.empty() && result.step_index.back() == index) return;
    result.step_index.push_back(index);
    result.t.push_back(descent.time());
    result.W.insert(result.W.end(), descent.W().data(), descent.W().data() + descent.W().size());
    result.a.insert(result.a.end(), descent.a().data(), descent.a().data() + descent.a().size());
    result.log_loss.push_back(descent.log_loss());
}

}  // namespace

const char* name(DescentStatus status) noexcept {
    switch (status) {
        case DescentStatus::reached_steps: return "reached_steps";
        case DescentStatus::stopped_by_callback: return "stopped_by_callback";
        case DescentStatus::interrupted: return "interrupted";
        case DescentStatus::non_finite: return "non_finite";
    }
    return "unknown";
}

Descent::Descent(Eigen::Map<const Matrix> X, Eigen::Map<const Vector> y, const MatrixView& W, const VectorView& a,
                 const DescentSettings& settings, const Vector& counts)
    : X_(X), y_(y), counts_(counts.size() > 0 ? counts : Vector::Ones(X.rows())), settings_(settings), W_(W), a_(a) {
    check(X_, y_, counts_, W_, a_, settings_);
    kernel_ = std::make_unique<DescentKernel>(X_.rows(), W_.rows(), X_.cols(), settings_);
}

Descent::~Descent() = default;

DescentSamples Descent::samples() const {
    return {X_, y_, Eigen::Map<const Vector>(counts_.data(), counts_.size())};
}

void Descent::add_all_samples() {
    const Index n = X_.rows();
    const double scale = reduction_factor(settings_.reduction, n);
    for (Index start = 0; start < n; start += DescentKernel::kSamples) {
        const Index size = std::min(DescentKernel::kSamples, n - start);
        kernel_->add(samples().rows(start, size), W_, a_, scale);
    }
}

void Descent::add_next_batch() {
    const std::span<const Index> batch = kernel_->sampler().next();
    // n/b times the batch's sum estimates the sum over all samples without bias, so time means the same with batches.
    const double estimate = static_cast<double>(X_.rows()) / static_cast<double>(batch.size());
    kernel_->add_rows(batch, samples(), W_, a_, estimate * reduction_factor(settings_.reduction, X_.rows()));
}

bool Descent::advance() {
    kernel_->reset();
    if (settings_.batch_size == 0 || settings_.batch_size == X_.rows())
        add_all_samples();
    else
        add_next_batch();
    if (!kernel_->move(W_, a_, settings_.step, settings_.decay)) return false;
    ++steps_done_;
    return true;
}

double Descent::log_loss() {
    const Index n = X_.rows();
    std::vector<double>& q = kernel_->all_margins();
    for (Index start = 0; start < n; start += DescentKernel::kSamples) {
        const Index size = std::min(DescentKernel::kSamples, n - start);
        kernel_->margins(samples().rows(start, size), W_, a_, q.data() + start);
    }
    return reluflow::log_loss(settings_.loss, settings_.reduction, q, span_of(counts_));
}

DescentResult descend(Descent& descent, const DescentObserver& observer) {
    const DescentSettings& settings = descent.settings();
    DescentResult result;
    keep(result, descent);
    while (descent.steps_done() < settings.n_steps && result.status == DescentStatus::reached_steps) {
        if (!descent.advance()) {
            result.status = DescentStatus::non_finite;
            break;
        }
        if (settings.save_every > 0 && descent.steps_done() % settings.save_every == 0) keep(result, descent);
        const Request request = observer ? observer(descent) : Request::go_on;
        if (request == Request::stop) result.status = DescentStatus::stopped_by_callback;
        if (request == Request::interrupt) result.status = DescentStatus::interrupted;
    }
    keep(result, descent);
    result.steps_done = descent.steps_done();
    return result;
}

}  // namespace reluflow
