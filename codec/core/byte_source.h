#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/result.h"

namespace framefs::codec {

// Random access to stored bytes: a file, memory, a test double that fails on purpose.
// Threads: every member may be called from any number of threads at once.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Fills `out` with the bytes from `offset` on, all of it or nothing.
  // Errors: truncated where the source ends before `out` does (`at` = offset); system.
  virtual Status read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;

  // How many bytes there are now.  A file that others write to may answer differently later.
  virtual Result<std::uint64_t> size() const = 0;

  // How many bytes there are from `offset` to the end of the piece of storage that it lies in: of the
  // whole, unless the source is made up of several.
  virtual Result<std::uint64_t> available_from(std::uint64_t offset) const {
    FRAMEFS_TRY(const auto all, size());
    return all - std::min(all, offset);
  }
};

// A window [begin, begin + size) of another source, as a source of its own: how a frame that is
// embedded in a file is read, and how a reader of one chunk is kept inside it.
// Lifetime: `whole` outlives it.
class ByteWindow final : public ByteSource {
 public:
  ByteWindow(const ByteSource& whole, std::uint64_t begin, std::uint64_t size) noexcept
      : whole_(whole), begin_(begin), size_(size) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > size_ || out.size() > size_ - offset) {
      return fail(Errc::truncated, "byte window", offset);
    }
    return whole_.read_at(begin_ + offset, out);
  }
  Result<std::uint64_t> size() const override { return size_; }

 private:
  const ByteSource& whole_;
  const std::uint64_t begin_;
  const std::uint64_t size_;
};

// Bytes in memory as a source.  Lifetime: `bytes` outlives it.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  Result<std::uint64_t> size() const override { return bytes_.size(); }

 private:
  const std::span<const std::byte> bytes_;
};

}  // namespace framefs::codec
