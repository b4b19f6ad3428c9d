#include "codec/frame/frame.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codec/core/byte_reader.h"
#include "codec/core/checked.h"
#include "codec/core/msgpack_markers.h"
#include "codec/core/work_budget.h"
#include "codec/frame/chunk_space.h"
#include "codec/frame/frame_index.h"
#include "codec/frame/frame_part.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/metalayer_content.h"
#include "codec/frame/trailer_layout.h"

namespace framefs::codec {
namespace {

// The betas' trailer has a single chunk of user data.  Here it gets a name.
// Source: codec/FORMAT.md, "Frames of the betas".
constexpr std::size_t kUsermetaLengthAt = 3;
constexpr const char* kUsermetaName = "usermeta";

// Source: frame format, "Index".  Bit 63 of an entry marks a chunk that is not stored; bits 56-58
// are its kind.
constexpr std::uint32_t kSpecialShift = 56;

constexpr std::uint64_t kSpecialZero = 1;
constexpr std::uint64_t kSpecialNan = 2;
constexpr std::uint64_t kSpecialUninit = 4;

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

}  // namespace

Result<Frame> Frame::open_as(FrameType type, const ByteSource& source, const Limits& limits) {
  Frame frame;
  FRAMEFS_CHECK(frame.load_header(type, source, limits));
  FRAMEFS_TRY(const auto trailer_at, frame.load_trailer(source, limits));
  if (frame.nbytes() > 0) FRAMEFS_CHECK(frame.load_index(source, trailer_at, limits));
  frame.data_place_ = DataPlace::of(frame.header_, frame.metalayers_, frame.array_);
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
    array_ = fail_of_part(array_->error(), at);
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
  if (!layers) return fail_of_part(layers.error(), at);
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
  const auto counted =
      header_.has_variable_chunks()
          ? std::nullopt
          : std::optional(div_ceil<std::uint64_t>(header_.nbytes, header_.chunksize));
  FRAMEFS_TRY(index_, StoredIndex::open(source, {*at, trailer_at - *at}, counted, limits));
  return {};
}

Status Frame::read_entries(const ByteSource& source, ChunkIndex first,
                           std::span<std::int64_t> out) const {
  if (!index_ || out.empty()) return {};  // a frame without chunks has no index
  return index_->read(source, first, out);
}

bool Frame::is_zero_entry(std::int64_t entry) const noexcept {
  const auto bits = static_cast<std::uint64_t>(entry) >> kSpecialShift;
  // A chunk that is not there reads as an error, and so does a hole that is read like data.
  if (entry >= 0 || data_place_.lies_elsewhere()) return false;
  return (bits & (kSpecialZero | kSpecialUninit)) != 0;
}

std::uint64_t Frame::memory_bytes() const noexcept {
  std::uint64_t sum = sizeof(*this) + (index_ ? index_->table_bytes() : 0);
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
  FRAMEFS_CHECK(data_place_.check_entry(chunk, entry, fetched));
  if (entry < 0) return special_chunk(chunk, entry);
  FRAMEFS_TRY(const auto stored, find_stored(chunks, chunk, entry));
  const auto [offset, available, file_at] = stored;
  auto opened = Chunk::open(chunks, offset, available, context_, limits);
  if (!opened) return fail_of_part(opened.error(), offset - file_at);
  if (!header_.has_variable_chunks() && opened->nbytes() != chunk_range(chunk).size) {
    return fail_value(Errc::bad_field, "nbytes of the chunk", offset - file_at + 4,
                      opened->nbytes());
  }
  FRAMEFS_CHECK(data_place_.check_opened(*opened, fetched));
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
  if (!header) return fail_of_part(header.error(), offset - file_at);
  return header->nbytes;
}

}  // namespace framefs::codec
