#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/chunk/chunk_header.h"
#include "codec/chunk/encode_params.h"
#include "codec/core/byte_sink.h"
#include "codec/core/result.h"
#include "codec/frame/frame_header.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {

// What a new frame is to be.
struct FrameParams {
  EncodeParams encode;          // of its chunks; the header repeats them for later writers
  std::uint32_t chunksize = 0;  // decoded size of each chunk but the last; not 0
  std::vector<NamedContent> metalayers{};
  std::vector<NamedContent> vlmetalayers{};  // contents as they are; stored as chunks
};

// The header that says so, of a frame without chunks; its lengths are left at 0.
FrameHeader frame_header_for(const EncodeParams& params, std::uint32_t chunksize, FrameType type);

// The chunk files of a sparse frame, by their numbers.
class ChunkFiles {
 public:
  ChunkFiles() = default;
  ChunkFiles(const ChunkFiles&) = delete;
  ChunkFiles& operator=(const ChunkFiles&) = delete;
  virtual ~ChunkFiles() = default;

  // Makes file `id` of these bytes.  Errors: no_space, system.
  virtual Status write(std::uint32_t id, std::span<const std::byte> chunk) = 0;
};

// A contiguous frame without chunks, all of it.
// Errors: bad_field for a chunk size of 0 or bad parameters; those of the metalayers.
// Source: frame format.
Result<std::vector<std::byte>> encode_empty_frame(const FrameParams& params);

// Writes a new frame from its first chunk to its last.  The sink holds no frame before finish(), and
// after an error neither; the object then refuses all further use (internal).
// Threads: one.  Lifetime: sink and files outlive it.
// Source: frame format; sparse frames.
class FrameWriter {
 public:
  // A contiguous frame from the sink's first byte on.
  // Errors: bad_field for a chunk size of 0 or bad parameters; those of the metalayers.
  static Result<FrameWriter> create(ByteSink& sink, const FrameParams& params);
  // A sparse one: `index` becomes the file that holds all but the chunks.  Readers look for no chunk
  // number that is not below the sum of the chunks' sizes, so numbers are given without gaps.
  static Result<FrameWriter> create_sparse(ByteSink& index, ChunkFiles& files,
                                           const FrameParams& params);

  // Appends a stored chunk: all of what ChunkPlan::assemble() or another frame has.
  // Errors: bad_field where it is none, is larger than chunksize, follows a shorter one than that, or
  //   is of a kind that belongs into the index; over_limit; those of the sink.
  Status append_chunk(std::span<const std::byte> chunk);
  // Appends a chunk that only the index knows: zeros, NaNs or uninitialised bytes.
  // Errors: likewise; bad_field for a repeated value.
  Status append_special(Special rule, std::uint32_t nbytes);

  // Writes index, trailer and, after all else, the header; cuts the sink to the frame's length and
  // syncs it.  Returns that length.
  Result<std::uint64_t> finish();

  // Decoded and stored bytes so far.
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return header_.nbytes; }
  [[nodiscard]] std::uint64_t cbytes() const noexcept { return header_.cbytes; }

 private:
  FrameWriter(ByteSink& sink, ChunkFiles* files) noexcept : sink_(&sink), files_(files) {}
  static Result<FrameWriter> make(ByteSink& sink, ChunkFiles* files, const FrameParams& params);
  [[nodiscard]] Status refuse_if_broken() const;
  [[nodiscard]] Status check_chunk(const ChunkHeader& chunk, std::size_t chunk_bytes) const;
  [[nodiscard]] Status admit(std::uint64_t nbytes) const;
  void note(std::int64_t entry, std::uint64_t nbytes);
  Status put_chunk(std::span<const std::byte> chunk);
  Result<std::uint64_t> write_end();

  ByteSink* sink_;
  ChunkFiles* files_;  // null for a contiguous frame
  FrameHeader header_;
  std::vector<std::byte> head_;  // fixed part, to be filled in at the end, and metalayers
  std::vector<std::byte> trailer_;
  bool has_vlmetalayers_ = false;
  std::vector<std::int64_t> entries_;
  std::uint32_t stored_chunks_ = 0;
  bool is_broken_ = false;  // or finished
};

}  // namespace framefs::codec
