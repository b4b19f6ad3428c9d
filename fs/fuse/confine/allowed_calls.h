#pragma once

#include <cstdint>
#include <span>

namespace framefs::fuse {

// The system calls that the sandbox allows whatever their arguments are (system_call_filter.h).
//
// They are names, not numbers, and those of all architectures: x86-64 has open(2) beside openat(2),
// and arm64 has only the latter.  A call thus stands here together with the one that the C library
// makes in its place.

// Those of every mount.
std::span<const char* const> common_calls();
// Those on files of a local SOURCE.
std::span<const char* const> local_file_calls();
// Those of a SOURCE that is a URL.
std::span<const char* const> network_calls();

// Which argument of clone(2) holds its flags, counted from 0.  `architecture` is one of seccomp(2).
unsigned position_of_clone_flags(std::uint32_t architecture);

}  // namespace framefs::fuse
