#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "codec/array/array_layout.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "fs/core/resources/idle_pool.h"

namespace framefs::fs {

// The decoded bytes of a frame as a source, for frames that are inside it.  It decodes serially and
// keeps nothing: its callers are the threads that decode the inner frame, which must not wait for
// other threads.
// Threads: any number.
class DecodedSource final : public codec::ByteSource {
 public:
  // `array` is set if the bytes are those of the array in the frame.
  DecodedSource(std::shared_ptr<const codec::ByteSource> source,
                std::shared_ptr<const codec::Frame> frame, std::optional<codec::ArrayLayout> array,
                const codec::Limits& limits)
      : source_(std::move(source)), frame_(std::move(frame)), array_(array), limits_(limits) {}

  codec::Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  codec::Result<std::uint64_t> size() const override;
  [[nodiscard]] bool is_far() const noexcept override { return source_->is_far(); }

 private:
  const std::shared_ptr<const codec::ByteSource> source_;
  const std::shared_ptr<const codec::Frame> frame_;
  const std::optional<codec::ArrayLayout> array_;
  const codec::Limits limits_;
  static constexpr KeptIdle kKeptReaders{.max_bytes = 2u << 20, .max_count = 4};
  mutable IdlePool<codec::FrameReader, kKeptReaders> readers_;
};

}  // namespace framefs::fs
