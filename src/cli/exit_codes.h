#pragma once

namespace framefs {

// Part of the interface: see README and framefs(1).
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;  // something could not be done, or ended badly
inline constexpr int kExitUsage = 2;    // the command line is wrong

}  // namespace framefs
