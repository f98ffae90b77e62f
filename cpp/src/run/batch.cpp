#include "run/batch.hpp"

#include <algorithm>
#include <utility>

namespace reluflow {

Batch::Batch(std::size_t count, int n_threads, bool begin_all, Work work)
    : count_(count),
      max_waiting_(static_cast<std::size_t>(std::max(n_threads, 1))),
      begin_all_(begin_all),
      work_(std::move(work)) {
    const std::size_t threads = std::min(max_waiting_, count);
    slots_.resize(std::max<std::size_t>(threads, 1));
    if (max_waiting_ == 1) return;
    threads_.reserve(threads);
    for (std::size_t slot = 0; slot < threads; ++slot) threads_.emplace_back([this, slot] { serve(slot); });
}

Batch::~Batch() {
    stop(Request::interrupt);
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
    }
    room_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void Batch::serve(std::size_t slot) {
    while (begin(slot)) {
        end(slot, run(slot, nullptr));
        news_.notify_one();
    }
    news_.notify_one();
}

void Batch::end(std::size_t slot, Finished&& finished) {
    const std::lock_guard lock(mutex_);
    steps_ += finished.result.counts.steps;
    events_ += finished.result.events.count();
    ++done_;
    --under_way_;
    slots_[slot].busy = false;
    waiting_.push_back(std::move(finished));
}

/// Takes the next run once there is room for its result; false if there is no further run.
bool Batch::begin(std::size_t slot) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return closed_ || none_left() || waiting_.size() < max_waiting_; });
    if (closed_ || none_left()) return false;
    slots_[slot] = {true, next_++, {}};
    ++under_way_;
    return true;
}

Finished Batch::run(std::size_t slot, const Ask& ask) {
    Finished finished;
    finished.index = slots_[slot].index;
    const Ask urgent = [&] {
        if (ask)
            if (const Request request = ask(); request != Request::go_on) stop(request);
        return request_.load();
    };
    const Hook hook = [&](const Progress& progress) {
        {
            const std::lock_guard lock(mutex_);
            slots_[slot].progress = progress;
        }
        return urgent();
    };
    try {
        finished.result = work_(finished.index, hook, urgent);
    } catch (...) {
        finished.error = std::current_exception();
    }
    return finished;
}

/// Does the next run on the caller's thread; what `ask` throws ends the batch and propagates.
void Batch::run_here(const Ask& ask) {
    if (!begin(0)) return;
    std::exception_ptr thrown;
    end(0, run(0, [&] {
            try {
                return ask();
            } catch (...) {
                thrown = std::current_exception();
                return Request::interrupt;
            }
        }));
    if (thrown) std::rethrow_exception(thrown);
}

std::optional<Finished> Batch::take(std::chrono::milliseconds period, const Ask& ask) {
    if (threads_.empty()) run_here(ask);
    std::optional<Finished> taken;
    {
        std::unique_lock lock(mutex_);
        news_.wait_for(lock, period, [this] { return !waiting_.empty() || (none_left() && under_way_ == 0); });
        if (waiting_.empty()) return taken;
        taken = std::move(waiting_.front());
        waiting_.pop_front();
    }
    room_.notify_one();
    return taken;
}

bool Batch::is_over() {
    const std::lock_guard lock(mutex_);
    return waiting_.empty() && none_left() && under_way_ == 0;
}

void Batch::stop(Request request) {
    {
        const std::lock_guard lock(mutex_);
        request_ = request;
    }
    room_.notify_all();
}

BatchReport Batch::report() {
    const std::lock_guard lock(mutex_);
    BatchReport report{done_, steps_, events_, {}};
    for (const Slot& slot : slots_) {
        if (!slot.busy) continue;
        report.running.push_back({slot.index, slot.progress});
        report.steps += slot.progress.steps;
        report.events += slot.progress.events;
    }
    return report;
}

}  // namespace reluflow
