#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "fs/read/decode_cache.h"

namespace framefs::fs {

// Bytes owned by a shared value.
class Bytes {
 public:
  explicit Bytes(std::size_t size)
      : data_(std::make_unique_for_overwrite<std::byte[]>(size)), size_(size) {}

  [[nodiscard]] std::span<std::byte> writable() noexcept { return {data_.get(), size_}; }
  [[nodiscard]] std::span<const std::byte> view() const noexcept { return {data_.get(), size_}; }

 private:
  const std::unique_ptr<std::byte[]> data_;
  const std::size_t size_;
};

// What a read came to: bytes where they lie, without another copy, and what keeps them there.
// Lifetime: the spans are good as long as this object is; destroy it once the reply is sent.
struct ReadResult {
  DecodeCache::Admission admission;  // first, and so given back when the owners have let go
  std::vector<std::span<const std::byte>> spans;
  std::vector<std::shared_ptr<const void>> owners;
};

}  // namespace framefs::fs
