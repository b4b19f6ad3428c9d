#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "codec/core/byte_source.h"
#include "fs/net/cache/range_scheduler.h"

namespace framefs::net {

// One version of an object as the codec's source of bytes.
// Errors, of all reads: system, with ESTALE, once the server has another version of the object.
// Threads: any number.
class RemoteFile final : public codec::ByteSource {
 public:
  // Lifetime: `scheduler` outlives it.
  RemoteFile(RangeScheduler& scheduler, std::shared_ptr<const RemoteObject> object,
             FetchAhead ahead = FetchAhead::in_stored_order)
      : scheduler_(scheduler), object_(std::move(object)), ahead_(ahead) {
    scheduler_.attach(object_);
  }
  RemoteFile(const RemoteFile&) = delete;
  RemoteFile& operator=(const RemoteFile&) = delete;
  ~RemoteFile() override { scheduler_.release(object_); }

  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  [[nodiscard]] Status read_ranges(std::span<const Read> reads) const override;
  [[nodiscard]] bool is_far() const noexcept override { return true; }
  void expect(std::span<const ByteRange> now, std::span<const ByteRange> next) const override;
  [[nodiscard]] Result<std::uint64_t> size() const override { return object_->version().size; }

  [[nodiscard]] const ObjectVersion& version() const { return object_->version(); }

  // A read within the last kTailBytes fetches all of them, because they hold a frame's trailer and
  // index.
  static constexpr std::uint64_t kTailBytes = 64 << 10;
  // The range of these bytes in an object of `size` bytes.
  static ByteRange tail_of(std::uint64_t size) {
    const auto bytes = std::min(size, kTailBytes);
    return {size - bytes, bytes};
  }

 private:
  RangeScheduler& scheduler_;
  const std::shared_ptr<const RemoteObject> object_;
  const FetchAhead ahead_;
};

}  // namespace framefs::net
