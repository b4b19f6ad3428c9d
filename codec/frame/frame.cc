#include "codec/frame/frame.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_reader.h"
#include "codec/core/checked.h"
#include "codec/core/msgpack_markers.h"
#include "codec/core/work_budget.h"
#include "codec/frame/chunk_space.h"
#include "codec/frame/frame_index.h"
#include "codec/frame/frame_part.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/trailer_layout.h"

namespace framefs::codec {
namespace {

// The betas' trailer has a single chunk of user data.  Here it gets a name.
// Source: codec/FORMAT.md, "Frames of the betas".
constexpr std::size_t kUsermetaLengthAt = 3;
constexpr const char* kUsermetaName = "usermeta";

// Source: frame format, "Index".  Bit 63 of an entry marks a chunk that is not stored; bits 56-58
// are its kind.
constexpr std::uint8_t kIndexTypesize = 8;
constexpr std::uint32_t kSpecialShift = 56;

// Limits of an index in memory and time.  The reference library makes blocks of 32 KiB to 4 MiB
// (stune.c), so its longest index has 65,000 blocks.
constexpr std::uint64_t kMaxIndexBlockBytes = 16u << 20;
constexpr std::uint64_t kMaxIndexTableBytes = 1u << 20;
// Larger tables of an index are not kept while a frame is open.
constexpr std::uint64_t kKeptIndexBytes = 64u << 10;
// Entries that are decoded and kept together, at least.
constexpr std::uint64_t kMinWindowEntries = 8192;
constexpr std::uint64_t kSpecialZero = 1;
constexpr std::uint64_t kSpecialNan = 2;
constexpr std::uint64_t kSpecialUninit = 4;

std::unexpected<Error> from_frame_start(Error error, std::uint64_t structure_at) {
  if (error.kind != Errc::system) error.at += structure_at;
  return std::unexpected(error);
}

std::uint64_t index_entry_at(ChunkIndex chunk) { return chunk.value * kIndexEntryBytes; }

// Parses the trailer of a beta: a version, then an optional chunk of user data.  As a directory of
// metalayers, it has one entry or none.  Offsets of errors count from the trailer's start.
Result<std::vector<Metalayer>> parse_beta_usermeta(std::span<const std::byte> head,
                                                   std::uint64_t trailer_bytes,
                                                   std::uint64_t trailer_at) {
  ByteReader in(head);
  FRAMEFS_TRY([[maybe_unused]] const auto before, in.take(kUsermetaLengthAt, "usermeta"));
  FRAMEFS_TRY(const auto length, in.be<std::uint32_t>("usermeta length"));
  const auto at = in.position();
  if (length > trailer_bytes - at) return fail(Errc::truncated, "usermeta", at);
  if (length == 0) return std::vector<Metalayer>{};
  return std::vector{Metalayer{kUsermetaName, {trailer_at + at, length}}};
}

// Each content in a trailer, which begins at `trailer_at`, is a chunk.
Status check_vlmetalayers(const ByteSource& trailer, std::uint64_t trailer_at,
                          const std::vector<Metalayer>& layers) {
  std::vector<std::array<std::byte, kExtendedHeaderBytes>> heads(layers.size());
  std::vector<ByteSource::Read> reads;
  reads.reserve(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& [at, size] = layers[i].content;
    const auto head = std::span(heads[i]).first(std::min<std::uint64_t>(size, heads[i].size()));
    reads.push_back({at - trailer_at, head});
  }
  FRAMEFS_CHECK(trailer.read_ranges(reads));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& [at, size] = layers[i].content;
    const auto chunk = parse_chunk_header(reads[i].out, size);
    if (!chunk) return from_frame_start(chunk.error(), at);
    if (chunk->cbytes != size) {
      return fail_value(Errc::bad_field, "cbytes of a vl-metalayer", at + 12, chunk->cbytes);
    }
  }
  return {};
}

}  // namespace

Result<Frame> Frame::open_as(FrameType type, const ByteSource& source, const Limits& limits) {
  Frame frame;
  FRAMEFS_CHECK(frame.load_header(type, source, limits));
  FRAMEFS_TRY(const auto trailer_at, frame.load_trailer(source, limits));
  if (frame.nbytes() > 0) FRAMEFS_CHECK(frame.load_index(source, trailer_at, limits));
  frame.find_place_of_data();
  return frame;
}

Status Frame::load_header(FrameType type, const ByteSource& source, const Limits& limits) {
  FRAMEFS_TRY(const auto source_bytes, source.size());
  std::array<std::byte, kFrameFixedHeaderBytes> fixed{};
  const auto head = std::span(fixed).first(std::min<std::uint64_t>(fixed.size(), source_bytes));
  FRAMEFS_CHECK(source.read_at(0, head));
  FRAMEFS_TRY(header_, parse_frame_header(head));
  if (header_.type != type) {
    return fail_value(Errc::bad_field, "frame type", 26, static_cast<std::int64_t>(header_.type));
  }
  if (header_.frame_len > source_bytes) {
    return fail_value(Errc::truncated, "frame_len", 16,
                      static_cast<std::int64_t>(header_.frame_len));
  }
  if (header_.header_len > limits.frame_header_bytes) {
    return fail_value(Errc::over_limit, "header_len", 11, header_.header_len);
  }
  FRAMEFS_TRY(const auto whole, FramePart::read(source, 0, header_.header_len));
  FRAMEFS_TRY(metalayers_, parse_metalayers(whole, header_.metalayers_at(), 0, kMaxMetalayers));
  return load_array_meta(whole, limits);
}

// `header` is the complete header, including the metalayers.
Status Frame::load_array_meta(const ByteSource& header, const Limits& limits) {
  context_.schunk_typesize = header_.typesize;
  const auto* layer = find_array_layer(metalayers_);
  if (layer == nullptr) return {};
  const auto [at, size] = layer->content;
  if (size > limits.array_meta_bytes) {
    array_ = fail_value(Errc::over_limit, "array metalayer", at, static_cast<std::int64_t>(size));
    return {};
  }
  std::vector<std::byte> content(size);
  FRAMEFS_CHECK(header.read_at(at, content));
  array_ = parse_array_meta(content);
  if (!*array_) {
    array_ = from_frame_start(array_->error(), at);
    return {};
  }
  context_.block_shape = BlockShape{.ndim = (*array_)->ndim, .dims = (*array_)->blockshape};
  return {};
}

// Returns the offset of the trailer.
Result<std::uint64_t> Frame::load_trailer(const ByteSource& source, const Limits& limits) {
  std::array<std::byte, kTrailerTailBytes> tail{};
  const std::uint64_t tail_at = header_.frame_len - kTrailerTailBytes;
  FRAMEFS_CHECK(source.read_at(tail_at, tail));
  FRAMEFS_TRY(const auto trailer_len, parse_trailer_length(tail, tail_at, header_.header_len));
  if (trailer_len > limits.frame_trailer_bytes) {
    return fail_value(Errc::over_limit, "trailer_len", tail_at + 1, trailer_len);
  }
  // Without chunks, the trailer follows the header immediately, whatever follows the trailer.
  const std::uint64_t at =
      header_.nbytes > 0 ? header_.frame_len - trailer_len : header_.header_len;
  FRAMEFS_TRY(const auto trailer, FramePart::read(source, at, trailer_len));
  auto layers = header_.layout == FrameLayout::beta
                    ? parse_beta_usermeta(trailer.head(), trailer_len, at)
                    : parse_metalayers(trailer, kTrailerMapAt, at, kMaxVlMetalayers);
  if (!layers) return from_frame_start(layers.error(), at);
  FRAMEFS_CHECK(check_vlmetalayers(trailer, at, *layers));
  vlmetalayers_ = std::move(*layers);
  FRAMEFS_TRY(seal_, seal_of(trailer));
  return at;
}

Status Frame::load_index(const ByteSource& source, std::uint64_t trailer_at, const Limits& limits) {
  // The chunks of a sparse frame are in other files.
  const auto at = header_.type == FrameType::sparse
                      ? header_.header_len
                      : checked_add<std::uint64_t>(header_.header_len, header_.cbytes);
  if (!at || *at >= trailer_at) {
    return fail_value(Errc::bad_field, "compressed_size", 39,
                      static_cast<std::int64_t>(header_.cbytes));
  }
  index_at_ = *at;
  index_available_ = trailer_at - *at;
  FRAMEFS_TRY(auto opened, open_index(source, limits));
  const Chunk* const index = &opened;
  if (index->header().typesize != kIndexTypesize) {
    return fail_value(Errc::bad_field, "typesize of the index", *at + 3, index->header().typesize);
  }
  const std::uint64_t entries = index->nbytes() / kIndexEntryBytes;
  chunk_count_ = header_.has_variable_chunks()
                     ? entries
                     : div_ceil<std::uint64_t>(header_.nbytes, header_.chunksize);
  if (entries == 0 || index->nbytes() % kIndexEntryBytes != 0 || entries != chunk_count_) {
    return fail_value(Errc::bad_field, "nbytes of the index", *at + 4, index->nbytes());
  }
  if (opened.body() == ChunkBody::blocks) {
    const auto block = div_ceil<std::uint64_t>(opened.header().blocksize, kIndexEntryBytes);
    window_entries_ = block * std::max<std::uint64_t>(kMinWindowEntries / block, 1);
  } else {
    window_entries_ = kMinWindowEntries;
  }
  if (opened.memory_bytes() <= kKeptIndexBytes) index_ = std::move(opened);
  return {};
}

// An index is decoded in pieces, and its tables are kept while the frame is open.  A few bytes of a
// file must not make the pieces or the tables large.
Result<Chunk> Frame::open_index(const ByteSource& source, const Limits& limits) const {
  Limits own = limits;
  own.block_bytes = std::min<std::uint64_t>(limits.block_bytes, kMaxIndexBlockBytes);
  own.chunk_table_bytes = std::min<std::uint64_t>(limits.chunk_table_bytes, kMaxIndexTableBytes);
  auto index =
      Chunk::open(source, index_at_, index_available_, {.schunk_typesize = kIndexTypesize}, own);
  if (!index) return from_frame_start(index.error(), index_at_);
  if (index->header().vl_blocks) {
    return fail(Errc::unsupported, "variable-length blocks of the index", index_at_);
  }
  return index;
}

Status Frame::read_entries(const ByteSource& source, ChunkIndex first,
                           std::span<std::int64_t> out) const {
  if (out.empty()) return {};  // a frame without chunks has no index
  std::optional<Chunk> reopened;
  if (!index_) {
    FRAMEFS_TRY(reopened, open_index(source, Limits{}));
    if (reopened->nbytes() != chunk_count_ * kIndexEntryBytes) {
      return fail_value(Errc::bad_field, "nbytes of the index", index_at_ + 4, reopened->nbytes());
    }
  }
  FRAMEFS_CHECK(spend_work(out.size_bytes()));
  const auto stored = std::as_writable_bytes(out);
  ChunkReader reader(source, index_ ? *index_ : *reopened);
  if (const auto read = reader.read(index_entry_at(first), stored); !read) {
    return from_frame_start(read.error(), index_at_);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = load_le<std::int64_t>(stored.data() + i * kIndexEntryBytes);
  }
  return {};
}

bool Frame::is_zero_entry(std::int64_t entry) const noexcept {
  const auto bits = static_cast<std::uint64_t>(entry) >> kSpecialShift;
  // A chunk that is not there reads as an error, and so does a hole that is read like data.
  if (entry >= 0 || lies_elsewhere()) return false;
  return (bits & (kSpecialZero | kSpecialUninit)) != 0;
}

std::uint64_t Frame::memory_bytes() const noexcept {
  std::uint64_t sum = sizeof(*this) + (index_ ? index_->memory_bytes() : 0);
  for (const auto* layers : {&metalayers_, &vlmetalayers_}) {
    for (const auto& layer : *layers) sum += sizeof(layer) + layer.name.capacity();
  }
  if (array_ && *array_) sum += (*array_)->dtype.capacity();
  return sum;
}

ByteRange Frame::chunk_range(ChunkIndex chunk) const {
  const std::uint64_t begin = chunk.value * header_.chunksize;
  return {begin, std::min<std::uint64_t>(header_.chunksize, header_.nbytes - begin)};
}

Result<Frame::StoredChunk> Frame::find_stored(const ByteSource& chunks, ChunkIndex chunk,
                                              std::int64_t entry) const {
  const auto bad_entry = [&] {
    return fail_value(Errc::bad_field, "index entry", index_entry_at(chunk), entry);
  };
  if (header_.type == FrameType::sparse) {
    const auto id = static_cast<std::uint64_t>(entry);
    if (id > kMaxChunkFileId) return bad_entry();
    const std::uint64_t file_at = chunk_file_at(static_cast<std::uint32_t>(id));
    FRAMEFS_TRY(const auto available, chunks.available_from(file_at));
    return StoredChunk{file_at, available, file_at};
  }
  if (std::cmp_greater_equal(entry, header_.cbytes)) return bad_entry();
  const auto offset = static_cast<std::uint64_t>(entry);
  return StoredChunk{header_.header_len + offset, header_.cbytes - offset, 0};
}

Result<Chunk> Frame::special_chunk(ChunkIndex chunk, std::int64_t entry) const {
  if (header_.has_variable_chunks()) {
    // Neither the frame nor the entry has the size of such a chunk.
    return fail_value(Errc::bad_field, "special index entry in a frame of varying chunks",
                      index_entry_at(chunk), entry);
  }
  FRAMEFS_TRY(const auto special, special_of(chunk, entry));
  const auto nbytes = static_cast<std::uint32_t>(chunk_range(chunk).size);
  return Chunk::make_special(special, nbytes, header_.typesize);
}

Result<Special> Frame::special_of(ChunkIndex chunk, std::int64_t entry) const {
  const auto bits = static_cast<std::uint64_t>(entry) >> kSpecialShift;
  // The reference library tests the bits in this order.
  if ((bits & kSpecialZero) != 0) return Special::zero;
  if ((bits & kSpecialUninit) != 0) return Special::uninit;
  if ((bits & kSpecialNan) != 0) return Special::nan;
  return fail_value(Errc::bad_field, "special index entry", index_entry_at(chunk), entry);
}

Result<Chunk> Frame::open_chunk(const ByteSource& chunks, ChunkIndex chunk, std::int64_t entry,
                                const Limits& limits, const FetchedBlocks* fetched) const {
  FRAMEFS_CHECK(check_place_of(chunk, entry, fetched));
  if (entry < 0) return special_chunk(chunk, entry);
  FRAMEFS_TRY(const auto stored, find_stored(chunks, chunk, entry));
  const auto [offset, available, file_at] = stored;
  auto opened = Chunk::open(chunks, offset, available, context_, limits);
  if (!opened) return from_frame_start(opened.error(), offset - file_at);
  if (!header_.has_variable_chunks() && opened->nbytes() != chunk_range(chunk).size) {
    return fail_value(Errc::bad_field, "nbytes of the chunk", offset - file_at + 4,
                      opened->nbytes());
  }
  FRAMEFS_CHECK(check_kind_of(*opened, fetched));
  return opened;
}

Result<std::uint32_t> Frame::read_chunk_nbytes(const ByteSource& chunks, ChunkIndex chunk,
                                               std::int64_t entry) const {
  if (entry < 0) {
    FRAMEFS_TRY(const auto special, special_chunk(chunk, entry));
    return special.nbytes();
  }
  // Decoding this many bytes takes about as long as a system call.
  constexpr std::uint64_t kUnitsPerHeader = 256;
  FRAMEFS_CHECK(spend_work(kUnitsPerHeader));
  FRAMEFS_TRY(const auto stored, find_stored(chunks, chunk, entry));
  const auto [offset, available, file_at] = stored;
  std::array<std::byte, kExtendedHeaderBytes> buffer{};
  const auto head = std::span(buffer).first(std::min<std::uint64_t>(available, buffer.size()));
  FRAMEFS_CHECK(chunks.read_at(offset, head));
  const auto header = parse_chunk_header(head, available);
  if (!header) return from_frame_start(header.error(), offset - file_at);
  return header->nbytes;
}

Result<std::vector<std::byte>> Frame::read_metalayer(const ByteSource& source,
                                                     const Metalayer& layer) {
  std::vector<std::byte> content(layer.content.size);
  FRAMEFS_CHECK(source.read_at(layer.content.offset, content));
  return content;
}

Result<std::vector<std::byte>> Frame::read_vlmetalayer(const ByteSource& source,
                                                       const Metalayer& layer,
                                                       const Limits& limits) {
  const auto [at, size] = layer.content;
  const auto chunk = Chunk::open(source, at, size, {}, limits);
  if (!chunk) return from_frame_start(chunk.error(), at);
  if (chunk->nbytes() > limits.vlmeta_bytes) {
    return fail_value(Errc::over_limit, "nbytes of a vl-metalayer", at + 4, chunk->nbytes());
  }
  std::vector<std::byte> content(chunk->nbytes());
  if (const auto read = ChunkReader(source, *chunk).read(0, content); !read) {
    return from_frame_start(read.error(), at);
  }
  return content;
}

}  // namespace framefs::codec
