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

// One entry of a frame's index: a stored chunk, or a rule that stands in the index alone.
struct FrameChunk {
  Bytes stored;                        // a chunk as build_chunk() makes it; empty for a rule
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
  Codec codec = Codec::lz4;  // what the header announces; each chunk says its own
  int level = 5;
  std::vector<Filter> filters;
  std::vector<Metalayer> metalayers;
  std::vector<Metalayer> vlmetalayers;  // contents are plain; they are stored as memcpyed chunks
  IndexForm index = IndexForm::memcpyed;
  std::size_t dead_bytes_before_chunks = 0;  // as an update leaves behind
};

// A frame, and where its parts begin, so that a test can damage one field.  Units: bytes from the
// frame's start.
struct BuiltFrame {
  Bytes bytes;
  std::size_t header_bytes = 0;
  std::vector<std::size_t> chunk_at;  // of each entry; 0 where nothing is stored
  std::size_t index_at = 0;           // where there are no chunks: of the trailer
  std::size_t trailer_at = 0;
};

// What the fixed part of the header says beyond the spec's constants.
struct FrameNumbers {
  std::uint64_t nbytes = 0;       // decoded
  std::uint64_t cbytes = 0;       // of the chunks section; of the chunk files of a sparse frame
  std::uint64_t frame_bytes = 0;  // all of the frame; of a sparse one, of the index file
  bool is_sparse = false;
};

// Source: contiguous frame format.
BuiltFrame build_frame(const FrameSpec& spec);

// The same with any header and trailer: `header_of` makes a header of the same length for all numbers.
using HeaderOf = std::function<Bytes(const FrameNumbers&)>;
BuiltFrame assemble_frame(const FrameSpec& spec, const HeaderOf& header_of, const Bytes& trailer);

// Ends the process where the chunks are not those that the spec announces: a test is wrong then.
void check_chunks(const FrameSpec& spec);

// The parts of a frame one by one, for a writer that streams chunks to a file.

// The header; its length depends on the metalayers alone.
Bytes build_frame_header(const FrameSpec& spec, const FrameNumbers& numbers);

// The index entry of a chunk that is a rule.
std::int64_t special_index_entry(SpecialKind kind);

// The index chunk: `entries` are offsets from the end of the header, or rules.
Bytes build_index_chunk(std::span<const std::int64_t> entries, IndexForm form);

Bytes build_trailer(std::span<const Metalayer> vlmetalayers);

// Appends a directory of metalayers: the names with the places of their contents, then the contents.
// Places are counted from the start of `to`; the size of the names' part from `size_counts_from`.
void append_metalayers(Bytes& to, std::span<const Metalayer> layers, std::size_t size_counts_from);

}  // namespace framefs::test
