#pragma once

#include <cstdint>

#include "codec/core/byte_sink.h"

namespace framefs {

// Compares written bytes with a file instead of storing them.  Ranges that are not written count as
// zeros.
// Threads: one.  Lifetime: the descriptor outlives it.
class CompareSink final : public codec::ByteSink {
 public:
  // Compares with the bytes of the file from `begin` on.
  CompareSink(int fd, std::uint64_t begin) noexcept : fd_(fd), begin_(begin) {}

  // Offsets ascend.  Errors: checksum if the file has other bytes; system.
  codec::Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override;
  codec::Status sync() override { return {}; }
  // Errors: also checksum if the file has another size.
  codec::Status truncate(std::uint64_t size) override;

 private:
  codec::Status expect_zeros_until(std::uint64_t offset);

  const int fd_;
  const std::uint64_t begin_;
  std::uint64_t end_ = 0;
};

}  // namespace framefs
