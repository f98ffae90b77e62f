/// The pool: every task once, exceptions carried over, many short loops.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/pool.hpp"
#include "check.hpp"

namespace {

using reluflow::Index;
using reluflow::Pool;

constexpr double kMuch = 1e9;

void every_task_is_done_once(int threads) {
    Pool pool(threads);
    CHECK(pool.threads() == threads);
    for (const Index count : {0, 1, 2, 7, 1000}) {
        std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
        pool.run(count, kMuch, [&](Index task) { ++done[static_cast<std::size_t>(task)]; });
        bool once = true;
        for (const auto& times : done) once = once && times == 1;
        CHECK(once);
    }
}

void a_loop_ends_before_the_next_begins(int threads) {
    Pool pool(threads);
    std::vector<Index> values(64, 0);
    for (Index round = 0; round < 20000; ++round)
        pool.run(64, kMuch, [&](Index task) { values[static_cast<std::size_t>(task)] += task + round; });
    bool right = true;
    for (Index task = 0; task < 64; ++task)
        right = right && values[static_cast<std::size_t>(task)] == 20000 * task + 19999 * 10000;
    CHECK(right);
}

void sleeping_threads_come_back(int threads) {
    Pool pool(threads);
    std::atomic<int> done{0};
    for (int round = 0; round < 5; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // far beyond the patience of any thread
        pool.run(3, kMuch, [&](Index task) {
            if (task == 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // and beyond the caller's
            ++done;
        });
        CHECK(done == 3 * (round + 1));
    }
}

void the_first_exception_in_order_is_thrown_when_all_have_ended(int threads) {
    Pool pool(threads);
    std::atomic<int> ended{0};
    int caught = -1;
    try {
        pool.run(50, kMuch, [&](Index task) {
            ++ended;
            if (task == 17 || task == 40) throw static_cast<int>(task);
        });
    } catch (int task) {
        caught = task;
    }
    CHECK(caught == 17);
    CHECK(threads == 1 || ended == 50);
    int sum = 0;
    pool.run(1, kMuch, [&](Index) { ++sum; });  // and it goes on
    CHECK(sum == 1);
}

void pieces_cover_the_range(int threads) {
    Pool pool(threads);
    std::vector<int> touched(1001, 0);
    pool.run_pieces(1001, 64, kMuch, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) ++touched[static_cast<std::size_t>(i)];
    });
    bool once = true;
    for (const int times : touched) once = once && times == 1;
    CHECK(once);
}

}  // namespace

int main() {
    for (const int threads : {1, 2, 3, 8}) {
        every_task_is_done_once(threads);
        a_loop_ends_before_the_next_begins(threads);
        sleeping_threads_come_back(threads);
        the_first_exception_in_order_is_thrown_when_all_have_ended(threads);
        pieces_cover_the_range(threads);
    }
    return reluflow::tests::failures();
}
