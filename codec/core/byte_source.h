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
  [[nodiscard]] virtual Status read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;

  // One of the reads of a read_ranges().
  struct Read {
    std::uint64_t offset = 0;
    std::span<std::byte> out;
  };
  // Performs all of `reads`, each as by read_at().  A source may fetch their bytes concurrently.
  // Errors: that of one failed read; the content of all `out` is then unspecified.
  [[nodiscard]] virtual Status read_ranges(std::span<const Read> reads) const {
    for (const auto& read : reads) FRAMEFS_CHECK(read_at(read.offset, read.out));
    return {};
  }

  // Whether a read may wait for a network.  Shared threads, such as those that decode, must not
  // read from such a source: their caller reads all stored bytes first, by one read_ranges().
  [[nodiscard]] virtual bool is_far() const noexcept { return false; }

  // Announces that the ranges of `now` are about to be read, one after the other, and then probably
  // those of `next`, in this order.  A far source fetches the first at once, so that the reads do
  // not wait for a round trip each, and of the others as much as it has room for.  Other sources do
  // nothing.
  virtual void expect(std::span<const ByteRange> now, std::span<const ByteRange> next) const {
    static_cast<void>(now);
    static_cast<void>(next);
  }

  // The current size in bytes.  It may change between calls if other processes write to the file.
  [[nodiscard]] virtual Result<std::uint64_t> size() const = 0;

  // The number of bytes from `offset` to the end of the file that contains it.  For most sources
  // this is the end of the source; a source made of several files returns the end of one of them.
  [[nodiscard]] virtual Result<std::uint64_t> available_from(std::uint64_t offset) const {
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

  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > size_ || out.size() > size_ - offset) {
      return fail(Errc::truncated, "byte window", offset);
    }
    return whole_.read_at(begin_ + offset, out);
  }
  [[nodiscard]] Status read_ranges(std::span<const Read> reads) const override;
  [[nodiscard]] bool is_far() const noexcept override { return whole_.is_far(); }
  void expect(std::span<const ByteRange> now, std::span<const ByteRange> next) const override;
  [[nodiscard]] Result<std::uint64_t> size() const override { return size_; }

 private:
  const ByteSource& whole_;
  const std::uint64_t begin_;
  const std::uint64_t size_;
};

// Bytes in memory as a source.  Lifetime: `bytes` outlives the source.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  [[nodiscard]] Result<std::uint64_t> size() const override { return bytes_.size(); }

 private:
  const std::span<const std::byte> bytes_;
};

}  // namespace framefs::codec
