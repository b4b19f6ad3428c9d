#include "codec/frame/frame_header.h"

#include <algorithm>
#include <array>
#include <limits>

#include "codec/core/byte_reader.h"
#include "codec/core/byte_writer.h"
#include "codec/core/checked.h"
#include "codec/core/id_names.h"
#include "codec/core/limits.h"
#include "codec/core/msgpack_markers.h"
#include "codec/filter/filter_ids.h"

namespace framefs::codec {
namespace {

// Offsets of the fields.  The header is msgpack in which every item has a fixed width, so that
// fields can be read, and updated by a commit, in place.  Source: frame format, "Header".
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
constexpr std::size_t kAtThreads = 63;
constexpr std::size_t kAtDecoderThreads = 66;
constexpr std::size_t kAtHasVlMetalayers = 68;
constexpr std::byte kTrue{0xC3};
constexpr std::byte kFalse{0xC2};
constexpr std::size_t kAtFilterCount = 70;
constexpr std::size_t kAtFilters = 71;
constexpr std::size_t kAtCodecId = 77;
constexpr std::size_t kAtCodecMeta = 78;
constexpr std::size_t kAtFilterMetas = 79;
constexpr std::size_t kAtOtherFlags2 = 85;

// Offsets of fields that differ in the betas.  Source: codec/FORMAT.md, "Frames of the betas".
constexpr std::size_t kAtBetaChunksize = 53;
constexpr std::size_t kAtBetaFilterCount = 65;
constexpr std::size_t kAtBetaFilters = 66;
constexpr std::size_t kAtBetaFilterMetas = 74;

constexpr std::array kMagic = {std::byte{'b'}, std::byte{'2'}, std::byte{'f'}, std::byte{'r'},
                               std::byte{'a'}, std::byte{'m'}, std::byte{'e'}, std::byte{0}};

constexpr std::uint8_t kNewestFrameVersion = 3;
constexpr std::uint8_t kCodecIsElsewhere = 6;  // low nibble of codec_flags: see byte 77

std::uint8_t u8_at(std::span<const std::byte> head, std::size_t at) {
  return std::to_integer<std::uint8_t>(head[at]);
}

template <class T>
T be_at(std::span<const std::byte> head, std::size_t at) {
  return load_be<T>(head.data() + at);
}

// The layouts differ in the number of the header's items, and in whether the chunk size is at the
// offset that the block size has today.  Source: codec/FORMAT.md, "Frames of the betas".
Result<FrameLayout> layout_of(std::span<const std::byte> head) {
  constexpr std::uint8_t kFixArrayOf11 = 0x9B;
  constexpr std::uint8_t kFixArrayOf12 = 0x9C;
  constexpr std::uint8_t kFixArrayOf13 = 0x9D;
  const auto items = u8_at(head, 0);
  if (items == kFixArrayOf11 || items == kFixArrayOf12) {
    return fail(Errc::unsupported, "frame layout before 2.0.0-beta.2", 0);
  }
  const bool is_beta = items == kFixArrayOf13 && u8_at(head, kAtChunksizeMarker) == kMarkerInt16;
  return is_beta ? FrameLayout::beta : FrameLayout::current;
}

// The header's filters apply only to new chunks.  Nevertheless, the library refuses a frame with a
// filter that it does not know, unless it is a user's.
Status check_filter_id(std::uint8_t id, std::size_t at) {
  if (filter_name(id) != nullptr || id >= kFirstUserId) return {};
  return fail_value(filter_id::is_reserved(id) ? Errc::bad_field : Errc::unsupported,
                    "filter of the frame header", at, id);
}

// The betas stored only the used slots, without gaps.  As today, the last filter is the one next to
// the codec.
Status parse_beta_filters(std::span<const std::byte> head, FrameHeader& header) {
  const auto count = u8_at(head, kAtBetaFilterCount);
  if (count > header.filters.size()) {
    return fail_value(Errc::bad_field, "number of filters", kAtBetaFilterCount, count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const FilterSlot slot{.id = u8_at(head, kAtBetaFilters + i),
                          .meta = u8_at(head, kAtBetaFilterMetas + i)};
    FRAMEFS_CHECK(check_filter_id(slot.id, kAtBetaFilters + i));
    header.filters[header.filters.size() - count + i] = slot;
  }
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
  const bool is_beta = header.layout == FrameLayout::beta;
  const std::size_t chunksize_at = is_beta ? kAtBetaChunksize : kAtChunksize;
  const auto nbytes = be_at<std::int64_t>(head, kAtNbytes);
  const auto typesize = be_at<std::int32_t>(head, kAtTypesize);
  const auto chunksize = be_at<std::int32_t>(head, chunksize_at);
  if (nbytes < 0) return fail_value(Errc::bad_field, "uncompressed_size", kAtNbytes, nbytes);
  if (typesize <= 0) return fail_value(Errc::bad_field, "typesize", kAtTypesize, typesize);
  // A frame without chunks may have an undecided chunk size, -1.
  if (nbytes > 0 && (chunksize < 0 || std::cmp_greater(chunksize, kMaxChunkBytes))) {
    return fail_value(Errc::bad_field, "chunksize", chunksize_at, chunksize);
  }
  header.nbytes = static_cast<std::uint64_t>(nbytes);
  header.typesize = static_cast<std::uint32_t>(typesize);
  header.chunksize = chunksize > 0 ? static_cast<std::uint32_t>(chunksize) : 0;
  if (!is_beta) header.blocksize = be_at<std::int32_t>(head, kAtBlocksize);
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

  FrameHeader header;
  FRAMEFS_TRY(header.layout, layout_of(head));
  const auto general = u8_at(head, kAtGeneralFlags);
  header.version = general & 0x0F;
  if (header.version > kNewestFrameVersion) {
    return fail_value(Errc::unsupported, "frame format version", kAtGeneralFlags, header.version);
  }
  FRAMEFS_CHECK(parse_lengths(head, header));
  FRAMEFS_CHECK(parse_sizes(head, header));
  const auto codec_flags = u8_at(head, kAtCodecFlags);
  const auto codec = static_cast<std::uint8_t>(codec_flags & 0x0F);
  header.codec_id = codec;
  header.clevel = static_cast<std::uint8_t>(codec_flags >> 4);
  if (header.layout == FrameLayout::beta) {
    FRAMEFS_CHECK(parse_beta_filters(head, header));
    return header;
  }

  const auto type = u8_at(head, kAtFrameType);
  if (type > static_cast<std::uint8_t>(FrameType::sparse)) {
    return fail_value(Errc::bad_field, "frame type", kAtFrameType, type);
  }
  header.type = static_cast<FrameType>(type);
  FRAMEFS_CHECK(parse_filters(head, header));
  if (codec == kCodecIsElsewhere) header.codec_id = u8_at(head, kAtCodecId);
  header.codec_meta = u8_at(head, kAtCodecMeta);
  header.splitmode = static_cast<std::uint8_t>((u8_at(head, kAtOtherFlags) & 0x03) + 1);
  header.use_dict = (u8_at(head, kAtOtherFlags2) & 0x01) != 0;
  return header;
}

bool may_have_vlmetalayers(std::span<const std::byte> head) noexcept {
  return head[kAtHasVlMetalayers] != kFalse;
}

void encode_frame_header(const FrameHeader& header, bool has_vlmetalayers,
                         std::span<std::byte, kFrameFixedHeaderBytes> out) noexcept {
  // The msgpack markers, each of which precedes its field.
  struct Marker {
    std::size_t at;
    std::uint8_t value;
  };
  constexpr Marker kMarkers[] = {
      {0, 0x9E},                      // array of 14
      {kAtMagic - 1, 0xA8},           // string of 8
      {kAtHeaderLen - 1, 0xD2},       // int32
      {kAtFrameLen - 1, 0xCF},        // uint64
      {kAtGeneralFlags - 1, 0xA4},    // string of 4
      {kAtNbytes - 1, 0xD3},          // int64
      {kAtCbytes - 1, 0xD3},          // int64
      {kAtTypesize - 1, 0xD2},        // int32
      {kAtBlocksize - 1, 0xD2},       // int32
      {kAtChunksizeMarker, 0xD2},     // int32
      {kAtThreads - 1, 0xD1},         // int16
      {kAtDecoderThreads - 1, 0xD1},  // int16
      {kAtFilterCount - 1, 0xD8},     // extension of 16 bytes
  };
  constexpr unsigned kOffsets64 = 0x10;
  std::ranges::fill(out, std::byte{0});
  for (const auto& [at, value] : kMarkers) out[at] = std::byte{value};
  std::ranges::copy(kMagic, out.begin() + kAtMagic);
  std::byte* const to = out.data();
  store_be(to + kAtHeaderLen, header.header_len);
  out[kAtGeneralFlags] = static_cast<std::byte>(kOffsets64 | header.version);
  out[kAtFrameType] = static_cast<std::byte>(header.type);
  out[kAtCodecFlags] = static_cast<std::byte>(header.codec_id | header.clevel << 4);
  out[kAtOtherFlags] = static_cast<std::byte>((header.splitmode - 1) & 0x03);
  store_be(to + kAtTypesize, header.typesize);
  store_be(to + kAtBlocksize, header.blocksize);
  store_be(to + kAtChunksize, header.chunksize);
  store_be(to + kAtThreads, std::int16_t{1});
  store_be(to + kAtDecoderThreads, std::int16_t{1});
  out[kAtFilterCount] = static_cast<std::byte>(header.filters.size());
  for (std::size_t slot = 0; slot < header.filters.size(); ++slot) {
    out[kAtFilters + slot] = std::byte{header.filters[slot].id};
    out[kAtFilterMetas + slot] = std::byte{header.filters[slot].meta};
  }
  out[kAtCodecId] = std::byte{header.codec_id};
  out[kAtCodecMeta] = std::byte{header.codec_meta};
  out[kAtOtherFlags2] = std::byte{header.use_dict};
  patch_frame_header({.frame_len = header.frame_len,
                      .nbytes = header.nbytes,
                      .cbytes = header.cbytes,
                      .has_vlmetalayers = has_vlmetalayers},
                     out);
}

void patch_frame_header(const FrameSizes& sizes,
                        std::span<std::byte, kFrameFixedHeaderBytes> head) noexcept {
  store_be(head.data() + kAtFrameLen, sizes.frame_len);
  store_be(head.data() + kAtNbytes, sizes.nbytes);
  store_be(head.data() + kAtCbytes, sizes.cbytes);
  head[kAtHasVlMetalayers] = sizes.has_vlmetalayers ? kTrue : kFalse;
}

void patch_frame_chunksize(std::uint32_t chunksize,
                           std::span<std::byte, kFrameFixedHeaderBytes> head) noexcept {
  store_be(head.data() + kAtChunksize, chunksize);
}

}  // namespace framefs::codec
