#include "codec/frame/chunk_checksums.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <xxhash.h>

#include "codec/chunk/chunk_header.h"
#include "codec/core/byte_reader.h"
#include "codec/core/byte_writer.h"
#include "codec/core/msgpack_markers.h"
#include "codec/core/work_budget.h"
#include "codec/frame/chunk_space.h"
#include "codec/frame/frame_index.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/metalayer_content.h"

namespace framefs::codec {
namespace {

// Source: codec/FORMAT.md, "Checksums".
constexpr std::uint32_t kChecksumsVersion = 1;
constexpr std::size_t kEnvelopeBytes = 5;   // marker and length
constexpr std::size_t kChecksumsHead = 16;  // version, number of chunks, hash of the index
constexpr std::size_t kChunkBytes = 12;     // cbytes and hash

// The offset of the stored size in a chunk.  Source: chunk format, "Header".
constexpr std::size_t kChunkCbytesAt = 12;
constexpr std::uint64_t kReadBytes = 1u << 20;
// Hashing takes this much less time than decoding.
constexpr std::uint64_t kHashedPerUnit = 8;

struct FreeState {
  void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

// The hash of bytes that come in pieces.
class Hasher {
 public:
  Hasher() : state_(XXH3_createState()) { XXH3_64bits_reset(state_.get()); }
  void add(std::span<const std::byte> bytes) noexcept {
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  }
  [[nodiscard]] std::uint64_t hash() const noexcept { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, FreeState> state_;
};

std::uint64_t hash_of_index(std::span<const std::int64_t> entries) {
  Hasher hasher;
  std::array<std::byte, std::size_t{4096} * kIndexEntryBytes> stored{};
  while (!entries.empty()) {
    const auto some = entries.first(std::min(entries.size(), stored.size() / kIndexEntryBytes));
    store_entries(some, stored);
    hasher.add(std::span(stored).first(some.size_bytes()));
    entries = entries.subspan(some.size());
  }
  return hasher.hash();
}

Result<std::uint64_t> hash_stored(const ByteSource& chunks, std::uint64_t at, std::uint64_t size) {
  FRAMEFS_CHECK(spend_work(size / kHashedPerUnit));
  std::vector<std::byte> piece(std::min(size, kReadBytes));
  if (size <= kReadBytes) {
    FRAMEFS_CHECK(chunks.read_at(at, piece));
    return XXH3_64bits(piece.data(), piece.size());
  }
  Hasher hasher;
  while (size > 0) {
    piece.resize(std::min(size, kReadBytes));
    FRAMEFS_CHECK(chunks.read_at(at, piece));
    hasher.add(piece);
    at += piece.size();
    size -= piece.size();
  }
  return hasher.hash();
}

std::vector<std::byte> layer_of(std::span<const std::int64_t> entries,
                                std::span<const ChunkChecksum> checksums) {
  const auto size = kChecksumsHead + checksums.size() * kChunkBytes;
  std::vector<std::byte> out(kEnvelopeBytes + size);
  auto* at = out.data();
  const auto put = [&](auto value) {
    store_le(at, value);
    at += sizeof(value);
  };
  put(kMarkerBin32);
  store_be(at, static_cast<std::uint32_t>(size));
  at += sizeof(std::uint32_t);
  put(kChecksumsVersion);
  put(static_cast<std::uint32_t>(checksums.size()));
  put(hash_of_index(entries));
  for (const auto& checksum : checksums) put(checksum.cbytes);
  for (const auto& checksum : checksums) put(checksum.hash);
  return out;
}

struct Layer {
  std::uint64_t index_hash = 0;
  std::vector<ChunkChecksum> chunks;
};

// The layer is not damaged, because the trailer's seal is good.  It may be of a later version.
Result<Layer> parse_layer(std::span<const std::byte> bytes, std::uint64_t chunk_count) {
  ByteReader in(bytes);
  FRAMEFS_TRY([[maybe_unused]] const auto envelope, in.take(kEnvelopeBytes, "checksums"));
  FRAMEFS_TRY(const auto version, in.le<std::uint32_t>("version of the checksums"));
  if (version != kChecksumsVersion) {
    return fail_value(Errc::unsupported, "version of the checksums", kEnvelopeBytes, version);
  }
  FRAMEFS_TRY(const auto count, in.le<std::uint32_t>("number of checksums"));
  if (count != chunk_count) {
    return fail_value(Errc::checksum, "number of checksums", kEnvelopeBytes + 4, count);
  }
  Layer layer;
  FRAMEFS_TRY(layer.index_hash, in.le<std::uint64_t>("hash of the index"));
  if (in.remaining() != count * kChunkBytes) return fail(Errc::checksum, "size of the checksums");
  layer.chunks.resize(count);
  for (auto& chunk : layer.chunks) {
    FRAMEFS_TRY(chunk.cbytes, in.le<std::uint32_t>("checksums"));
  }
  for (auto& chunk : layer.chunks) {
    FRAMEFS_TRY(chunk.hash, in.le<std::uint64_t>("checksums"));
  }
  return layer;
}

}  // namespace

ChunkChecksum checksum_of(std::span<const std::byte> chunk) noexcept {
  if (chunk.size() < kExtendedHeaderBytes) return {};
  const auto cbytes = load_le<std::uint32_t>(chunk.data() + kChunkCbytesAt);
  const auto size = std::min<std::size_t>(cbytes, chunk.size());
  return {.cbytes = static_cast<std::uint32_t>(size), .hash = XXH3_64bits(chunk.data(), size)};
}

Result<ChunkChecksum> read_checksum(const ByteSource& chunks, std::uint64_t at) {
  std::array<std::byte, sizeof(std::uint32_t)> stored{};
  FRAMEFS_CHECK(chunks.read_at(at + kChunkCbytesAt, stored));
  const auto cbytes = load_le<std::uint32_t>(stored.data());
  if (cbytes < kShortHeaderBytes) {
    return fail_value(Errc::bad_field, "cbytes", at + kChunkCbytesAt, cbytes);
  }
  FRAMEFS_TRY(const auto hash, hash_stored(chunks, at, cbytes));
  return ChunkChecksum{.cbytes = cbytes, .hash = hash};
}

std::uint64_t stored_offset(const FrameHeader& header, std::int64_t entry) noexcept {
  if (header.type == FrameType::sparse) return chunk_file_at(static_cast<std::uint32_t>(entry));
  return header.header_len + static_cast<std::uint64_t>(entry);
}

Status verify_chunk(const ByteSource& chunks, const FrameHeader& header, std::int64_t entry,
                    const ChunkChecksum& known) {
  if (entry < 0 || !known.exists()) return {};
  const auto at = stored_offset(header, entry);
  FRAMEFS_TRY(const auto hash, hash_stored(chunks, at, known.cbytes));
  if (hash == known.hash) return {};
  return fail(Errc::checksum, "bytes of the chunk", header.type == FrameType::sparse ? 0 : at);
}

Result<FrameChecksums> read_checksums(const Frame& frame, const ByteSource& source,
                                      const Limits& limits) {
  using State = FrameChecksums::State;
  const auto layer = std::ranges::find(frame.vlmetalayers(), kChecksumLayer, &Metalayer::name);
  const auto at = frame.header().frame_len;
  if (frame.seal() == TrailerSeal::broken) return fail(Errc::checksum, "trailer", at);
  if (layer == frame.vlmetalayers().end()) return FrameChecksums{};
  if (frame.seal() == TrailerSeal::none) return FrameChecksums{.state = State::stale, .chunks = {}};
  if (frame.chunk_count() > kMaxChecksums) {
    return fail_value(Errc::over_limit, "number of checksums", layer->content.offset,
                      static_cast<std::int64_t>(frame.chunk_count()));
  }
  FRAMEFS_TRY(const auto bytes, read_vlmetalayer(source, *layer, limits));
  auto parsed = parse_layer(bytes, frame.chunk_count());
  if (!parsed) return std::unexpected(parsed.error());
  std::vector<std::int64_t> entries(frame.chunk_count());
  FRAMEFS_CHECK(frame.read_entries(source, {0}, entries));
  if (hash_of_index(entries) != parsed->index_hash) {
    return fail(Errc::checksum, "index", frame.index_at());
  }
  return FrameChecksums{.state = State::valid, .chunks = std::move(parsed->chunks)};
}

Result<std::vector<std::byte>> encode_trailer_with_checksums(
    std::span<const NamedContent> others, std::span<const std::int64_t> entries,
    std::span<const ChunkChecksum> checksums) {
  if (checksums.size() > kMaxChecksums) {
    return fail_value(Errc::over_limit, "number of chunks with checksums", 0,
                      static_cast<std::int64_t>(checksums.size()));
  }
  std::vector<NamedContent> layers(others.begin(), others.end());
  FRAMEFS_TRY(auto content, encode_vlmetalayer(layer_of(entries, checksums)));
  layers.push_back({std::string(kChecksumLayer), std::move(content)});
  FRAMEFS_TRY(auto trailer, encode_trailer(layers));
  seal_trailer(trailer);
  return trailer;
}

}  // namespace framefs::codec
