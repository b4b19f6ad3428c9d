#pragma once

namespace framefs::fs {

// Tells ThreadSanitizer about an order between threads that it cannot see, because the
// synchronisation is in a library without instrumentation: what a thread does before it releases an
// address happens before what another thread does after it acquires that address.  Without
// ThreadSanitizer, the functions do nothing.
// Threads: any number.
void annotate_acquire(void* address) noexcept;
void annotate_release(void* address) noexcept;

}  // namespace framefs::fs
