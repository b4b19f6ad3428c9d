#include "fs/core/threads/thread_annotations.h"

extern "C" {
void __tsan_acquire(void* address);         // NOLINT: the sanitizer's own names
void __tsan_release(void* address);         // NOLINT
const char* __tsan_default_suppressions();  // NOLINT

// libtbb clears its own memory through the sanitizer's memset().  The sanitizer then reports a race
// between threads that used that memory one after the other.
const char* __tsan_default_suppressions() { return "called_from_lib:libtbb.so"; }  // NOLINT
}

namespace framefs::fs {

void annotate_acquire(void* address) noexcept { __tsan_acquire(address); }
void annotate_release(void* address) noexcept { __tsan_release(address); }

}  // namespace framefs::fs
