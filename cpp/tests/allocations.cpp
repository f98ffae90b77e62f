/// The linker sends every malloc of the program's own objects here (--wrap), operator new is replaced by the one below.
/// Unlike a malloc of our own this leaves the sanitizers' in place.
#include "allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> count{0};
}

extern "C" {
void* __real_malloc(std::size_t size);
void* __real_calloc(std::size_t number, std::size_t size);
void* __real_realloc(void* block, std::size_t size);
void* __real_aligned_alloc(std::size_t alignment, std::size_t size);
int __real_posix_memalign(void** block, std::size_t alignment, std::size_t size);

void* __wrap_malloc(std::size_t size) {
    ++count;
    return __real_malloc(size);
}

void* __wrap_calloc(std::size_t number, std::size_t size) {
    ++count;
    return __real_calloc(number, size);
}

void* __wrap_realloc(void* block, std::size_t size) {
    ++count;
    return __real_realloc(block, size);
}

void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
    ++count;
    return __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void** block, std::size_t alignment, std::size_t size) {
    ++count;
    return __real_posix_memalign(block, alignment, size);
}
}

void* operator new(std::size_t size) {
    void* block = std::malloc(size > 0 ? size : 1);  // counted there
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

// What the standard library asks for where it can do without, as in std::stable_sort.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return std::malloc(size > 0 ? size : 1);
}

void operator delete(void* block) noexcept {
    std::free(block);
}

void operator delete(void* block, std::size_t) noexcept {
    std::free(block);
}

namespace reluflow::tests {

long allocations() noexcept {
    return count.load();
}

}  // namespace reluflow::tests
