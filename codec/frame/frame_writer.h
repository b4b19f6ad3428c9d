#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/chunk/chunk_header.h"
#include "codec/chunk/encode_params.h"
#include "codec/core/byte_sink.h"
#include "codec/core/result.h"
#include "codec/frame/chunk_checksums.h"
#include "codec/frame/frame_header.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {

// Parameters of a new frame.
struct FrameParams {
  EncodeParams encode;          // for its chunks; stored in the header for later writers
  std::uint32_t chunksize = 0;  // decoded size of each chunk except the last; not 0
  std::vector<NamedContent> metalayers{};
  std::vector<NamedContent> vlmetalayers{};  // plain contents; stored as chunks
  bool checksums = false;                    // see chunk_checksums.h
};

// The header of such a frame without chunks.  The lengths are left at 0.
FrameHeader frame_header_for(const EncodeParams& params, std::uint32_t chunksize, FrameType type);

// The destination of the chunk files of a sparse frame.
class ChunkFiles {
 public:
  ChunkFiles() = default;
  ChunkFiles(const ChunkFiles&) = delete;
  ChunkFiles& operator=(const ChunkFiles&) = delete;
  virtual ~ChunkFiles() = default;

  // Creates file `id` with the bytes of `chunk`.  Errors: no_space, system.
  virtual Status write(std::uint32_t id, std::span<const std::byte> chunk) = 0;
};

// Encodes a complete contiguous frame that has no chunks.
// Errors: bad_field for a chunk size of 0 or bad parameters; errors of the metalayers.
// Source: frame format.
Result<std::vector<std::byte>> encode_empty_frame(const FrameParams& params);

// Writes a new frame, from its first chunk to its last.  The sink holds no valid frame before
// finish() succeeds.  After an error, the writer refuses all further use (internal).
// Threads: one.  Lifetime: sink and files outlive the writer.
// Source: frame format, also "Sparse frames".
class FrameWriter {
 public:
  // A contiguous frame that starts at the sink's first byte.
  // Errors: bad_field for a chunk size of 0 or bad parameters; errors of the metalayers.
  static Result<FrameWriter> create(ByteSink& sink, const FrameParams& params);
  // A sparse frame: `index` becomes the file that holds everything except the chunks.  Files are
  // numbered without gaps, because readers ignore numbers that are not below the sum of the chunks'
  // sizes.
  static Result<FrameWriter> create_sparse(ByteSink& index, ChunkFiles& files,
                                           const FrameParams& params);

  // Whether a frame with items of `typesize` bytes can have this stored chunk: with a header of 32
  // bytes, blocks of one size, and no bytes that an index entry stands for.
  [[nodiscard]] static bool takes(const ChunkHeader& chunk, std::uint32_t typesize) noexcept;

  // Appends a stored chunk: the complete result of ChunkPlan::assemble(), or a chunk of another
  // frame.
  // Errors: bad_field if the bytes are not a chunk, if the chunk is larger than chunksize, follows
  // a chunk shorter than chunksize, or is of a kind that belongs in the index; over_limit; errors
  // of the sink.
  Status append_chunk(std::span<const std::byte> chunk);
  // Appends a chunk that is only an index entry: zeros, NaNs or uninitialised bytes.
  // Errors: as append_chunk(); bad_field for a repeated value.
  Status append_special(Special rule, std::uint32_t nbytes);

  // Writes the index, the trailer and, last, the header.  Truncates the sink to the frame's length
  // and syncs it.  Returns that length.
  Result<std::uint64_t> finish();

  // Decoded and stored bytes so far.
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return header_.nbytes; }
  [[nodiscard]] std::uint64_t cbytes() const noexcept { return header_.cbytes; }

 private:
  FrameWriter(ByteSink& sink, ChunkFiles* files) noexcept : sink_(&sink), files_(files) {}
  static Result<FrameWriter> make(ByteSink& sink, ChunkFiles* files, const FrameParams& params);
  [[nodiscard]] Status refuse_if_broken() const;
  [[nodiscard]] Status admit(std::uint64_t nbytes) const;
  void note(std::int64_t entry, std::uint64_t nbytes, const ChunkChecksum& checksum);
  Status put_chunk(std::span<const std::byte> chunk);
  Result<std::uint64_t> write_end();

  ByteSink* sink_;
  ChunkFiles* files_;  // null for a contiguous frame
  FrameHeader header_;
  std::vector<std::byte> head_;             // fixed part, completed by finish(), and metalayers
  std::vector<NamedContent> vlmetalayers_;  // contents as chunks
  bool has_checksums_ = false;
  std::vector<std::int64_t> entries_;
  std::vector<ChunkChecksum> checksums_;  // of the chunks, if the frame has checksums
  std::uint32_t stored_chunks_ = 0;
  bool is_broken_ = false;  // broken or finished
};

}  // namespace framefs::codec
