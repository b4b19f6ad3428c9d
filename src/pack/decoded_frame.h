#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "codec/array/array_layout.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/threads/worker_pool.h"
#include "fs/read/block_fetcher.h"
#include "fs/read/buffer_pool.h"
#include "fs/read/decode_cache.h"
#include "fs/source/frame_origin.h"
#include "fs/view/cached_frame.h"
#include "fs/view/view.h"
#include "fs/view/view_source.h"

namespace framefs {

// The decoded bytes of a frame: those of its array in C order, or of its chunks in sequence.
// Blocks are decoded in parallel, and chunks with a checksum are verified.
// Threads: any number, except those of `pool`.
class DecodedFrame {
 public:
  // Lifetime: `pool` and `log` outlive it.
  DecodedFrame(fs::FrameOrigin origin, fs::WorkerPool& pool, fs::Log& log);

  // Errors: those of opening the frame.
  [[nodiscard]] const codec::Result<codec::Frame>& frame() const noexcept {
    return chunks_->frame();
  }
  [[nodiscard]] const fs::FrameOrigin& origin() const noexcept { return chunks_->origin(); }
  // Errors: those of an array whose frame has not the chunks that it requires.
  [[nodiscard]] codec::Result<std::optional<codec::ArrayLayout>> array() const;

  // The bytes of a frame that could be opened, and whose array() has no error.
  [[nodiscard]] const codec::ByteSource& bytes() const noexcept { return *bytes_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return view_->decoded_bytes(); }
  // The first byte from `offset` on that is no hole; size() if there is none.
  // Errors: those of View::seek().
  [[nodiscard]] codec::Result<std::uint64_t> find_data(std::uint64_t offset) const;

 private:
  const codec::Limits limits_;
  fs::BufferPool buffers_;
  fs::DecodeCache cache_;
  fs::BlockFetcher blocks_;
  const std::shared_ptr<const fs::CachedFrame> chunks_;
  const std::unique_ptr<const fs::View> view_;
  const std::unique_ptr<const codec::ByteSource> bytes_;
};

// Checks that two frames have the same decoded bytes.  Errors: checksum if they differ; those of
// reading them; EINTR if `stop` ended the work.
codec::Status check_same_bytes(const DecodedFrame& one, const DecodedFrame& other,
                               const std::function<bool()>& stop);

}  // namespace framefs
