#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/chunk/chunk_context.h"
#include "codec/chunk/chunk_header.h"
#include "codec/core/byte_sink.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/core/units.h"
#include "codec/frame/chunk_scan.h"
#include "codec/frame/frame_writer.h"

namespace framefs::codec {

// The origin of the chunk order of a salvaged frame.
enum class SalvageOrder : std::uint8_t {
  index,          // from the frame's own index
  earlier_index,  // from an index chunk, perhaps of an earlier commit
  file,           // from the offsets; that of the data if no program inserted or moved chunks
  incomplete,     // the same, but the chunks are not all of the data
  unknown,        // by offset, but the file is not in writing order
};

// One chunk of the new frame.
struct SalvagedEntry {
  std::optional<ByteRange> stored;  // in the source of chunks
  Special special = Special::none;  // of a chunk that is not stored
  bool is_lost = false;             // the new frame has zeros in its place
  std::uint32_t nbytes = 0;
  // Whether the new frame cannot have the stored bytes as they are: blocks of them cannot be
  // decoded, or only Blosc1 writes such a chunk.
  bool is_encoded_anew = false;
  std::vector<ByteRange> lost{};  // the ranges of its decoded bytes that become zeros
};

// The recoverable parts of a damaged frame.
struct SalvagePlan {
  FrameParams params;
  std::vector<SalvagedEntry> entries;
  SalvageOrder order = SalvageOrder::unknown;
  bool has_header = false;                     // the fixed header could be read
  bool has_metalayers = false;                 // the directory of metalayers could be read
  bool has_trailer = false;                    // the vl-metalayers could be read, if there are any
  std::optional<std::uint64_t> header_nbytes;  // the size of the data by the header
  std::uint64_t index_at = 0;                  // where the index was found, if `order` is from one
  ChunkContext context;                        // of the stored chunks, and
  Limits limits;                               // within which they are decoded
  std::uint64_t left_out =
      0;  // valid chunks without a place in the new frame: dead, or of unknown use

  [[nodiscard]] std::uint64_t nbytes() const noexcept;
  // Whether nothing is lost: neither data nor metalayers nor the order of the chunks.
  [[nodiscard]] bool is_whole() const;
  // The decoded bytes of the new frame that were lost, adjacent ones joined.
  [[nodiscard]] std::vector<ByteRange> lost() const;
};

// Called with the bytes that were searched, or written, so far.  Returns false to end the work.
using SalvageProgress = ScanProgress;

// Looks for chunks, index chunks and metalayers in `file`, the file of a contiguous frame.  A chunk
// is valid if all its blocks decode, or if this build lacks its codec.  Where the frame's own index
// or a chunk file says that a chunk begins, and for the chunk in which a truncated file ends, one
// block that decodes is enough.
// Errors: bad_field if there is no chunk, unless the header says that the frame has none;
// unsupported for frames that FrameWriter cannot write; system, EINTR, if `progress` ended the
// search; those of the source.
Result<SalvagePlan> plan_salvage(const ByteSource& file, const Limits& limits,
                                 const SalvageProgress& progress);

// The same for a sparse frame: `chunks` holds its chunk files, whose numbers are `ids`, ascending.
Result<SalvagePlan> plan_sparse_salvage(const ByteSource& index_file, const ByteSource& chunks,
                                        std::span<const std::uint32_t> ids, const Limits& limits,
                                        const SalvageProgress& progress);

// Writes a contiguous frame as planned, and returns its length.
// Errors: those of source, sink and FrameWriter; system, EINTR, if `progress` ended the work.
Result<std::uint64_t> write_salvaged(const SalvagePlan& plan, const ByteSource& chunks,
                                     ByteSink& sink, const SalvageProgress& progress);

}  // namespace framefs::codec
