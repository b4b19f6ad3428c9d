#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace framefs::fs {

// Bytes to be written at one offset of a frame.
struct WritePiece {
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
};

// Cuts a write into steps that touch a bounded number of chunks.  A request of a mebibyte may touch
// a million chunks of a byte each.  Between the steps, other threads get the frame, and chunks can
// be stored to make room.
// Lifetime: the pieces outlive it.
class WriteSteps {
 public:
  static constexpr std::uint64_t kMaxChunks = 4096;

  // `chunksize` is the size of the frame's chunks.  Unit: bytes.
  WriteSteps(std::span<const WritePiece> pieces, std::uint64_t chunksize) noexcept
      : left_(pieces), chunksize_(chunksize) {}

  // The pieces of the next step; none after the last one.
  std::vector<WritePiece> next();

 private:
  std::span<const WritePiece> left_;
  std::uint64_t done_ = 0;  // the bytes of the first piece that earlier steps have
  const std::uint64_t chunksize_;
};

}  // namespace framefs::fs
