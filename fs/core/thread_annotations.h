#pragma once

// Tells ThreadSanitizer about an order between threads that it cannot see, because the
// synchronisation is in a library without instrumentation. Other builds compile this to nothing.
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
