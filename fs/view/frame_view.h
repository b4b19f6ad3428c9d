#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "codec/frame/chunk_begins.h"
#include "codec/frame/frame.h"
#include "fs/core/file.h"
#include "fs/core/log.h"
#include "fs/read/block_fetcher.h"
#include "fs/read/decode_cache.h"
#include "fs/read/read_result.h"

namespace framefs::fs {

// What all views of a mount share.  Lifetime: all of it outlives every view.
struct ReadServices {
  const codec::Limits& limits;
  BufferPool& buffers;
  DecodeCache& cache;
  BlockFetcher& blocks;
  Log& log;
};

// The decoded bytes of one state of one contiguous frame.  When the file changes, a new view is
// made. A frame that cannot be opened has a view as well, whose every read fails with the reason.
// Threads: any number.
class FrameView {
 public:
  // `state_id` is the CacheKey::file of this state of this file; `name` is for the log.
  FrameView(std::shared_ptr<const FileSource> source, std::uint64_t state_id, std::string name,
            const ReadServices& services);

  // False where every read will fail.
  [[nodiscard]] bool is_readable() const noexcept { return frame_.has_value(); }
  // Decoded bytes [offset, offset + size), less where the frame ends before.
  // Errors: those of every chunk and block that the range touches.
  Result<ReadResult> read(std::uint64_t offset, std::uint64_t size) const;

 private:
  struct Plan;
  Result<std::int64_t> index_entry(ChunkIndex chunk) const;
  Result<std::shared_ptr<const codec::ChunkBegins>> chunk_begins() const;
  Result<std::shared_ptr<const codec::Chunk>> chunk(const codec::ChunkBegins::Place& place) const;
  Status plan_chunk(Plan& plan, const codec::ChunkBegins::Place& place, ByteRange wanted) const;
  Status plan_by_rule(Plan& plan, const codec::Chunk& chunk, ByteRange wanted) const;
  Status fill_gaps(Plan& plan) const;
  void log_failure(const Error& error, std::optional<ChunkIndex> chunk) const;

  const std::shared_ptr<const FileSource> source_;
  const std::uint64_t state_id_;
  const std::string name_;
  const ReadServices services_;
  const Result<codec::Frame> frame_;
};

}  // namespace framefs::fs
