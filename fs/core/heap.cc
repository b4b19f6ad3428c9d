#include "fs/core/heap.h"

#include <malloc.h>

namespace framefs::fs {
namespace {

// Small things are allocated briefly and rarely at the same time: two heaps keep threads apart.
constexpr int kHeaps = 2;
// From this size on, memory is a mapping of its own, which goes when it is freed.  Stated, it also no
// longer rises to the largest size that was ever freed.
constexpr int kMappedBytes = 64 << 10;
// How much may lie idle at the end of a heap, so that it need not shrink and grow all the time.
constexpr int kIdleBytes = 4 << 20;

}  // namespace

void keep_heap_small() noexcept {
  ::mallopt(M_ARENA_MAX, kHeaps);
  ::mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  ::mallopt(M_TRIM_THRESHOLD, kIdleBytes);
}

}  // namespace framefs::fs
