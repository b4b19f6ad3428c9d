#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/limits.h"
#include "codec/frame/chunk_checksums.h"
#include "fs/core/threads/guarded.h"
#include "fs/write/commit/frame_backend.h"
#include "fs/write/commit/vlmeta_change.h"
#include "fs/write/overlay/chunk_overlay.h"
#include "fs/write/source_clock.h"

namespace framefs::fs {

// The vl-metalayers of a frame that is being written.  The next commit stores the changes.
//
// Invariant: a frame without chunks has no vl-metalayers that are too large for it.  It has no
// second place for its trailer.
//
// Threads: any number.
class FrameVlmeta {
 public:
  // Lifetime: backend, overlay and clock outlive it.
  FrameVlmeta(const FrameBackend& backend, Shared<ChunkOverlay>& overlay, const SourceClock& clock,
              const codec::Limits& limits)
      : backend_(backend), overlay_(overlay), clock_(clock), limits_(limits) {}

  using Existing = ExistingVlmeta;
  // Without `content`: removes the vl-metalayer.
  // Errors: system: ENODATA, EEXIST, ENAMETOOLONG, ENOSPC for more than other writers accept, EPERM
  // for the checksums.
  Status set(std::string_view name, std::optional<std::span<const std::byte>> content,
             Existing existing);
  // The decoded content; nothing if there is no such vl-metalayer.
  [[nodiscard]] Result<std::optional<std::vector<std::byte>>> content(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;

  // Gives the frame these checksums, one for each chunk, with the next commit.  Call it only while
  // nothing is written.
  // Errors: over_limit if the frame has too many vl-metalayers for one more.
  Status renew_checksums(std::span<const codec::ChunkChecksum> checksums);

  // Whether a commit must store the vl-metalayers before the frame loses its last chunks.
  [[nodiscard]] Result<bool> need_chunks() const;

 private:
  [[nodiscard]] Result<bool> are_large(std::span<const codec::NamedContent> vlmetalayers) const;

  const FrameBackend& backend_;
  Shared<ChunkOverlay>& overlay_;
  const SourceClock& clock_;
  const codec::Limits limits_;
};

}  // namespace framefs::fs
