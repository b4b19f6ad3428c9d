#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/core/byte_source.h"
#include "fs/write/array_packer.h"

namespace framefs::fs {

// The bytes of a .npy file that have to be decoded, for the packer.  Chunks of an array share
// blocks of the frame: the rows of chunks side by side are decoded once, into memory, if they are
// not too large.
// Threads: as ArrayItems.  Lifetime: `file` outlives it.
class WindowItems final : public ArrayItems {
 public:
  explicit WindowItems(const codec::ByteSource& file) : file_(file) {}

  Result<bool> prepare(codec::ByteRange range) override;
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t size) const {
    return offset >= begin_ && size <= window_.size() && offset - begin_ <= window_.size() - size;
  }

  const codec::ByteSource& file_;
  std::vector<std::byte> window_;
  std::uint64_t begin_ = 0;
};

}  // namespace framefs::fs
