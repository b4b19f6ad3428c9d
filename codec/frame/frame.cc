#include "codec/frame/frame.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_reader.h"
#include "codec/core/checked.h"

namespace framefs::codec {
namespace {

// Source: frame format, "Trailer": its length stands at a fixed distance from the frame's end.
constexpr std::uint64_t kTrailerTailBytes = 23;
constexpr std::uint64_t kMinTrailerBytes = 25;
constexpr std::uint8_t kMarkerUint32 = 0xCE;
constexpr std::size_t kTrailerMapAt = 2;

// Source: frame format, "Index": little-endian 64-bit entries; bit 63 marks a chunk that is not
// stored, bits 56-58 say of what kind.
constexpr std::uint64_t kIndexEntryBytes = 8;
constexpr std::uint32_t kSpecialShift = 56;
constexpr std::uint64_t kSpecialZero = 1;
constexpr std::uint64_t kSpecialNan = 2;
constexpr std::uint64_t kSpecialUninit = 4;

std::unexpected<Error> from_frame_start(Error error, std::uint64_t structure_at) {
  if (error.kind != Errc::system) error.at += structure_at;
  return std::unexpected(error);
}

std::uint64_t index_entry_at(ChunkIndex chunk) { return chunk.value * kIndexEntryBytes; }

}  // namespace

Result<Frame> Frame::open(const ByteSource& source, const Limits& limits) {
  FRAMEFS_TRY(const auto source_bytes, source.size());
  Frame frame;
  FRAMEFS_CHECK(frame.load_header(source, source_bytes, limits));
  FRAMEFS_TRY(const auto trailer_at, frame.load_trailer(source, limits));
  if (frame.nbytes() > 0) FRAMEFS_CHECK(frame.load_index(source, trailer_at, limits));
  return frame;
}

Status Frame::load_header(const ByteSource& source, std::uint64_t source_bytes,
                          const Limits& limits) {
  std::array<std::byte, kFrameFixedHeaderBytes> fixed{};
  const auto head = std::span(fixed).first(std::min<std::uint64_t>(fixed.size(), source_bytes));
  FRAMEFS_CHECK(source.read_at(0, head));
  FRAMEFS_TRY(header_, parse_frame_header(head));
  if (header_.type != FrameType::contiguous) {
    return fail(Errc::bad_field, "frame type of a file", 26);
  }
  if (header_.frame_len > source_bytes) {
    return fail_value(Errc::truncated, "frame_len", 16,
                      static_cast<std::int64_t>(header_.frame_len));
  }
  if (header_.header_len > limits.frame_header_bytes) {
    return fail_value(Errc::over_limit, "header_len", 11, header_.header_len);
  }
  std::vector<std::byte> whole(header_.header_len);
  FRAMEFS_CHECK(source.read_at(0, whole));
  FRAMEFS_TRY(metalayers_, parse_metalayers(whole, kFrameFixedHeaderBytes, 0, kMaxMetalayers));
  return {};
}

// Returns where the trailer starts.
Result<std::uint64_t> Frame::load_trailer(const ByteSource& source, const Limits& limits) {
  std::array<std::byte, kTrailerTailBytes> tail{};
  const std::uint64_t tail_at = header_.frame_len - kTrailerTailBytes;
  FRAMEFS_CHECK(source.read_at(tail_at, tail));
  const auto trailer_len = load_be<std::uint32_t>(tail.data() + 1);
  if (std::to_integer<std::uint8_t>(tail[0]) != kMarkerUint32) {
    return fail(Errc::bad_field, "trailer length marker", tail_at);
  }
  if (trailer_len < kMinTrailerBytes || trailer_len > header_.frame_len - header_.header_len) {
    return fail_value(Errc::bad_field, "trailer_len", tail_at + 1, trailer_len);
  }
  if (trailer_len > limits.frame_trailer_bytes) {
    return fail_value(Errc::over_limit, "trailer_len", tail_at + 1, trailer_len);
  }
  // Without chunks the trailer follows the header at once, whatever lies behind it.
  const std::uint64_t at =
      header_.nbytes > 0 ? header_.frame_len - trailer_len : header_.header_len;
  std::vector<std::byte> trailer(trailer_len);
  FRAMEFS_CHECK(source.read_at(at, trailer));
  auto layers = parse_metalayers(trailer, kTrailerMapAt, at, kMaxVlMetalayers);
  if (!layers) return from_frame_start(layers.error(), at);
  for (const auto& layer : *layers) {
    const auto content = std::span(trailer).subspan(layer.content.offset - at, layer.content.size);
    const auto head = content.first(std::min<std::size_t>(content.size(), kExtendedHeaderBytes));
    const auto chunk = parse_chunk_header(head, content.size());
    if (!chunk) return from_frame_start(chunk.error(), layer.content.offset);
    if (chunk->cbytes != content.size()) {
      return fail_value(Errc::bad_field, "cbytes of a vl-metalayer", layer.content.offset + 12,
                        chunk->cbytes);
    }
  }
  vlmetalayers_ = std::move(*layers);
  return at;
}

Status Frame::load_index(const ByteSource& source, std::uint64_t trailer_at, const Limits& limits) {
  constexpr std::uint8_t kIndexTypesize = 8;
  const auto at = checked_add<std::uint64_t>(header_.header_len, header_.cbytes);
  if (!at || *at >= trailer_at) {
    return fail_value(Errc::bad_field, "compressed_size", 39,
                      static_cast<std::int64_t>(header_.cbytes));
  }
  auto index = Chunk::open(source, *at, trailer_at - *at, kIndexTypesize, limits);
  if (!index) return from_frame_start(index.error(), *at);
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
  index_at_ = *at;
  index_ = std::move(*index);
  return {};
}

Status Frame::read_entries(const ByteSource& source, ChunkIndex first,
                           std::span<std::int64_t> out) const {
  if (out.empty()) return {};  // of a frame without chunks, too
  std::vector<std::byte> stored(out.size() * kIndexEntryBytes);
  if (const auto read = ChunkReader(source, *index_).read(index_entry_at(first), stored); !read) {
    return from_frame_start(read.error(), index_at_);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = load_le<std::int64_t>(stored.data() + i * kIndexEntryBytes);
  }
  return {};
}

std::uint64_t Frame::memory_bytes() const noexcept {
  std::uint64_t sum = sizeof(*this) + (index_ ? index_->memory_bytes() : 0);
  for (const auto* layers : {&metalayers_, &vlmetalayers_}) {
    for (const auto& layer : *layers) sum += sizeof(layer) + layer.name.capacity();
  }
  return sum;
}

ByteRange Frame::chunk_range(ChunkIndex chunk) const {
  const std::uint64_t begin = chunk.value * header_.chunksize;
  return {begin, std::min<std::uint64_t>(header_.chunksize, header_.nbytes - begin)};
}

Result<std::uint64_t> Frame::chunk_offset(ChunkIndex chunk, std::int64_t entry) const {
  if (std::cmp_greater_equal(entry, header_.cbytes)) {
    return fail_value(Errc::bad_field, "index entry", index_entry_at(chunk), entry);
  }
  return header_.header_len + static_cast<std::uint64_t>(entry);
}

Result<Chunk> Frame::special_chunk(ChunkIndex chunk, std::int64_t entry) const {
  if (header_.has_variable_chunks()) {
    // Nothing says how long such a chunk is.
    return fail_value(Errc::bad_field, "special index entry in a frame of varying chunks",
                      index_entry_at(chunk), entry);
  }
  const auto bits = static_cast<std::uint64_t>(entry) >> kSpecialShift;
  const auto nbytes = static_cast<std::uint32_t>(chunk_range(chunk).size);
  // In this order, as the reference library tests them.
  if ((bits & kSpecialZero) != 0)
    return Chunk::make_special(Special::zero, nbytes, header_.typesize);
  if ((bits & kSpecialUninit) != 0) {
    return Chunk::make_special(Special::uninit, nbytes, header_.typesize);
  }
  if ((bits & kSpecialNan) != 0) return Chunk::make_special(Special::nan, nbytes, header_.typesize);
  return fail_value(Errc::bad_field, "special index entry", index_entry_at(chunk), entry);
}

Result<Chunk> Frame::open_chunk(const ByteSource& source, ChunkIndex chunk, std::int64_t entry,
                                const Limits& limits) const {
  if (entry < 0) return special_chunk(chunk, entry);
  FRAMEFS_TRY(const auto at, chunk_offset(chunk, entry));
  const std::uint64_t available = header_.cbytes - static_cast<std::uint64_t>(entry);
  auto opened = Chunk::open(source, at, available, header_.typesize, limits);
  if (!opened) return from_frame_start(opened.error(), at);
  if (!header_.has_variable_chunks() && opened->nbytes() != chunk_range(chunk).size) {
    return fail_value(Errc::bad_field, "nbytes of the chunk", at + 4, opened->nbytes());
  }
  return opened;
}

Result<std::uint32_t> Frame::read_chunk_nbytes(const ByteSource& source, ChunkIndex chunk,
                                               std::int64_t entry) const {
  if (entry < 0) {
    FRAMEFS_TRY(const auto special, special_chunk(chunk, entry));
    return special.nbytes();
  }
  FRAMEFS_TRY(const auto at, chunk_offset(chunk, entry));
  const std::uint64_t available = header_.cbytes - static_cast<std::uint64_t>(entry);
  std::array<std::byte, kExtendedHeaderBytes> buffer{};
  const auto head = std::span(buffer).first(std::min<std::uint64_t>(available, buffer.size()));
  FRAMEFS_CHECK(source.read_at(at, head));
  const auto header = parse_chunk_header(head, available);
  if (!header) return from_frame_start(header.error(), at);
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
  const auto chunk = Chunk::open(source, at, size, 0, limits);
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
