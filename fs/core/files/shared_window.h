#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "codec/core/byte_source.h"
#include "codec/core/units.h"

namespace framefs::fs {

// A codec::ByteWindow that keeps its source alive.
class SharedWindow final : public codec::ByteSource {
 public:
  SharedWindow(std::shared_ptr<const codec::ByteSource> whole, codec::ByteRange range)
      : whole_(std::move(whole)), window_(*whole_, range.offset, range.size) {}

  [[nodiscard]] codec::Status read_at(std::uint64_t offset,
                                      std::span<std::byte> out) const override {
    return window_.read_at(offset, out);
  }
  [[nodiscard]] codec::Status read_ranges(std::span<const Read> reads) const override {
    return window_.read_ranges(reads);
  }
  [[nodiscard]] bool is_far() const noexcept override { return window_.is_far(); }
  void expect(std::span<const codec::ByteRange> now,
              std::span<const codec::ByteRange> next) const override {
    window_.expect(now, next);
  }
  [[nodiscard]] codec::Result<std::uint64_t> size() const override { return window_.size(); }

 private:
  const std::shared_ptr<const codec::ByteSource> whole_;
  const codec::ByteWindow window_;
};

}  // namespace framefs::fs
