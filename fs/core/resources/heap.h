#pragma once

#include <cstddef>
#include <span>

namespace framefs::fs {

// After keep_heap_small(), an allocation of this size or more is a mapping of its own, which is
// unmapped when it is freed.  The kernel provides its pages one by one.  Units: bytes.
inline constexpr std::size_t kMappedBytes = 64 << 10;

// Makes the process return freed memory to the system, or reuse it in any thread. By default,
// malloc keeps freed memory for the thread that first allocated it. Decoded blocks have all sizes,
// are allocated by many threads and live long. With one heap per thread, they leave holes that no
// other block fits.
// The setting applies to the whole process, so a program must call this when it starts.
void keep_heap_small() noexcept;

// Asks the system to back this memory, which is about to be written, with large pages where it can.
// To write bytes that lie far apart, as rows of an array do, then takes fewer page faults.
void prefer_large_pages(std::span<std::byte> memory) noexcept;

// Has the system provide the pages of this memory, which is about to be written as a whole.  To
// provide them one by one, at their first use, takes half as long again.
void provide_pages(std::span<std::byte> memory) noexcept;

// To be called when `size` bytes of small objects were freed, where there may be very many of them.
// After some MiB, the process returns idle pages to the system: otherwise a single object at the
// end of a heap keeps all pages of that heap.
// Threads: any number.
void note_freed_small(std::size_t size) noexcept;

}  // namespace framefs::fs
