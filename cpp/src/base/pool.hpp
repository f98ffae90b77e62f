/// A few threads for the loops of one run. They live as long as the run, and sleep when there is no loop for a while.
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

/// Runs the tasks of a loop on its threads and the caller's. Each begins with its own part of them, always the same
/// part of as many, so that it finds what it wrote in its own cache; then it takes from the parts of the others. Which
/// thread does which task is therefore left to chance: the same bits for any number of threads come from tasks that are
/// cut the same way whatever their number, and that write apart.
class Pool {
  public:
    /// `threads` counts the caller: 1 starts none.
    explicit Pool(int threads = 1);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    /// Whom to ask, while somebody hears, whether a long loop is to be given up; null is nobody.
    void listen_to(Interrupt* interrupt) noexcept { interrupt_ = interrupt; }
    /// While it lives, a long loop that is not wanted any more throws Abandoned between two tasks. Only where nothing
    /// is lost by it.
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

    /// Whether several threads share a loop of so many operations.
    bool is_worthwhile(double work) const noexcept { return hands_.size() > 1 && work >= kWorthwhile; }

    /// Calls body(task) for the tasks 0 ... count - 1 and waits for all. `work` is about the number of floating-point
    /// operations of the whole loop: below kWorthwhile the caller does it alone. What the first task in order throws
    /// is thrown here, when the others have ended.
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
    /// To wake a sleeping thread takes about as long as this many operations, 50 µs.
    static constexpr double kWorthwhile = 4e5;

    using Call = void (*)(const void*, Index);
    /// One word, so that a task is taken only from the loop it belongs to: number of the loop, end of the part, next
    /// task.
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
    /// What is left of the part of a thread.
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
    alignas(64) std::atomic<std::uint32_t> loop_{0};  // number of the last loop
    alignas(64) std::atomic<int> left_{0};            // tasks that have not ended
    alignas(64) std::atomic<Call> call_{nullptr};
    std::atomic<const void*> context_{nullptr};
    std::atomic<bool> closed_{false};
    std::atomic<bool> given_up_{false};  // the present loop
    Interrupt* interrupt_ = nullptr;
    Interrupt* heard_ = nullptr;  // by the caller alone
    std::mutex mutex_;            // guards what is thrown
    std::exception_ptr thrown_;
    Index thrower_ = 0;
    std::vector<std::thread> workers_;
};

}  // namespace reluflow
