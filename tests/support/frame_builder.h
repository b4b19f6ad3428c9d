#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/chunk_builder.h"

namespace framefs::test {

// One entry of a frame's index: a stored chunk, or a rule that only the index has.
struct FrameChunk {
  Bytes stored;                        // a chunk from build_chunk(); empty for a rule
  std::optional<SpecialKind> special;  // zero, nan or uninit
  std::uint32_t nbytes = 0;            // decoded size
};

FrameChunk stored_chunk(std::span<const std::byte> data, const ChunkSpec& spec);
FrameChunk index_only_chunk(SpecialKind kind, std::uint32_t nbytes);

struct Metalayer {
  std::string name;
  Bytes content;
};

// How the index chunk is stored.  `value` needs all entries to be equal.
enum class IndexForm : std::uint8_t { memcpyed, blosclz, zstd, value };

struct FrameSpec {
  std::vector<FrameChunk> chunks;
  std::uint32_t chunksize = 0;  // 0: chunks of any size
  std::uint32_t blocksize = 0;
  std::uint32_t typesize = 4;
  Codec codec = Codec::lz4;  // announced in the header; each chunk has its own
  int level = 5;
  std::vector<Filter> filters;
  std::vector<Metalayer> metalayers;
  std::vector<Metalayer> vlmetalayers;  // plain contents; stored as memcpyed chunks
  IndexForm index = IndexForm::memcpyed;
  std::size_t dead_bytes_before_chunks = 0;  // as an update leaves them
};

// A frame and the offsets of its parts, so that a test can damage a single field.  Units: bytes
// from the frame's start.
struct BuiltFrame {
  Bytes bytes;
  std::size_t header_bytes = 0;
  std::vector<std::size_t> chunk_at;  // of each entry; 0 if nothing is stored
  std::size_t index_at = 0;           // of the trailer if there are no chunks
  std::size_t trailer_at = 0;
};

// The numbers in the fixed part of the header that depend on the frame's content.
struct FrameNumbers {
  std::uint64_t nbytes = 0;       // decoded size
  std::uint64_t cbytes = 0;       // of the chunks section, or of the chunk files of a sparse frame
  std::uint64_t frame_bytes = 0;  // of the frame, or of the index file of a sparse frame
  bool is_sparse = false;
};

// Source: frame format.
BuiltFrame build_frame(const FrameSpec& spec);

// The same for any header and trailer.  The header from `header_of` must have the same length for
// all numbers.
using HeaderOf = std::function<Bytes(const FrameNumbers&)>;
BuiltFrame assemble_frame(const FrameSpec& spec, const HeaderOf& header_of, const Bytes& trailer);

// Aborts the process if the chunks do not match the spec, because the test is then wrong.
void check_chunks(const FrameSpec& spec);

// The parts of a frame, for a writer that streams chunks to a file.

// The header; its length depends only on the metalayers.
Bytes build_frame_header(const FrameSpec& spec, const FrameNumbers& numbers);

// The index entry of a chunk that stores no data.
std::int64_t special_index_entry(SpecialKind kind);

// The index chunk.  `entries` are offsets from the end of the header, or rules.
Bytes build_index_chunk(std::span<const std::int64_t> entries, IndexForm form);

Bytes build_trailer(std::span<const Metalayer> vlmetalayers);

// Appends a directory of metalayers: the names with the offsets of their contents, then the
// contents.  Offsets are counted from the start of `to`, the size of the directory from
// `size_counts_from`.
void append_metalayers(Bytes& to, std::span<const Metalayer> layers, std::size_t size_counts_from);

}  // namespace framefs::test
