#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace framefs::codec {

// Memory that is reused for short-lived bytes.  Threads: one at a time.
class Scratch {
 public:
  // Returns `size` bytes of undefined content, valid until the next call.
  std::span<std::byte> take(std::size_t size) {
    // One unusually large request must not pin its memory for the life of the thread.
    constexpr std::size_t kKeepBytes = 16u << 20;
    if (size > size_ || (size_ > kKeepBytes && size <= kKeepBytes)) {
      bytes_.reset();
      size_ = 0;
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(size);
      size_ = size;
    }
    return {bytes_.get(), size};
  }

  // The memory that it holds.  Units: bytes.
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return size_; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace framefs::codec
