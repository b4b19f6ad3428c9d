#include "codec/chunk/chunk_header.h"

#include <algorithm>

#include "codec/core/byte_reader.h"
#include "codec/core/byte_writer.h"
#include "codec/core/checked.h"
#include "codec/core/limits.h"

namespace framefs::codec {
namespace {

// Source: chunk format, "flags" (byte 2).
constexpr std::uint8_t kFlagShuffle = 0x01;
constexpr std::uint8_t kFlagMemcpyed = 0x02;
constexpr std::uint8_t kFlagBitshuffle = 0x04;
constexpr std::uint8_t kFlagDelta = 0x08;
constexpr std::uint8_t kFlagDontSplit = 0x10;
// Blosc1 never set both shuffles, so both flags together mark the 32-byte header.
constexpr std::uint8_t kExtendedForm = kFlagShuffle | kFlagBitshuffle;

// Source: chunk format, "blosc2_flags" (byte 31) and "blosc2_flags2" (byte 30).
constexpr std::uint8_t kFlag2Dict = 0x01;
constexpr std::uint8_t kFlag2Lazy = 0x08;
constexpr std::uint8_t kFlag2Instrumented = 0x80;
constexpr std::uint8_t kFlags2VlBlocks = 0x01;

constexpr std::uint8_t kVersionAlpha = 3;   // five filter slots; the sixth byte is reserved
constexpr std::uint8_t kVersionNewest = 6;  // the newest version known here
constexpr std::uint8_t kFilterShuffle = 1;
constexpr std::uint8_t kFilterBitshuffle = 2;
constexpr std::uint8_t kFilterDelta = 3;

// The sizes as stored: signed 32-bit, so that a damaged one shows as negative.
struct StoredSizes {
  std::int32_t nbytes;
  std::int32_t blocksize;
  std::int32_t cbytes;
};

FilterSlots filters_of_flags(std::uint8_t flags) {
  FilterSlots slots{};
  if ((flags & kFlagShuffle) != 0) slots[5].id = kFilterShuffle;
  if ((flags & kFlagBitshuffle) != 0) slots[5].id = kFilterBitshuffle;
  if ((flags & kFlagDelta) != 0) slots[4].id = kFilterDelta;
  return slots;
}

// The second half of the header, which only the 32-byte form has.
Status parse_extension(ByteReader& in, ChunkHeader& header) {
  for (auto& slot : header.filters) {
    FRAMEFS_TRY(slot.id, in.u8("filters"));
  }
  FRAMEFS_TRY(header.codec_id, in.u8("udcompcode"));
  FRAMEFS_TRY(header.codec_meta, in.u8("compcode_meta"));
  for (auto& slot : header.filters) {
    FRAMEFS_TRY(slot.meta, in.u8("filters_meta"));
  }
  if (header.version == kVersionAlpha) header.filters[5] = {};
  FRAMEFS_TRY(const auto flags2, in.u8("blosc2_flags2"));
  FRAMEFS_TRY(const auto flags, in.u8("blosc2_flags"));

  if (header.version > kVersionNewest && (flags2 & ~kFlags2VlBlocks) != 0) {
    return fail_value(Errc::unsupported, "chunk version", 0, header.version);
  }
  if ((flags & kFlag2Lazy) != 0) return fail(Errc::bad_field, "lazy flag on a stored chunk", 31);
  const auto special = static_cast<std::uint8_t>((flags >> 4) & 7);
  if (special > static_cast<std::uint8_t>(Special::uninit)) {
    return fail_value(Errc::bad_field, "special value id", 31, special);
  }
  header.special = static_cast<Special>(special);
  header.has_dict = (flags & kFlag2Dict) != 0;
  header.instrumented = (flags & kFlag2Instrumented) != 0;
  header.vl_blocks = (flags2 & kFlags2VlBlocks) != 0;
  return {};
}

Status check_sizes(const StoredSizes& stored, const ChunkHeader& header, std::uint64_t available) {
  if (stored.nbytes < 0) return fail_value(Errc::bad_field, "nbytes", 4, stored.nbytes);
  if (static_cast<std::uint32_t>(stored.nbytes) > kMaxChunkBytes) {
    return fail_value(Errc::bad_field, "nbytes", 4, stored.nbytes);
  }
  if (stored.blocksize <= 0 || static_cast<std::uint32_t>(stored.blocksize) > kMaxBlockBytes) {
    return fail_value(Errc::bad_field, "blocksize", 8, stored.blocksize);
  }
  if (stored.cbytes < 0 || static_cast<std::uint32_t>(stored.cbytes) < header.header_bytes()) {
    return fail_value(Errc::bad_field, "cbytes", 12, stored.cbytes);
  }
  if (static_cast<std::uint32_t>(stored.cbytes) > available) {
    return fail_value(Errc::truncated, "cbytes", 12, stored.cbytes);
  }
  return {};
}

// Checks the rules between the fields.  `header` is otherwise complete.
Status check_special(const ChunkHeader& header) {
  const bool is_special = header.special != Special::none;
  if (header.vl_blocks && (is_special || header.memcpyed)) {
    return fail(Errc::bad_field, "variable-length blocks in a special or memcpyed chunk", 31);
  }
  if (header.memcpyed && !is_special && header.cbytes - header.header_bytes() != header.nbytes) {
    return fail_value(Errc::bad_field, "cbytes of a memcpyed chunk", 12, header.cbytes);
  }
  const std::uint32_t payload = header.cbytes - header.header_bytes();
  switch (header.special) {
    case Special::none:
      return {};
    case Special::zero:
    case Special::nan:
    case Special::uninit:
      if (payload != 0)
        return fail_value(Errc::bad_field, "cbytes of a special chunk", 12, header.cbytes);
      // Since release 3.1.5, chunks of zeros have no such rule.
      if (header.special != Special::zero && header.nbytes % header.typesize != 0) {
        return fail_value(Errc::bad_field, "nbytes of a special chunk", 4, header.nbytes);
      }
      return {};
    case Special::value:
      if (payload == 0 || payload > header.nbytes || header.nbytes % payload != 0) {
        return fail_value(Errc::bad_field, "repeated value's size", 12, payload);
      }
      return {};
  }
  return fail(Errc::internal, "special");
}

}  // namespace

Result<ChunkHeader> parse_chunk_header(std::span<const std::byte> head, std::uint64_t available) {
  ByteReader in(head);
  ChunkHeader header;
  FRAMEFS_TRY(header.version, in.u8("version"));
  FRAMEFS_TRY([[maybe_unused]] const auto versionlz, in.u8("versionlz"));
  FRAMEFS_TRY(const auto flags, in.u8("flags"));
  FRAMEFS_TRY(header.typesize, in.u8("typesize"));
  StoredSizes stored{};
  FRAMEFS_TRY(stored.nbytes, in.le<std::int32_t>("nbytes"));
  FRAMEFS_TRY(stored.blocksize, in.le<std::int32_t>("blocksize"));
  FRAMEFS_TRY(stored.cbytes, in.le<std::int32_t>("cbytes"));

  if (header.typesize == 0) return fail(Errc::bad_field, "typesize", 3);
  header.extended = (flags & kExtendedForm) == kExtendedForm;
  header.memcpyed = (flags & kFlagMemcpyed) != 0;
  header.dont_split = (flags & kFlagDontSplit) != 0;
  header.codec = static_cast<CodecFormat>(flags >> 5);
  FRAMEFS_CHECK(check_sizes(stored, header, available));
  if (header.extended) {
    FRAMEFS_CHECK(parse_extension(in, header));
  } else {
    header.filters = filters_of_flags(flags);
  }

  header.nbytes = static_cast<std::uint32_t>(stored.nbytes);
  header.cbytes = static_cast<std::uint32_t>(stored.cbytes);
  const auto blocksize = static_cast<std::uint32_t>(stored.blocksize);
  if (header.vl_blocks) {
    header.nblocks = blocksize;
  } else if (header.nbytes > 0) {
    // Release 3 of the reference library clips before it looks for a leftover block.
    header.blocksize = std::min(blocksize, header.nbytes);
    header.nblocks = div_ceil(header.nbytes, header.blocksize);
  }
  FRAMEFS_CHECK(check_special(header));
  return header;
}

void encode_chunk_header(const ChunkHeader& header,
                         std::span<std::byte, kExtendedHeaderBytes> out) noexcept {
  constexpr std::uint8_t kVersionLz = 1;
  const auto flags = kExtendedForm | (header.memcpyed ? kFlagMemcpyed : 0) |
                     (header.dont_split ? kFlagDontSplit : 0) |
                     static_cast<unsigned>(header.codec) << 5;
  const auto flags2 = (header.has_dict ? kFlag2Dict : 0) | static_cast<unsigned>(header.special)
                                                               << 4;
  out[0] = std::byte{header.version};
  out[1] = std::byte{kVersionLz};
  out[2] = static_cast<std::byte>(flags);
  out[3] = std::byte{header.typesize};
  store_le(out.data() + 4, header.nbytes);
  store_le(out.data() + 8, header.blocksize);
  store_le(out.data() + 12, header.cbytes);
  for (std::size_t slot = 0; slot < header.filters.size(); ++slot) {
    out[16 + slot] = std::byte{header.filters[slot].id};
    out[24 + slot] = std::byte{header.filters[slot].meta};
  }
  out[22] = std::byte{header.codec_id};
  out[23] = std::byte{header.codec_meta};
  out[30] = std::byte{0};
  out[31] = static_cast<std::byte>(flags2);
}

}  // namespace framefs::codec
