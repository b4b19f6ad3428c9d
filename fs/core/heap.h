#pragma once

namespace framefs::fs {

// Makes the process give freed memory back to the system, or to whoever needs some next, instead of
// keeping it for the thread that happened to ask for it first: decoded blocks come in all sizes, are
// made by many threads and live long, which in as many heaps leaves holes that no other block fits.
// Of the whole process, and so for a program to call as it starts.
void keep_heap_small() noexcept;

}  // namespace framefs::fs
