#pragma once

// Tells ThreadSanitizer of an order between threads that it cannot see, because a library that is
// not instrumented makes it.  Nothing in any other build.
#ifdef FRAMEFS_TSAN

extern "C" {
void __tsan_acquire(void* address);  // NOLINT: the sanitizer's own names
void __tsan_release(void* address);  // NOLINT
}

namespace framefs::fs {
inline void annotate_acquire(void* address) { __tsan_acquire(address); }
inline void annotate_release(void* address) { __tsan_release(address); }
}  // namespace framefs::fs

#else

namespace framefs::fs {
inline void annotate_acquire(void*) {}
inline void annotate_release(void*) {}
}  // namespace framefs::fs

#endif
