#pragma once

#include <cstdint>

#include <fuse_lowlevel.h>

namespace framefs::fuse {

// The parts of requests that libfuse does not pass on.
//
// Linux clears the setuid and setgid bits of a file that a user without CAP_FSETID writes to or
// truncates.  The kernel's FUSE does that itself, and asks for the capabilities of the file before
// every write(2): a second request for each write.  It does not ask a server that promises to clear
// the bits, and marks the requests that must clear them.  libfuse 3.14 knows neither the promise
// nor the marks.
// Source: linux/fuse.h, FUSE_HANDLE_KILLPRIV_V2.
//
// Without FUSE_PARALLEL_DIROPS, the kernel sends one lookup in a directory at a time.  libfuse
// before 3.17 has FUSE_CAP_PARALLEL_DIROPS, but does not tell the kernel.
// Source: https://github.com/libfuse/libfuse/pull/861.  Remove it when no supported system has such
// a libfuse.

// Passes a request to libfuse.
void process_request(fuse_session* session, fuse_buf& request);

// To be called by the operation `init`.  Makes the promise if the kernel accepts it.
void promise_to_clear_setid_bits() noexcept;

// To be called by the operation `init`.  Lets the kernel send several lookups in one directory at a
// time, if it can.
void allow_parallel_lookups() noexcept;

// Whether the request that the calling thread processes must clear the bits of its file.
[[nodiscard]] bool must_clear_setid_bits() noexcept;

}  // namespace framefs::fuse
