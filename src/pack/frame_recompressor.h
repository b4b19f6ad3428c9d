#pragma once

#include <cstdint>
#include <optional>

#include "codec/array/array_layout.h"
#include "codec/core/result.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/files/place.h"
#include "fs/core/threads/worker_pool.h"
#include "src/pack/decoded_frame.h"
#include "src/pack/pack_file.h"
#include "src/pack/tree_transfer.h"

namespace framefs {

// The decoded sizes that the user gives.  Without them, a frame keeps the size of its chunks, and
// an array the shapes of chunks and blocks.
struct GivenSizes {
  std::optional<std::uint32_t> chunk;
  std::optional<std::uint32_t> block;
};

// Replaces frames by new ones that have the same content, compressed in another way.
class FrameRecompressor {
 public:
  // Lifetime: all references outlive it.
  FrameRecompressor(const PackOptions& options, const GivenSizes& sizes, fs::WorkerPool& pool,
                    fs::Log& log)
      : options_(options), sizes_(sizes), pool_(pool), log_(log) {}

  // Replaces the frame at `place` by one rename, after the bytes and the metalayers of the new
  // frame were read back and compared.  The new frame has the metalayers of the old one, its shape
  // and type, and checksums if the old one has them; the new file has owner, mode, times and
  // extended attributes of the old one.  A frame without chunks stays.  Returns the sizes of the
  // files.
  // Errors: those of reading and writing and of ReplacementFile; system, for what is no frame in
  // one file, or cannot be kept; checksum if the new frame differs; ESTALE, of the target, if
  // another program has changed the frame meanwhile.  The old frame stays after an error.
  codec::Result<TransferredBytes> recompress(const fs::Place& place) const;

 private:
  codec::Result<std::uint64_t> write(const DecodedFrame& old, codec::ByteSink& sink,
                                     const std::string& name) const;
  codec::Result<std::uint64_t> write_array(const DecodedFrame& old,
                                           const codec::ArrayLayout& layout, FrameLayers layers,
                                           codec::ByteSink& sink, const std::string& name) const;
  codec::Status verify(const DecodedFrame& old, int file, const std::string& name) const;

  const PackOptions& options_;
  const GivenSizes sizes_;
  fs::WorkerPool& pool_;
  fs::Log& log_;
};

}  // namespace framefs
