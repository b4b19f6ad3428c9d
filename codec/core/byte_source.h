#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/result.h"
#include "codec/core/units.h"

namespace framefs::codec {

// Random access to stored bytes: a file, memory, or a test double that fails on purpose.
// Threads: every member may be called from any number of threads at once.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Fills all of `out` with the bytes at `offset`, or fails.
  // Errors: truncated where the source ends before `out` does (`at` = offset); system.
  virtual Status read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;

  // One of several reads that are asked for together.
  struct Read {
    std::uint64_t offset = 0;
    std::span<std::byte> out;
  };
  // All of `reads`, as read_at() each; a source for which that is quicker brings them at once.
  // Errors: the first one that hit; what `out` holds is then unspecified.
  virtual Status read_ranges(std::span<const Read> reads) const {
    for (const auto& read : reads) FRAMEFS_CHECK(read_at(read.offset, read.out));
    return {};
  }

  // Whether a read may take as long as a network takes.  Shared threads, such as those that decode,
  // then do not read: their caller reads all stored bytes before, by one read_ranges().
  [[nodiscard]] virtual bool is_far() const noexcept { return false; }

  // Says that these ranges will be read soon, one after the other.  A far source brings them now,
  // all at once, so that the reads need not wait for a round trip each; others do nothing.
  virtual void expect(std::span<const ByteRange> ranges) const { static_cast<void>(ranges); }

  // The current size in bytes.  It may change between calls if other processes write to the file.
  virtual Result<std::uint64_t> size() const = 0;

  // The number of bytes from `offset` to the end of the file that contains it.  For most sources
  // this is the end of the source; a source made of several files returns the end of one of them.
  virtual Result<std::uint64_t> available_from(std::uint64_t offset) const {
    FRAMEFS_TRY(const auto all, size());
    return all - std::min(all, offset);
  }
};

// A window [begin, begin + size) of another source, presented as a source of its own.  It reads a
// frame that is embedded in a file, and it keeps the reader of one chunk within that chunk.
// Lifetime: `whole` outlives the window.
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
  Status read_ranges(std::span<const Read> reads) const override;
  [[nodiscard]] bool is_far() const noexcept override { return whole_.is_far(); }
  void expect(std::span<const ByteRange> ranges) const override;
  Result<std::uint64_t> size() const override { return size_; }

 private:
  const ByteSource& whole_;
  const std::uint64_t begin_;
  const std::uint64_t size_;
};

// Bytes in memory as a source.  Lifetime: `bytes` outlives the source.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  Result<std::uint64_t> size() const override { return bytes_.size(); }

 private:
  const std::span<const std::byte> bytes_;
};

}  // namespace framefs::codec
