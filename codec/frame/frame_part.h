#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "codec/core/byte_source.h"

namespace framefs::codec {

// The header or the trailer of a frame.  Its beginning, which has the directory of metalayers, is
// read once and kept in memory.  Contents may be large, and are read only if a caller asks: a file
// with a hole claims many MiB of contents at no cost.
// Lifetime: `whole` outlives the part.
class FramePart final : public ByteSource {
 public:
  // More than the longest directory takes: 8192 entries of 37 bytes.
  static constexpr std::uint64_t kHeadBytes = 512u << 10;

  // The part is [begin, begin + size) of `whole`.  Errors: errors of `whole`.
  static Result<FramePart> read(const ByteSource& whole, std::uint64_t begin, std::uint64_t size) {
    std::vector<std::byte> head(std::min(size, kHeadBytes));
    FRAMEFS_CHECK(whole.read_at(begin, head));
    return FramePart(whole, begin, size, std::move(head));
  }
  FramePart(FramePart&& other) noexcept
      : head_(std::move(other.head_)), size_(other.size_), whole_(other.whole_), at_(other.at_) {}

  // The first kHeadBytes, or all bytes if there are fewer.
  [[nodiscard]] std::span<const std::byte> head() const noexcept { return head_; }

  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > size_ || out.size() > size_ - offset) {
      return fail(Errc::truncated, "frame part", offset);
    }
    if (offset > head_.size() || out.size() > head_.size() - offset) {
      return whole_.read_at(at_ + offset, out);
    }
    std::copy_n(head_.data() + offset, out.size(), out.data());
    return {};
  }
  // The reads beyond the head are passed on together, which a far source performs at once.
  [[nodiscard]] Status read_ranges(std::span<const Read> reads) const override {
    std::vector<Read> beyond;
    for (const auto& read : reads) {
      const bool is_in_head =
          read.offset <= head_.size() && read.out.size() <= head_.size() - read.offset;
      if (is_in_head || read.offset > size_ || read.out.size() > size_ - read.offset) {
        FRAMEFS_CHECK(read_at(read.offset, read.out));
      } else {
        beyond.push_back({at_ + read.offset, read.out});
      }
    }
    return beyond.empty() ? Status{} : whole_.read_ranges(beyond);
  }
  [[nodiscard]] Result<std::uint64_t> size() const override { return size_; }
  [[nodiscard]] bool is_far() const noexcept override { return whole_.is_far(); }

 private:
  FramePart(const ByteSource& whole, std::uint64_t begin, std::uint64_t size,
            std::vector<std::byte> head)
      : head_(std::move(head)), size_(size), whole_(whole), at_(begin) {}

  std::vector<std::byte> head_;
  const std::uint64_t size_;
  const ByteSource& whole_;
  const std::uint64_t at_;
};

}  // namespace framefs::codec
