#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/result.h"
#include "codec/filter/pipeline.h"

namespace framefs::codec {

// The size of the fixed part of a frame's header.  Metalayers follow it.  Source: frame format,
// "Header".
inline constexpr std::size_t kFrameFixedHeaderBytes = 87;
// The shortest frame that readers accept: the fixed header and the shortest trailer.
inline constexpr std::uint64_t kMinFrameBytes = 112;

enum class FrameType : std::uint8_t { contiguous = 0, sparse = 1 };

// The layout of header and trailer.  Source: frame format, "Header"; codec/FORMAT.md, "Frames of
// the betas".
enum class FrameLayout : std::uint8_t {
  current,  // since 2.0.0-rc1
  beta,     // 2.0.0-beta.2 to development before rc1: no blocksize, eight filter slots
};

// The checked fixed fields.  Codec, filters and blocksize are the parameters for new chunks; each
// existing chunk has its own.
struct FrameHeader {
  std::uint32_t header_len = 0;  // size of the fixed part and the metalayers
  std::uint64_t frame_len = 0;   // size of the frame; bytes after it do not belong to it
  std::uint64_t nbytes = 0;      // decoded size of all chunks
  std::uint64_t cbytes = 0;      // size of the chunks section, including dead bytes
  std::uint32_t typesize = 0;    // the true size of an item; may exceed 255
  std::int32_t blocksize = 0;    // advisory
  std::uint32_t chunksize = 0;   // decoded size of each chunk except the last; 0 if they vary
  FrameType type = FrameType::contiguous;
  FrameLayout layout = FrameLayout::current;
  std::uint8_t version = 0;  // version of the format
  std::uint8_t codec_id = 0;
  std::uint8_t codec_meta = 0;
  std::uint8_t clevel = 0;
  std::uint8_t splitmode = 0;  // 1 always, 2 never, 3 auto, 4 forward-compatible
  bool use_dict = false;
  FilterSlots filters{};

  // The offset of the directory of metalayers, which follows the fixed fields.
  [[nodiscard]] std::size_t metalayers_at() const noexcept {
    constexpr std::size_t kBetaFixedBytes = 82;
    return layout == FrameLayout::beta ? kBetaFixedBytes : kFrameFixedHeaderBytes;
  }

  // True if every chunk has a size of its own.  Source: frame format, "chunksize".
  [[nodiscard]] bool has_variable_chunks() const noexcept { return nbytes > 0 && chunksize == 0; }
};

// Whether `head`, the first bytes of a file, has a frame's magic.  The rest may be damaged.
bool has_frame_magic(std::span<const std::byte> head) noexcept;

// Parses and checks the fixed header.  `head` has at least kFrameFixedHeaderBytes bytes, as every
// frame does.
// Errors: truncated, bad_field, unsupported (a newer format, or one older than 2.0.0-beta.2), with
// offsets from the frame's start.  The caller checks that frame_len fits the file.
Result<FrameHeader> parse_frame_header(std::span<const std::byte> head);

// Whether a header, which parse_frame_header() accepts, leaves it possible that the trailer has
// vl-metalayers.
bool may_have_vlmetalayers(std::span<const std::byte> head) noexcept;

// Writes the fixed header of a frame of version 2; the inverse of parse_frame_header().  The
// codec's id must fit in the header's short field.
void encode_frame_header(const FrameHeader& header, bool has_vlmetalayers,
                         std::span<std::byte, kFrameFixedHeaderBytes> out) noexcept;

// The fields that a commit changes in the fixed header of an existing frame.
struct FrameSizes {
  std::uint64_t frame_len = 0;
  std::uint64_t nbytes = 0;
  std::uint64_t cbytes = 0;
  bool has_vlmetalayers = false;
};

// Updates these fields and leaves all other bytes unchanged.
void patch_frame_header(const FrameSizes& sizes,
                        std::span<std::byte, kFrameFixedHeaderBytes> head) noexcept;

// Sets the size of the chunks, which a frame without chunks may leave open.  Unit: bytes.
void patch_frame_chunksize(std::uint32_t chunksize,
                           std::span<std::byte, kFrameFixedHeaderBytes> head) noexcept;

}  // namespace framefs::codec
