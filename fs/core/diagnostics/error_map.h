#pragma once

#include <string>

#include "codec/core/error.h"

namespace framefs::fs {

// The errno that a caller of the mount sees. This is the only such table; fs/SEMANTICS.md,
// "Errors", repeats it for users.
int errno_of(const codec::Error& error) noexcept;

// Whether the error says that stored bytes are damaged, or are not supported: another attempt to
// read them fails in the same way.
bool is_damage(const codec::Error& error) noexcept;

// "bad field: cbytes (-1) at byte 1234", for log lines and messages.  The value of a system error
// is the process that holds what the caller waited for, as lock_error() sets it.
std::string describe(const codec::Error& error);

}  // namespace framefs::fs
