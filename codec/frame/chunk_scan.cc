#include "codec/frame/chunk_scan.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_reader.h"

namespace framefs::codec {
namespace {

constexpr std::uint64_t kWindowBytes = 1u << 20;
constexpr std::uint64_t kPieceBytes = 1u << 20;

// The versions that chunks of frames have.  Source: chunk format, "version".
constexpr std::uint8_t kOldestChunkVersion = 3;
constexpr std::uint8_t kNewestChunkVersion = 6;

// Rejects nearly every wrong offset after a look at a few bytes.
bool may_begin_chunk(std::span<const std::byte> head, std::uint64_t available) {
  const auto version = std::to_integer<std::uint8_t>(head[0]);
  if (version < kOldestChunkVersion || version > kNewestChunkVersion) return false;
  const auto nbytes = load_le<std::uint32_t>(head.data() + 4);
  const auto cbytes = load_le<std::uint32_t>(head.data() + 12);
  return nbytes > 0 && cbytes >= kExtendedHeaderBytes && cbytes <= available;
}

// Reads an uncompressed chunk, up to the end of the source or to bytes that cannot be read.  Sets
// `done` to the number of bytes that were read.
Status read_plain(const ByteSource& source, const Chunk& chunk, const TakeDecoded& take,
                  std::uint64_t& done) {
  FRAMEFS_TRY(const auto available, source.available_from(chunk.plain_offset()));
  const auto end = std::min<std::uint64_t>(chunk.nbytes(), available);
  std::vector<std::byte> piece(std::min(end, kPieceBytes));
  for (done = 0; done < end; done += piece.size()) {
    piece.resize(std::min<std::uint64_t>(piece.size(), end - done));
    FRAMEFS_CHECK(source.read_at(chunk.plain_offset() + done, piece));
    if (take) take(done, piece);
  }
  if (end == chunk.nbytes()) return {};
  return fail(Errc::truncated, "uncompressed chunk", chunk.plain_offset() + end);
}

// Reads the file in windows, so that a look at each byte costs no system call.
class Window {
 public:
  Window(const ByteSource& file, std::uint64_t size) : file_(file), size_(size) {}

  // Returns the 32 bytes at `at`; the caller has checked that the file has them.
  Result<std::span<const std::byte>> head_at(std::uint64_t at) {
    if (at < begin_ || at - begin_ + kExtendedHeaderBytes > buffer_.size()) {
      buffer_.resize(std::min(kWindowBytes, size_ - at));
      begin_ = at;
      FRAMEFS_CHECK(file_.read_at(at, buffer_));
    }
    return std::span<const std::byte>(buffer_).subspan(at - begin_, kExtendedHeaderBytes);
  }

 private:
  const ByteSource& file_;
  const std::uint64_t size_;
  std::uint64_t begin_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace

Status decode_whole_chunk(const ByteSource& source, std::uint64_t at, std::uint64_t available,
                          const ChunkContext& context, const Limits& limits) {
  FRAMEFS_TRY(const auto chunk, Chunk::open(source, at, available, context, limits));
  if (chunk.body() == ChunkBody::special) return {};
  std::uint64_t done = 0;
  if (chunk.body() == ChunkBody::plain) return read_plain(source, chunk, {}, done);
  ChunkReader reader(source, chunk);
  std::vector<std::byte> block;
  for (std::uint64_t i = 0; i < chunk.block_count(); ++i) {
    block.resize(chunk.block_range({i}).size);
    FRAMEFS_CHECK(reader.read_block({i}, block));
  }
  return {};
}

std::optional<FoundChunk> sound_chunk_at(const ByteSource& source, std::uint64_t at,
                                         std::uint64_t available, const ChunkContext& context,
                                         const Limits& limits) {
  std::array<std::byte, kExtendedHeaderBytes> head{};
  if (available < head.size() || !source.read_at(at, head)) return std::nullopt;
  const auto header = parse_chunk_header(head, available);
  if (!header || !header->extended) return std::nullopt;
  // Special chunks, such as zeros, exist only in the index.
  if (header->special != Special::none && header->special != Special::value) return std::nullopt;
  const auto decoded = decode_whole_chunk(source, at, header->cbytes, context, limits);
  if (!decoded && decoded.error().kind != Errc::unsupported) return std::nullopt;
  return FoundChunk{
      .stored = {at, header->cbytes}, .header = *header, .is_decoded = decoded.has_value()};
}

std::vector<DamagedRange> decode_each_block(const ByteSource& source, const Chunk& chunk,
                                            const TakeDecoded& take) {
  if (chunk.body() == ChunkBody::special) return {};
  if (chunk.body() == ChunkBody::plain) {
    std::uint64_t done = 0;
    const auto read = read_plain(source, chunk, take, done);
    if (read) return {};
    return {{{done, chunk.nbytes() - done}, read.error()}};
  }
  std::vector<DamagedRange> damaged;
  ChunkReader reader(source, chunk);
  std::vector<std::byte> block;
  for (std::uint64_t i = 0; i < chunk.block_count(); ++i) {
    const auto range = chunk.block_range({i});
    block.resize(range.size);
    if (const auto read = reader.read_block({i}, block); !read) {
      const bool joins = !damaged.empty() &&
                         damaged.back().range.offset + damaged.back().range.size == range.offset;
      if (joins) {
        damaged.back().range.size += range.size;
      } else {
        damaged.push_back({range, read.error()});
      }
    } else if (take) {
      take(range.offset, block);
    }
  }
  return damaged;
}

std::optional<FoundChunk> readable_chunk_at(const ByteSource& source, std::uint64_t at,
                                            std::uint64_t available, std::uint32_t nbytes,
                                            const ChunkContext& context, const Limits& limits) {
  const auto chunk = Chunk::open(source, at, available, context, limits);
  if (!chunk || chunk->body() == ChunkBody::special || chunk->nbytes() == 0) return std::nullopt;
  if (nbytes != 0 && chunk->nbytes() != nbytes) return std::nullopt;
  FoundChunk found{.stored = {at, chunk->header().cbytes},
                   .header = chunk->header(),
                   .is_decoded = true,
                   .has_certain_place = true};
  std::uint64_t lost = 0;
  for (const auto& [range, error] : decode_each_block(source, *chunk, {})) {
    found.lost.push_back(range);
    lost += range.size;
  }
  if (lost == chunk->nbytes()) return std::nullopt;
  return found;
}

std::unexpected<Error> scan_ended() noexcept {
  return std::unexpected(Error{.kind = Errc::system, .field = "stopped", .sys = EINTR});
}

Result<std::vector<FoundChunk>> scan_for_chunks(const ByteSource& file, std::uint64_t begin,
                                                const ChunkContext& context, const Limits& limits,
                                                const ScanProgress& progress) {
  FRAMEFS_TRY(const auto size, file.size());
  std::vector<FoundChunk> found;
  Window window(file, size);
  std::uint64_t told = begin;
  std::uint64_t end_of_last = begin;
  for (std::uint64_t at = begin; at < size && size - at >= kExtendedHeaderBytes;) {
    FRAMEFS_TRY(const auto head, window.head_at(at));
    std::optional<FoundChunk> chunk;
    const bool may_begin = may_begin_chunk(head, size - at);
    if (may_begin) {
      chunk = sound_chunk_at(file, at, size - at, context, limits);
    }
    // Any bytes can look like the header of a chunk that cannot be decoded here.  Such a chunk is
    // passed byte by byte, and gives way to a chunk that decodes.
    const bool is_inside = at < end_of_last;
    if (chunk && (chunk->is_decoded || !is_inside)) {
      if (is_inside) found.pop_back();
      end_of_last = at + chunk->stored.size;
      found.push_back(*chunk);
    }
    at = chunk && chunk->is_decoded ? end_of_last : at + 1;
    // Bytes that look like a chunk can take a second to decode.
    if (progress && (may_begin || at - told >= kWindowBytes)) {
      if (!progress(at)) return scan_ended();
      told = at;
    }
  }
  return found;
}

}  // namespace framefs::codec
