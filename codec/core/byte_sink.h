#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/result.h"

namespace framefs::codec {

// A destination for bytes: a file, memory, or a test double that tears, drops or refuses writes.
// Threads: any number of threads may call write_at() at once, on ranges that do not overlap.  The
// other members need one thread at a time, and no write_at() in progress.
class ByteSink {
 public:
  ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;
  virtual ~ByteSink() = default;

  // Stores all of `bytes` at `offset`, which may be beyond the end: the gap then reads as zeros.
  // Errors: no_space, system; part of the bytes may then be stored.
  virtual Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;

  // Returns once all earlier writes would survive a loss of power.  Errors: system.
  virtual Status sync() = 0;

  // Sets the size to `size` bytes.  Errors: system.
  virtual Status truncate(std::uint64_t size) = 0;
};

}  // namespace framefs::codec
