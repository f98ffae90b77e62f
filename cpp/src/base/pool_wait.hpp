/// Waiting for a word that another thread changes: private part of `pool`. A sleeping thread comes back after about 50
/// µs, which is as long as a short loop takes, so a thread first looks again and again for a while.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86) || defined(_M_ARM64))
#include <intrin.h>
#endif

namespace reluflow {

/// Tells the processor that the thread does nothing but look.
inline void pause_a_little() noexcept {
#if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
    _mm_pause();
#elif defined(_MSC_VER) && defined(_M_ARM64)
    __yield();
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ __volatile__("yield");
#else
    std::this_thread::yield();
#endif
}

/// Returns once `word` is no longer `old`: looks for at most `patience`, then sleeps until it is notified. Between
/// looks the core goes to any thread that is waiting for it.
template <class Word>
void wait_while(const std::atomic<Word>& word, Word old, std::chrono::nanoseconds patience) noexcept {
    constexpr int kLooks = 64;  // two microseconds or so
    const auto until = std::chrono::steady_clock::now() + patience;
    while (word == old && std::chrono::steady_clock::now() < until) {
        for (int look = 0; look < kLooks && word == old; ++look) pause_a_little();
        if (word == old) std::this_thread::yield();
    }
    while (word == old) word.wait(old);
}

}  // namespace reluflow
