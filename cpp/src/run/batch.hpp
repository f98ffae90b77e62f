/// Many independent runs on a few threads: begun in order, returned as they finish, with a bounded number of results
/// waiting.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/observer.hpp"
#include "run/flow.hpp"
#include "run/result.hpp"

namespace reluflow {

/// One finished run, or what it threw.
struct Finished {
    std::size_t index = 0;
    RunResult result;
    std::exception_ptr error;
};

/// Counts of a batch in progress.
struct BatchReport {
    std::size_t done = 0;
    std::int64_t steps = 0;   ///< of all runs, finished or not
    std::int64_t events = 0;  ///< the same
    struct Running {
        std::size_t index = 0;
        Progress progress;
    };
    std::vector<Running> running;
};

/// Runs 0 ... count - 1. Each run is done by one thread, so its bits do not depend on the number of threads.
class Batch {
  public:
    using Ask = std::function<Request()>;
    /// Does run `index`, calling `hook` after every step and `urgent` inside long steps; called on the threads of the
    /// batch.
    using Work = std::function<RunResult(std::size_t index, const Hook& hook, const Ask& urgent)>;

    /// Starts the threads, or none for n_threads = 1: then take() does the next run itself. At most `n_threads` results
    /// wait to be taken; then the threads wait too. With `begin_all`, runs that have not begun at stop() are still
    /// begun and end before their first step.
    Batch(std::size_t count, int n_threads, bool begin_all, Work work);
    /// Interrupts what is running and waits for it.
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    /// The next result, waiting for at most `period`; nothing if there is none yet, or if is_over(). If the run is done
    /// on this thread, `ask` is called after every step and inside long ones.
    std::optional<Finished> take(std::chrono::milliseconds period, const Ask& ask);
    /// True when every run that was begun has been taken and no other will begin.
    bool is_over();
    /// Asks the running runs to end; no other begins, except with `begin_all`.
    void stop(Request request);
    Request request() const noexcept { return request_; }
    BatchReport report();

  private:
    struct Slot {
        bool busy = false;
        std::size_t index = 0;
        Progress progress;
    };

    void serve(std::size_t slot);
    bool begin(std::size_t slot);
    Finished run(std::size_t slot, const Ask& ask);
    void end(std::size_t slot, Finished&& finished);
    void run_here(const Ask& ask);
    bool none_left() const noexcept { return next_ >= count_ || (request_ != Request::go_on && !begin_all_); }

    const std::size_t count_;
    const std::size_t max_waiting_;
    const bool begin_all_;
    const Work work_;
    std::atomic<Request> request_{Request::go_on};
    std::mutex mutex_;  // guards all below
    std::condition_variable room_, news_;
    std::size_t next_ = 0;
    std::size_t under_way_ = 0;
    std::size_t done_ = 0;
    std::int64_t steps_ = 0;
    std::int64_t events_ = 0;
    bool closed_ = false;
    std::deque<Finished> waiting_;
    std::vector<Slot> slots_;
    std::vector<std::thread> threads_;
};

}  // namespace reluflow
