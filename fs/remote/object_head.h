#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/core/byte_source.h"

namespace framefs::fs {

// The first bytes of an object.  It notes which of them were read, and whether a reader asked for
// bytes behind them.  Threads: one.
class ObjectHead final : public codec::ByteSource {
 public:
  // `size` is that of the object.
  ObjectHead(std::shared_ptr<const std::vector<std::byte>> bytes, std::uint64_t size)
      : bytes_(std::move(bytes)), size_(size) {}

  codec::Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset <= bytes_->size() && out.size() <= bytes_->size() - offset) {
      std::ranges::copy(std::span(*bytes_).subspan(offset, out.size()), out.begin());
      used_ = std::max<std::uint64_t>(used_, offset + out.size());
      return {};
    }
    is_short_ = is_short_ || offset + out.size() <= size_;
    return codec::fail(codec::Errc::truncated, "head", offset);
  }
  codec::Result<std::uint64_t> size() const override { return size_; }
  [[nodiscard]] bool is_short() const { return is_short_; }
  // The bytes up to the last one that was read.
  [[nodiscard]] std::span<const std::byte> used() const { return std::span(*bytes_).first(used_); }

 private:
  const std::shared_ptr<const std::vector<std::byte>> bytes_;
  const std::uint64_t size_;
  mutable bool is_short_ = false;
  mutable std::uint64_t used_ = 0;
};

}  // namespace framefs::fs
