#include "fs/core/resources/heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <memory>

namespace framefs::fs {
namespace {

// Small objects are allocated briefly, and rarely by several threads at once. Two heaps are enough
// to keep threads apart.
constexpr int kHeaps = 2;
// The idle memory that a heap may keep at its end, so that the heap does not shrink and grow all
// the time.
constexpr int kIdleBytes = 4 << 20;
// To look for idle pages takes milliseconds, so it is done rarely.
constexpr std::size_t kFreedBytes = 16u << 20;

// Advises the kernel about the pages that lie in the memory as a whole.  If the kernel does not
// know the advice, or cannot follow it, the memory works as well.
void advise(std::span<std::byte> memory, int advice) noexcept {
  void* begin = memory.data();
  std::size_t size = memory.size();
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (std::align(page, page, begin, size) == nullptr) return;
  ::madvise(begin, size - size % page, advice);
}

}  // namespace

void keep_heap_small() noexcept {
  ::mallopt(M_ARENA_MAX, kHeaps);
  // To set the threshold also fixes it: by default, it rises to the largest size ever freed.
  ::mallopt(M_MMAP_THRESHOLD, static_cast<int>(kMappedBytes));
  ::mallopt(M_TRIM_THRESHOLD, kIdleBytes);
}

void note_freed_small(std::size_t size) noexcept {
  // The heaps belong to the process, and so does the count.  No other data depends on it.
  static std::atomic<std::size_t> freed{0};
  if (freed.fetch_add(size, std::memory_order_relaxed) + size < kFreedBytes) return;
  if (freed.exchange(0, std::memory_order_relaxed) >= kFreedBytes) {
    static_cast<void>(::malloc_trim(0));
  }
}

void prefer_large_pages(std::span<std::byte> memory) noexcept { advise(memory, MADV_HUGEPAGE); }

void provide_pages(std::span<std::byte> memory) noexcept { advise(memory, MADV_POPULATE_WRITE); }

}  // namespace framefs::fs
