#pragma once

namespace framefs {

// The exit codes are part of the interface: see framefs(1).
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;  // an operation failed
inline constexpr int kExitUsage = 2;    // the command line is wrong

}  // namespace framefs
