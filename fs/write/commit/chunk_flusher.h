#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "codec/chunk/encode_params.h"
#include "fs/core/threads/guarded.h"
#include "fs/read/content_id.h"
#include "fs/write/commit/chunk_writer.h"
#include "fs/write/commit/commit_counters.h"
#include "fs/write/commit/frame_backend.h"
#include "fs/write/commit/write_params.h"
#include "fs/write/overlay/chunk_overlay.h"
#include "fs/write/overlay/overlay_frame.h"

namespace framefs::fs {

// The parts of a session that stores and commits work on.  `overlay_frame` reads `overlay`.
struct WriteParts {
  FrameBackend& backend;
  Shared<ChunkOverlay>& overlay;
  const OverlayFrame& overlay_frame;
  ChunkWriter& chunk_writer;
  ContentIds& content_ids;
  CommitCounters& counters;
};

// How the chunks of a frame are encoded.
struct ChunkEncoding {
  codec::EncodeParams params;
  ChooseParams choose_params;  // set for a new frame, until its first chunk is stored
};

// Stores chunks that the overlay has frozen, without a commit.
//
// Invariant: after each call, every chunk of the call is either stored or dirty again.  The one
// exception is a damaged chunk that was written in part: its bytes can never be stored, and would
// take memory for ever, so they are dropped.
//
// Threads: one at a time, while writers change the overlay.  Lifetime: the parts outlive it.
class ChunkFlusher {
 public:
  ChunkFlusher(const WriteParts& parts, ChunkEncoding encoding)
      : backend_(parts.backend),
        overlay_(parts.overlay),
        overlay_frame_(parts.overlay_frame),
        chunk_writer_(parts.chunk_writer),
        content_ids_(parts.content_ids),
        params_(encoding.params),
        choose_params_(std::move(encoding.choose_params)) {}

  // Errors: those of reading the stored chunks, of encoding and of FrameBackend::write_chunk().
  Status store(std::vector<ChunkOverlay::Frozen> frozen);
  // The error for bytes that were dropped since the last such call.
  std::optional<codec::Error> take_dropped() { return std::exchange(dropped_, std::nullopt); }
  // Whether the last store() has dropped bytes.
  [[nodiscard]] bool has_just_dropped() const noexcept { return has_just_dropped_; }
  // An index entry cannot express zeros whose last item is truncated: the reference library then
  // refuses the chunk, or the frame.  Stores such zeros as chunks, in the first `count` chunks of
  // the overlay, except for a short last chunk, which may still grow.  Errors: as store().
  Status store_truncated_zeros(std::uint64_t count, std::uint64_t nbytes);
  // The same for a short last chunk of a frame of `nbytes`, whose entry is `last`.  Returns the
  // entry of the stored chunk, which the overlay does not have, or nothing if `last` is right.
  Result<std::optional<std::int64_t>> store_last_zeros(std::uint64_t nbytes, std::int64_t last);

 private:
  struct Batch;
  class FrozenChunk;
  using FrozenChunks = std::vector<std::unique_ptr<FrozenChunk>>;
  [[nodiscard]] Batch next_batch(std::span<ChunkOverlay::Frozen> frozen) const;
  [[nodiscard]] Batch next_batch_of_new_frame(std::span<ChunkOverlay::Frozen> frozen) const;
  Status store_batch(const Batch& batch);
  Status choose_params_from(std::span<const ChunkWriter::Job> chunks);
  Status complete_all(FrozenChunks& chunks, std::vector<std::unique_ptr<Bytes>>& buffers,
                      std::span<ChunkWriter::Job> jobs);
  [[nodiscard]] bool are_truncated_zeros(std::int64_t entry, std::uint64_t nbytes) const;
  std::vector<Result<std::int64_t>> store_zeros(std::size_t count, std::uint64_t nbytes);
  void land(FrozenChunk& chunk, const Result<std::int64_t>& stored,
            std::vector<std::int64_t>& replaced);
  void thaw(std::span<const ChunkOverlay::Frozen> frozen);
  [[nodiscard]] std::uint32_t chunksize() const {
    return overlay_.read([](const ChunkOverlay& overlay) { return overlay.chunksize(); });
  }

  // Constant after construction.
  FrameBackend& backend_;
  Shared<ChunkOverlay>& overlay_;
  const OverlayFrame& overlay_frame_;
  ChunkWriter& chunk_writer_;
  ContentIds& content_ids_;
  // Changed by store().
  codec::EncodeParams params_;
  ChooseParams choose_params_;
  std::optional<codec::Error> dropped_;
  bool has_just_dropped_ = false;
};

}  // namespace framefs::fs
