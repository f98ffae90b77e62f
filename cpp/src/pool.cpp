#include "reluflow/pool.hpp"

namespace reluflow {

Pool::Pool(int threads) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { serve(); });
}

Pool::~Pool() {
    closed_ = true;
    ticket_ = Ticket::make(++loop_, 0);
    ticket_.notify_all();
    for (auto& worker : workers_) worker.join();
}

void Pool::serve() {
    while (!closed_) {
        const std::uint64_t ticket = ticket_;
        if (Ticket::has_tasks(ticket))
            work_on(ticket);
        else if (!closed_)
            ticket_.wait(ticket);
    }
}

void Pool::share(Index count, Call call, const void* context) {
    // The loop before has no task left, so no thread can take one between these lines: it would have to change the
    // ticket, which says that there is none.
    call_ = call;
    context_ = context;
    left_ = count;
    thrown_ = nullptr;
    ticket_ = Ticket::make(++loop_, count);
    ticket_.notify_all();
    work_on(ticket_);
    for (Index left = left_; left != 0; left = left_) left_.wait(left);
    if (thrown_) std::rethrow_exception(thrown_);
}

/// Takes tasks as long as there are any.
void Pool::work_on(std::uint64_t ticket) {
    while (Ticket::has_tasks(ticket)) {
        const Call call =
            call_;  // of the loop of the ticket, if the exchange succeeds: a loop ends after its last task
        const void* context = context_;
        if (!ticket_.compare_exchange_weak(ticket, ticket + 1)) continue;
        do_task(call, context, Ticket::next(ticket));
        if (left_.fetch_sub(1) == 1) left_.notify_one();
        ticket = ticket_;
    }
}

void Pool::do_task(Call call, const void* context, Index task) noexcept {
    try {
        call(context, task);
    } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!thrown_ || task < thrower_) {
            thrown_ = std::current_exception();
            thrower_ = task;
        }
    }
}

}  // namespace reluflow
