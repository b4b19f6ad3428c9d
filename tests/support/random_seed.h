#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace framefs::test {

// A new seed for each run, which a test prints with CAPTURE.  FRAMEFS_SEED repeats a run.
inline std::uint32_t random_seed() {
  const char* const given = std::getenv("FRAMEFS_SEED");
  if (given != nullptr) return static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
  return std::random_device{}();
}

// A 32-bit number, like the sizes in headers.  The generator's result type is wider on some
// systems.
inline std::uint32_t draw(std::mt19937& random) { return static_cast<std::uint32_t>(random()); }

}  // namespace framefs::test
