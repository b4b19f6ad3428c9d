#pragma once

#include <cstdint>

#include "codec/core/byte_sink.h"

namespace framefs {

// An open pipe, terminal or file to which bytes can only be added, as a sink: what lies between two
// writes is written as zeros.  Threads: one.  Lifetime: the descriptor outlives it.
class StreamSink final : public codec::ByteSink {
 public:
  explicit StreamSink(int fd) noexcept : fd_(fd) {}

  // `offset` must not be below the end of what was written.  Errors: also internal, where it is.
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
