/// A few threads for the loops of one run. They live as long as the run and sleep when there is no loop for a while.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/interrupt.hpp"
#include "base/types.hpp"

namespace reluflow {

/// Runs the tasks of a loop on its threads and the caller's. Each thread begins with its own part of the tasks, the
/// same part for the same number of tasks, so that it finds what it wrote in its own cache; then it takes tasks from
/// the other parts. Which thread does a task is left to chance. Results have the same bits for any number of threads
/// because tasks are cut without regard to that number and write to separate places.
class Pool {
  public:
    /// `threads` includes the caller's: 1 starts none.
    explicit Pool(int threads = 1);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    /// Sets whom to ask whether a long loop is to be abandoned, while a Hearing exists; null for nobody.
    void listen_to(Interrupt* interrupt) noexcept { interrupt_ = interrupt; }
    /// While an instance exists, long loops can be abandoned: run() then throws Abandoned between two tasks. To be used
    /// only where that loses nothing.
    class Hearing {
      public:
        explicit Hearing(Pool& pool) noexcept : pool_(pool) { pool_.heard_ = pool_.interrupt_; }
        ~Hearing() { pool_.heard_ = nullptr; }
        Hearing(const Hearing&) = delete;
        Hearing& operator=(const Hearing&) = delete;

      private:
        Pool& pool_;
    };

    int threads() const noexcept { return static_cast<int>(hands_.size()); }

    /// Whether a loop of so many operations is shared among threads.
    bool is_worthwhile(double work) const noexcept { return hands_.size() > 1 && work >= kWorthwhile; }

    /// Calls body(task) for the tasks 0 ... count - 1 and waits for all. `work` is about the number of floating-point
    /// operations of the whole loop: below kWorthwhile the caller does it alone. If tasks throw, the exception of the
    /// first in order is rethrown here after the others have ended.
    template <class Body>
    void run(Index count, double work, const Body& body) {
        if (!is_worthwhile(work) || count <= 1 || count > Ticket::kMost) {
            Interrupt* const heard = work >= kWorthwhile ? heard_ : nullptr;
            for (Index task = 0; task < count; ++task) {
                if (heard && heard->is_wanted()) throw Abandoned{};
                body(task);
            }
            return;
        }
        share(count, [](const void* context, Index task) { (*static_cast<const Body*>(context))(task); }, &body);
    }

    /// The same over pieces [begin, end) of [0, size), each of at most `piece`.
    template <class Body>
    void run_pieces(Index size, Index piece, double work, const Body& body) {
        run((size + piece - 1) / piece, work,
            [&](Index task) { body(task * piece, std::min(size, (task + 1) * piece)); });
    }

  private:
    /// Waking a sleeping thread takes about as long as this many operations, 50 µs.
    static constexpr double kWorthwhile = 4e5;

    using Call = void (*)(const void*, Index);
    /// Number of the loop, end of the part and next task in one word, so that a task can only be taken from the loop it
    /// belongs to.
    struct Ticket {
        static constexpr int kBits = 20;
        static constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
        static constexpr Index kMost = Index{1} << (kBits - 1);

        static std::uint64_t make(std::uint64_t loop, Index begin, Index end) noexcept {
            return loop << (2 * kBits) | static_cast<std::uint64_t>(end) << kBits | static_cast<std::uint64_t>(begin);
        }
        static bool has_tasks(std::uint64_t ticket) noexcept { return (ticket & kMask) < (ticket >> kBits & kMask); }
        static Index next(std::uint64_t ticket) noexcept { return static_cast<Index>(ticket & kMask); }
    };
    /// The tasks left in the part of one thread.
    struct alignas(64) Hand {
        std::atomic<std::uint64_t> ticket{0};
    };

    void share(Index count, Call call, const void* context);
    void serve(std::size_t hand);
    void work(std::size_t hand);
    void take_from(Hand& hand, bool asks);
    void do_task(Call call, const void* context, Index task, bool asks) noexcept;

    std::vector<Hand> hands_;  // the caller's first
    const std::chrono::nanoseconds patience_;
    alignas(64) std::atomic<std::uint32_t> loop_{0};  // number of the latest loop
    alignas(64) std::atomic<int> left_{0};            // tasks that have not ended
    alignas(64) std::atomic<Call> call_{nullptr};
    std::atomic<const void*> context_{nullptr};
    std::atomic<bool> closed_{false};
    std::atomic<bool> given_up_{false};  // the present loop is abandoned
    Interrupt* interrupt_ = nullptr;
    Interrupt* heard_ = nullptr;  // read by the caller's thread only
    std::mutex mutex_;            // guards thrown_ and thrower_
    std::exception_ptr thrown_;
    Index thrower_ = 0;
    std::vector<std::thread> workers_;
};

}  // namespace reluflow
