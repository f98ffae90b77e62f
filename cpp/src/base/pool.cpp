#include "base/pool.hpp"

#include "base/pool_wait.hpp"

namespace reluflow {

namespace {

/// An idle thread spins this long before it sleeps: the loops of an order follow each other within tens of
/// microseconds.
constexpr std::chrono::microseconds kPatience{100};

/// With more threads than cores there is no spinning, since it would take the core from another thread. The number of
/// cores is read from files: a thirtieth of a short run, which has one thread and waits for nobody.
std::chrono::nanoseconds patience_of(int threads) noexcept {
    if (threads <= 1) return kPatience;
    const bool fits = static_cast<unsigned>(threads) <= std::thread::hardware_concurrency();
    return fits ? kPatience : std::chrono::nanoseconds{0};
}

}  // namespace

Pool::Pool(int threads) : hands_(static_cast<std::size_t>(std::max(threads, 1))), patience_(patience_of(threads)) {
    for (std::size_t hand = 1; hand < hands_.size(); ++hand) workers_.emplace_back([this, hand] { serve(hand); });
}

Pool::~Pool() {
    closed_ = true;
    ++loop_;
    loop_.notify_all();
    for (auto& worker : workers_) worker.join();
}

void Pool::serve(std::size_t hand) {
    for (std::uint32_t seen = 0; !closed_; work(hand)) {
        wait_while(loop_, seen, patience_);
        seen = loop_;
    }
}

void Pool::share(Index count, Call call, const void* context) {
    // All tasks of the loop before are done and all tickets are empty, so no thread can take a task while these are
    // set.
    call_ = call;
    context_ = context;
    left_ = static_cast<int>(count);
    thrown_ = nullptr;
    given_up_ = false;
    const std::uint32_t loop = loop_ + 1;
    const auto threads = static_cast<Index>(hands_.size());
    for (Index hand = 0; hand < threads; ++hand)
        hands_[static_cast<std::size_t>(hand)].ticket =
            Ticket::make(loop, count * hand / threads, count * (hand + 1) / threads);
    loop_ = loop;
    loop_.notify_all();
    work(0);
    for (int left = left_; left != 0; left = left_) wait_while(left_, left, patience_);
    if (thrown_) std::rethrow_exception(thrown_);
    if (given_up_) throw Abandoned{};
}

/// Does the tasks of its own part, then those left in the parts of the others.
void Pool::work(std::size_t hand) {
    for (std::size_t i = 0; i < hands_.size(); ++i) take_from(hands_[(hand + i) % hands_.size()], hand == 0);
}

/// Does tasks of `hand` until it has none.
void Pool::take_from(Hand& hand, bool asks) {
    std::uint64_t ticket = hand.ticket;
    while (Ticket::has_tasks(ticket)) {
        // If the exchange succeeds these belong to the ticket's loop, because a loop does not end before its last task.
        const Call call = call_;
        const void* context = context_;
        if (!hand.ticket.compare_exchange_weak(ticket, ticket + 1)) continue;
        do_task(call, context, Ticket::next(ticket), asks);
        if (left_.fetch_sub(1) == 1) left_.notify_one();
        ticket = hand.ticket;
    }
}

/// Only the caller's thread asks whether to go on; it tells the others by given_up_.
void Pool::do_task(Call call, const void* context, Index task, bool asks) noexcept {
    try {
        if (asks && heard_ && !given_up_ && heard_->is_wanted()) given_up_ = true;
        if (!given_up_) call(context, task);
    } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!thrown_ || task < thrower_) {
            thrown_ = std::current_exception();
            thrower_ = task;
        }
    }
}

}  // namespace reluflow
