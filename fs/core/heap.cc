#include "fs/core/heap.h"

#include <malloc.h>

namespace framefs::fs {
namespace {

// Small objects are allocated briefly, and rarely by several threads at once. Two heaps are enough
// to keep threads apart.
constexpr int kHeaps = 2;
// An allocation of this size or more gets a mapping of its own, which is unmapped when it is freed.
// Setting the threshold also fixes it: by default, it rises to the largest size ever freed.
constexpr int kMappedBytes = 64 << 10;
// The idle memory that a heap may keep at its end, so that the heap does not shrink and grow all
// the time.
constexpr int kIdleBytes = 4 << 20;

}  // namespace

void keep_heap_small() noexcept {
  ::mallopt(M_ARENA_MAX, kHeaps);
  ::mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  ::mallopt(M_TRIM_THRESHOLD, kIdleBytes);
}

}  // namespace framefs::fs
