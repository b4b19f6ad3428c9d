#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/units.h"
#include "tests/support/bytes.h"

namespace framefs::test {

// Doubles of ByteSource that record, fail or lie.  Threads: one at a time, unlike real sources.

// Records every read.  Lifetime: `whole` outlives the source.
class RecordingSource final : public codec::ByteSource {
 public:
  explicit RecordingSource(const codec::ByteSource& whole) : whole_(whole) {}

  codec::Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    reads_.push_back({offset, out.size()});
    return whole_.read_at(offset, out);
  }
  codec::Result<std::uint64_t> size() const override { return whole_.size(); }
  codec::Result<std::uint64_t> available_from(std::uint64_t offset) const override {
    return whole_.available_from(offset);
  }

  [[nodiscard]] const std::vector<codec::ByteRange>& reads() const { return reads_; }
  void forget() { reads_.clear(); }

  [[nodiscard]] std::uint64_t bytes_read() const {
    std::uint64_t sum = 0;
    for (const auto& read : reads_) sum += read.size;
    return sum;
  }

  // Whether every read is inside one of the `allowed` ranges.
  [[nodiscard]] bool stayed_within(std::span<const codec::ByteRange> allowed) const {
    return std::ranges::all_of(reads_, [&](const codec::ByteRange& read) {
      return std::ranges::any_of(allowed, [&](const codec::ByteRange& range) {
        return read.offset >= range.offset && read.offset + read.size <= range.offset + range.size;
      });
    });
  }

 private:
  const codec::ByteSource& whole_;
  mutable std::vector<codec::ByteRange> reads_;
};

// Fails one read (the first is 1) with Errc::system and EIO; all other reads succeed.
// Lifetime: `whole` outlives the source.
class FailingSource final : public codec::ByteSource {
 public:
  FailingSource(const codec::ByteSource& whole, int failing_read)
      : whole_(whole), countdown_(failing_read) {}

  codec::Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (--countdown_ == 0) {
      return std::unexpected(
          codec::Error{.kind = codec::Errc::system, .field = "read", .at = offset, .sys = EIO});
    }
    return whole_.read_at(offset, out);
  }
  codec::Result<std::uint64_t> size() const override { return whole_.size(); }
  codec::Result<std::uint64_t> available_from(std::uint64_t offset) const override {
    return whole_.available_from(offset);
  }

  [[nodiscard]] bool has_failed() const { return countdown_ <= 0; }

 private:
  const codec::ByteSource& whole_;
  mutable int countdown_;
};

// Claims any size, and has zeros where no bytes were given, like an untrusted sparse file.  The
// largest read shows how much memory the reader was ready to allocate.  Lifetime: `head` outlives
// the source.
class VastSource final : public codec::ByteSource {
 public:
  VastSource(std::span<const std::byte> head, std::uint64_t claimed)
      : head_(head), claimed_(claimed) {}

  codec::Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > claimed_ || out.size() > claimed_ - offset) {
      return codec::fail(codec::Errc::truncated, "vast source", offset);
    }
    largest_read_ = std::max(largest_read_, out.size());
    std::ranges::fill(out, std::byte{0});
    if (offset < head_.size()) {
      const auto there = head_.subspan(offset);
      std::ranges::copy(there.first(std::min(there.size(), out.size())), out.begin());
    }
    return {};
  }
  codec::Result<std::uint64_t> size() const override { return claimed_; }

  [[nodiscard]] std::size_t largest_read() const { return largest_read_; }

 private:
  const std::span<const std::byte> head_;
  const std::uint64_t claimed_;
  mutable std::size_t largest_read_ = 0;
};

}  // namespace framefs::test
