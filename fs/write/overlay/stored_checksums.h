#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/result.h"
#include "codec/frame/chunk_checksums.h"
#include "codec/frame/frame_header.h"
#include "codec/frame/metalayer.h"
#include "fs/core/threads/guarded.h"

namespace framefs::fs {

// The checksums of the chunks of a frame that is being written, by index entry.  A frame that has
// checksums when it is opened for writing has them after each commit.  The checksum of a chunk is
// made from the bytes that this process stores; that of a chunk that is only moved stays as it was,
// so that damage is never given a new checksum.
// Threads: any number.
class StoredChecksums {
 public:
  // Makes the frame one that has checksums.  `known` has one for each entry.
  void keep(std::span<const std::int64_t> entries, std::span<const codec::ChunkChecksum> known);
  [[nodiscard]] bool are_kept() const noexcept { return are_kept_.load(std::memory_order_acquire); }

  // The functions below do nothing, or return nothing, if the frame has no checksums.

  // `chunk` was stored under `entry`.
  void note(std::int64_t entry, std::span<const std::byte> chunk);
  // The chunk of `from` was copied to `to`.
  void copy(std::int64_t from, std::int64_t to);
  void forget(std::int64_t entry);
  [[nodiscard]] codec::ChunkChecksum of(std::int64_t entry) const;
  [[nodiscard]] std::vector<codec::ChunkChecksum> of(std::span<const std::int64_t> entries) const;

  // Errors: those of codec::verify_chunk().
  [[nodiscard]] codec::Status verify(const codec::ByteSource& chunks,
                                     const codec::FrameHeader& header, std::int64_t entry) const;

  // Encodes the trailer of a state of the frame, with checksums if the frame has them.  `known` has
  // one for each of `entries`, or is empty where the frame has none.
  // Errors: those of encoding.
  [[nodiscard]] codec::Result<std::vector<std::byte>> encode_trailer(
      std::span<const codec::NamedContent> vlmetalayers, std::span<const std::int64_t> entries,
      std::span<const codec::ChunkChecksum> known) const;

 private:
  std::atomic<bool> are_kept_{false};  // set before the frame is changed
  Guarded<std::unordered_map<std::int64_t, codec::ChunkChecksum>> by_entry_;
};

}  // namespace framefs::fs
