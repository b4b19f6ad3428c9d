#include "fs/inspect/chunk_info.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "codec/frame/chunk_space.h"
#include "fs/inspect/frame_info.h"
#include "fs/source/chunk_files.h"

namespace framefs::fs {
namespace {

// The number of index entries to read at a time: 8 MiB of entries.
constexpr std::uint64_t kEntriesAtOnce = 1u << 20;

// The position of a chunk in the frame's source of chunks, and the number of bytes available there.
struct Place {
  std::uint64_t at = 0;
  std::uint64_t available = 0;
};

std::optional<Place> place_of(const codec::Frame& frame, const FrameOrigin& origin,
                              std::int64_t entry, ChunkInfo& info) {
  if (entry < 0) return std::nullopt;
  const auto value = static_cast<std::uint64_t>(entry);
  const auto& header = frame.header();
  if (header.type == codec::FrameType::sparse) {
    if (value > codec::kMaxChunkFileId) return std::nullopt;
    const auto id = static_cast<std::uint32_t>(value);
    info.file = ChunkFiles::name_of(id);
    info.offset = 0;
    const auto at = codec::chunk_file_at(id);
    const auto available = origin.chunks->available_from(at);
    if (!available) return std::nullopt;
    return Place{at, *available};
  }
  if (value >= header.cbytes) return std::nullopt;
  info.offset = header.header_len + value;
  return Place{*info.offset, header.cbytes - value};
}

// Reads the header of a chunk whose tables are damaged or that this build cannot decode.
std::optional<codec::ChunkHeader> read_header(const codec::ByteSource& chunks, const Place& place) {
  std::array<std::byte, codec::kExtendedHeaderBytes> buffer{};
  const auto head =
      std::span(buffer).first(std::min<std::uint64_t>(place.available, buffer.size()));
  if (!chunks.read_at(place.at, head)) return std::nullopt;
  const auto header = codec::parse_chunk_header(head, place.available);
  return header ? std::optional(*header) : std::nullopt;
}

ChunkInfo describe_chunk(const codec::Frame& frame, const FrameOrigin& origin, std::uint64_t index,
                         const Result<std::int64_t>& entry, const codec::FetchedBlocks* fetched,
                         const codec::Limits& limits) {
  ChunkInfo info;
  info.index = index;
  if (!entry) {
    info.error = entry.error();
    return info;
  }
  const auto place = place_of(frame, origin, *entry, info);
  info.is_absent = !frame.data_place().has_data_of({index}, *entry, fetched);
  if (info.is_absent) {
    if (place) info.header = read_header(*origin.chunks, *place);
    return info;
  }
  const auto chunk = frame.open_chunk(*origin.chunks, {index}, *entry, limits, fetched);
  if (chunk) {
    info.header = chunk->header();
    info.is_split = chunk->body() == codec::ChunkBody::blocks && chunk->stream_count({0}) > 1;
    return info;
  }
  info.error = chunk.error();
  if (place) info.header = read_header(*origin.chunks, *place);
  return info;
}

}  // namespace

void visit_chunks(const codec::Frame& frame, const FrameOrigin& origin, const codec::Limits& limits,
                  const std::function<bool(const ChunkInfo&)>& visit) {
  const auto count = frame.chunk_count();
  const auto record = frame.read_fetched(*origin.source, limits).value_or(std::nullopt);
  const auto* const fetched = record ? &*record : nullptr;
  std::vector<std::int64_t> entries(std::min(count, kEntriesAtOnce));
  for (std::uint64_t begin = 0; begin < count; begin += entries.size()) {
    entries.resize(std::min<std::uint64_t>(entries.size(), count - begin));
    const auto read = frame.read_entries(*origin.source, {begin}, entries);
    for (std::uint64_t i = 0; i < entries.size(); ++i) {
      const auto entry = read ? Result<std::int64_t>(entries[i])
                              : Result<std::int64_t>(std::unexpected(read.error()));
      if (!visit(describe_chunk(frame, origin, begin + i, entry, fetched, limits))) return;
    }
  }
}

std::string chunk_codec_name(const codec::ChunkHeader& header) {
  if (header.special != codec::Special::none || header.memcpyed) return "";
  if (header.codec != codec::CodecFormat::plugin) return codec::codec_format_name(header.codec);
  return codec_text(header.codec_id);
}

const char* special_name(codec::Special special) noexcept {
  switch (special) {
    case codec::Special::none:
      return "";
    case codec::Special::zero:
      return "zero";
    case codec::Special::nan:
      return "nan";
    case codec::Special::value:
      return "value";
    case codec::Special::uninit:
      return "uninit";
  }
  return "";
}

}  // namespace framefs::fs
