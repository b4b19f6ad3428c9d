#pragma once

#include <cstdint>

#include "codec/core/byte_sink.h"

namespace framefs {

// A sink that appends to an open pipe, terminal or file.  A gap between two writes is filled with
// zeros.  Threads: one.  Lifetime: the descriptor outlives it.
class StreamSink final : public codec::ByteSink {
 public:
  explicit StreamSink(int fd) noexcept : fd_(fd) {}

  // `offset` must not be below the end of the last write.  Errors: internal if it is; system.
  codec::Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override;
  codec::Status sync() override { return {}; }
  // Adds zeros up to `size`.
  codec::Status truncate(std::uint64_t size) override;

 private:
  codec::Status append(std::span<const std::byte> bytes);

  const int fd_;
  std::uint64_t end_ = 0;
};

}  // namespace framefs
