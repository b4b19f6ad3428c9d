#include "codec/frame/frame_header.h"

#include <algorithm>
#include <array>
#include <limits>

#include "codec/core/byte_reader.h"
#include "codec/core/checked.h"
#include "codec/core/limits.h"

namespace framefs::codec {
namespace {

// Where the fields stand.  The header is msgpack with every item of fixed width, so that they can
// be read, and a commit be written, in place.  Source: frame format, "Header".
constexpr std::size_t kAtMagic = 2;
constexpr std::size_t kAtHeaderLen = 11;
constexpr std::size_t kAtFrameLen = 16;
constexpr std::size_t kAtGeneralFlags = 25;
constexpr std::size_t kAtFrameType = 26;
constexpr std::size_t kAtCodecFlags = 27;
constexpr std::size_t kAtOtherFlags = 28;
constexpr std::size_t kAtNbytes = 30;
constexpr std::size_t kAtCbytes = 39;
constexpr std::size_t kAtTypesize = 48;
constexpr std::size_t kAtBlocksize = 53;
constexpr std::size_t kAtChunksizeMarker = 57;
constexpr std::size_t kAtChunksize = 58;
constexpr std::size_t kAtFilterCount = 70;
constexpr std::size_t kAtFilters = 71;
constexpr std::size_t kAtCodecId = 77;
constexpr std::size_t kAtCodecMeta = 78;
constexpr std::size_t kAtFilterMetas = 79;
constexpr std::size_t kAtOtherFlags2 = 85;

constexpr std::array kMagic = {std::byte{'b'}, std::byte{'2'}, std::byte{'f'}, std::byte{'r'},
                               std::byte{'a'}, std::byte{'m'}, std::byte{'e'}, std::byte{0}};

constexpr std::uint8_t kNewestVersion = 3;
constexpr std::uint8_t kCodecIsElsewhere = 6;  // low nibble of codec_flags: see byte 77

std::uint8_t u8_at(std::span<const std::byte> head, std::size_t at) {
  return std::to_integer<std::uint8_t>(head[at]);
}

template <class T>
T be_at(std::span<const std::byte> head, std::size_t at) {
  return load_be<T>(head.data() + at);
}

// Frames of the betas: 13 items or fewer, the chunk size where today the block size is.
// Source: codec/ERRATA.md, "frames before 2.0.0-rc1".
bool is_pre_release(std::span<const std::byte> head) {
  constexpr std::uint8_t kFixArrayOf11 = 0x9B;
  constexpr std::uint8_t kFixArrayOf12 = 0x9C;
  constexpr std::uint8_t kFixArrayOf13 = 0x9D;
  constexpr std::uint8_t kMarkerInt16 = 0xD1;
  const auto items = u8_at(head, 0);
  return items == kFixArrayOf11 || items == kFixArrayOf12 ||
         (items == kFixArrayOf13 && u8_at(head, kAtChunksizeMarker) == kMarkerInt16);
}

// Filters of the header serve new chunks only, but an id that no release ever gave out is damage.
Status check_filter_id(std::uint8_t id, std::size_t at) {
  constexpr std::uint8_t kLastBuiltin = 4;
  constexpr std::uint8_t kFirstRegistered = 32;
  constexpr std::uint8_t kLastRegistered = 36;
  constexpr std::uint8_t kFirstUser = 160;
  const bool known =
      id <= kLastBuiltin || (id >= kFirstRegistered && id <= kLastRegistered) || id >= kFirstUser;
  if (!known) return fail_value(Errc::bad_field, "filter of the frame header", at, id);
  return {};
}

Status parse_filters(std::span<const std::byte> head, FrameHeader& header) {
  const auto count = u8_at(head, kAtFilterCount);
  if (count > header.filters.size()) {
    return fail_value(Errc::bad_field, "number of filters", kAtFilterCount, count);
  }
  for (std::size_t i = 0; i < header.filters.size(); ++i) {
    header.filters[i] = {.id = u8_at(head, kAtFilters + i),
                         .meta = u8_at(head, kAtFilterMetas + i)};
    FRAMEFS_CHECK(check_filter_id(header.filters[i].id, kAtFilters + i));
  }
  return {};
}

Status parse_lengths(std::span<const std::byte> head, FrameHeader& header) {
  const auto header_len = be_at<std::int32_t>(head, kAtHeaderLen);
  const auto frame_len = be_at<std::uint64_t>(head, kAtFrameLen);
  if (frame_len < kMinFrameBytes ||
      frame_len > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return fail_value(Errc::bad_field, "frame_len", kAtFrameLen,
                      static_cast<std::int64_t>(frame_len));
  }
  if (std::cmp_less(header_len, kFrameFixedHeaderBytes) ||
      std::cmp_greater(header_len, frame_len)) {
    return fail_value(Errc::bad_field, "header_len", kAtHeaderLen, header_len);
  }
  const auto cbytes = be_at<std::int64_t>(head, kAtCbytes);
  if (cbytes < 0) return fail_value(Errc::bad_field, "compressed_size", kAtCbytes, cbytes);
  header.header_len = static_cast<std::uint32_t>(header_len);
  header.frame_len = frame_len;
  header.cbytes = static_cast<std::uint64_t>(cbytes);
  return {};
}

Status parse_sizes(std::span<const std::byte> head, FrameHeader& header) {
  const auto nbytes = be_at<std::int64_t>(head, kAtNbytes);
  const auto typesize = be_at<std::int32_t>(head, kAtTypesize);
  const auto chunksize = be_at<std::int32_t>(head, kAtChunksize);
  if (nbytes < 0) return fail_value(Errc::bad_field, "uncompressed_size", kAtNbytes, nbytes);
  if (typesize <= 0) return fail_value(Errc::bad_field, "typesize", kAtTypesize, typesize);
  // A frame without chunks may not have settled its chunk size yet: -1 then.
  if (nbytes > 0 && (chunksize < 0 || std::cmp_greater(chunksize, kMaxChunkBytes))) {
    return fail_value(Errc::bad_field, "chunksize", kAtChunksize, chunksize);
  }
  header.nbytes = static_cast<std::uint64_t>(nbytes);
  header.typesize = static_cast<std::uint32_t>(typesize);
  header.chunksize = chunksize > 0 ? static_cast<std::uint32_t>(chunksize) : 0;
  header.blocksize = be_at<std::int32_t>(head, kAtBlocksize);
  if (header.chunksize > 0 &&
      div_ceil<std::uint64_t>(header.nbytes, header.chunksize) > kMaxChunks) {
    return fail_value(Errc::bad_field, "uncompressed_size", kAtNbytes, nbytes);
  }
  return {};
}

}  // namespace

bool has_frame_magic(std::span<const std::byte> head) noexcept {
  return head.size() >= kAtMagic + kMagic.size() &&
         std::ranges::equal(head.subspan(kAtMagic, kMagic.size()), kMagic);
}

Result<FrameHeader> parse_frame_header(std::span<const std::byte> head) {
  if (!has_frame_magic(head)) return fail(Errc::bad_field, "frame magic", kAtMagic);
  if (head.size() < kFrameFixedHeaderBytes) {
    return fail(Errc::truncated, "frame header", head.size());
  }
  if (is_pre_release(head)) return fail(Errc::unsupported, "frame layout before 2.0.0-rc1", 0);

  FrameHeader header;
  const auto general = u8_at(head, kAtGeneralFlags);
  header.version = general & 0x0F;
  if (header.version > kNewestVersion) {
    return fail_value(Errc::unsupported, "frame format version", kAtGeneralFlags, header.version);
  }
  const auto type = u8_at(head, kAtFrameType);
  if (type > static_cast<std::uint8_t>(FrameType::sparse)) {
    return fail_value(Errc::bad_field, "frame type", kAtFrameType, type);
  }
  header.type = static_cast<FrameType>(type);
  FRAMEFS_CHECK(parse_lengths(head, header));
  FRAMEFS_CHECK(parse_sizes(head, header));
  FRAMEFS_CHECK(parse_filters(head, header));

  const auto codec_flags = u8_at(head, kAtCodecFlags);
  const auto codec = static_cast<std::uint8_t>(codec_flags & 0x0F);
  header.codec_id = codec == kCodecIsElsewhere ? u8_at(head, kAtCodecId) : codec;
  header.codec_meta = u8_at(head, kAtCodecMeta);
  header.clevel = static_cast<std::uint8_t>(codec_flags >> 4);
  header.splitmode = static_cast<std::uint8_t>((u8_at(head, kAtOtherFlags) & 0x03) + 1);
  header.use_dict = (u8_at(head, kAtOtherFlags2) & 0x01) != 0;
  return header;
}

}  // namespace framefs::codec
