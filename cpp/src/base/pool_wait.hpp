/// Waiting for a word that another thread changes: private part of `pool`. Waking takes about 50 µs, as long as a short
/// loop, so a thread spins for a while before it sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86) || defined(_M_ARM64))
#include <intrin.h>
#endif

namespace reluflow {

/// Tells the processor that the thread is spinning.
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

/// Returns once `word` is no longer `old`: spins for at most `patience`, then sleeps until notified. Between rounds of
/// spinning it yields its core.
template <class Word>
void wait_while(const std::atomic<Word>& word, Word old, std::chrono::nanoseconds patience) noexcept {
    constexpr int kLooks = 64;  // about two microseconds
    const auto until = std::chrono::steady_clock::now() + patience;
    while (word == old && std::chrono::steady_clock::now() < until) {
        for (int look = 0; look < kLooks && word == old; ++look) pause_a_little();
        if (word == old) std::this_thread::yield();
    }
    while (word == old) word.wait(old);
}

}  // namespace reluflow
