#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/result.h"

namespace framefs::codec {

// Bytes to be stored: a file, memory, a test double that tears, drops and refuses.
// Threads: write_at() from any number at once, on ranges that do not overlap; the others by one
// thread while no write is under way.
class ByteSink {
 public:
  ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;
  virtual ~ByteSink() = default;

  // Stores all of `bytes` from `offset` on, beyond the end too: what lies between reads as zeros.
  // Errors: no_space, system; some of the bytes may then be stored.
  virtual Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;

  // Returns when all that was written before would outlast a loss of power.  Errors: system.
  virtual Status sync() = 0;

  // Makes `size` the end.  Errors: system.
  virtual Status truncate(std::uint64_t size) = 0;
};

}  // namespace framefs::codec
