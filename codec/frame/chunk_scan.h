#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_context.h"
#include "codec/chunk/chunk_header.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/core/units.h"

namespace framefs::codec {

// A valid chunk that was found without an index.
struct FoundChunk {
  ByteRange stored;  // its place in the source
  ChunkHeader header;
  bool is_decoded = false;  // false if this build lacks the codec or a filter
  // Whether it was found where a chunk begins for certain: see readable_chunk_at().
  bool has_certain_place = false;
  std::vector<ByteRange> lost{};  // the ranges of its decoded bytes that cannot be decoded
};

// A range of a chunk's decoded bytes that cannot be decoded.
struct DamagedRange {
  ByteRange range;
  Error error;
};

// Takes decoded bytes, which begin at byte `at` of the chunk.
using TakeDecoded = std::function<void(std::uint64_t at, std::span<const std::byte> bytes)>;

// Decodes each block of a chunk on its own and passes its bytes to `take`, which may be empty.
// Returns the ranges that cannot be decoded, with adjacent ones joined.  A special chunk has none,
// and its bytes are not passed.
std::vector<DamagedRange> decode_each_block(const ByteSource& source, const Chunk& chunk,
                                            const TakeDecoded& take);

// Decodes every block of a chunk, without keeping the bytes.
// Errors: those of Chunk and ChunkReader, with offsets from the chunk's start.
Status decode_whole_chunk(const ByteSource& source, std::uint64_t at, std::uint64_t available,
                          const ChunkContext& context, const Limits& limits);

// Returns the chunk at `at`, if it is valid.  Chunks have no magic number, so a chunk is valid only
// if it decodes.  A chunk whose codec or filter this build lacks is accepted.
std::optional<FoundChunk> sound_chunk_at(const ByteSource& source, std::uint64_t at,
                                         std::uint64_t available, const ChunkContext& context,
                                         const Limits& limits);

// Returns the chunk at `at`, a place where a chunk begins for certain, if it has `nbytes` decoded
// bytes (any number if that is 0) and some of them can be decoded.  Unlike sound_chunk_at(), it
// accepts chunks with damaged blocks, and chunks of Blosc1, whose headers prove too little.
std::optional<FoundChunk> readable_chunk_at(const ByteSource& source, std::uint64_t at,
                                            std::uint64_t available, std::uint32_t nbytes,
                                            const ChunkContext& context, const Limits& limits);

// Called with the bytes scanned so far.  Returns false to end the scan.
using ScanProgress = std::function<bool(std::uint64_t done)>;

// The error of a scan that the caller ended: system, EINTR.
std::unexpected<Error> scan_ended() noexcept;

// Returns all valid chunks from `begin` on, in file order, without chunks inside other chunks.  A
// chunk that decodes is one even where it overlaps a chunk that only its header proves.
// Errors: scan_ended(); those of the source.
Result<std::vector<FoundChunk>> scan_for_chunks(const ByteSource& file, std::uint64_t begin,
                                                const ChunkContext& context, const Limits& limits,
                                                const ScanProgress& progress);

}  // namespace framefs::codec
