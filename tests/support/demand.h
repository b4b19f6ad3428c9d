#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace framefs::test {

// The filters of a chunk and of a frame, in the formats since 2.0.
inline constexpr std::size_t kFilterSlots = 6;

// Ends the program where a test asks a builder for something that the format cannot say.
inline void demand(bool rule, const char* what) {
  if (rule) return;
  std::fprintf(stderr, "builder: %s\n", what);
  std::abort();
}

}  // namespace framefs::test
