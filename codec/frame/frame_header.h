#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/result.h"
#include "codec/filter/pipeline.h"

namespace framefs::codec {

// The fixed part of a frame's header; metalayers follow.  Source: frame format, "Header".
inline constexpr std::size_t kFrameFixedHeaderBytes = 87;
// The shortest frame that a reader accepts: fixed header and shortest trailer.
inline constexpr std::uint64_t kMinFrameBytes = 112;

enum class FrameType : std::uint8_t { contiguous = 0, sparse = 1 };

// How header and trailer are laid out.  Source: frame format, "Header"; codec/FORMAT.md, "Frames of
// the betas".
enum class FrameLayout : std::uint8_t {
  current,  // since 2.0.0-rc1
  beta,     // 2.0.0-beta.2 to beta.5, and development until rc1: no blocksize, eight filter slots
};

// The checked fixed fields.  Codec, filters, blocksize are what a writer would use for new chunks;
// every chunk carries its own.
struct FrameHeader {
  std::uint32_t header_len = 0;  // fixed part and metalayers
  std::uint64_t frame_len = 0;   // all of the frame; bytes after it are not the frame's
  std::uint64_t nbytes = 0;      // decoded size of all chunks
  std::uint64_t cbytes = 0;      // size of the chunks section, dead bytes included
  std::uint32_t typesize = 0;    // the true one, may exceed 255
  std::int32_t blocksize = 0;    // advisory
  std::uint32_t chunksize = 0;   // decoded size of each chunk but the last; 0 where they vary
  FrameType type = FrameType::contiguous;
  FrameLayout layout = FrameLayout::current;
  std::uint8_t version = 0;  // of the format
  std::uint8_t codec_id = 0;
  std::uint8_t codec_meta = 0;
  std::uint8_t clevel = 0;
  std::uint8_t splitmode = 0;  // 1 always, 2 never, 3 auto, 4 forward-compatible
  bool use_dict = false;
  FilterSlots filters{};

  // Where the directory of metalayers starts; the fixed fields end there.
  [[nodiscard]] std::size_t metalayers_at() const noexcept {
    constexpr std::size_t kBetaFixedBytes = 82;
    return layout == FrameLayout::beta ? kBetaFixedBytes : kFrameFixedHeaderBytes;
  }

  // Every chunk stores its own size.  Source: frame format, "chunksize".
  [[nodiscard]] bool has_variable_chunks() const noexcept { return nbytes > 0 && chunksize == 0; }
};

// Whether `head`, the first bytes of a file, bears a frame's magic, damaged or not in the rest.
bool has_frame_magic(std::span<const std::byte> head) noexcept;

// Reads and checks the fixed header; `head` holds at least its 87 bytes, which every frame has.
// Errors: truncated, bad_field, unsupported (a newer format, or one older than 2.0.0-beta.2), with
// offsets from the frame's start.  That frame_len fits the file is left to the caller.
Result<FrameHeader> parse_frame_header(std::span<const std::byte> head);

// Writes the fixed header; what parse_frame_header() reads.  For codecs whose number the header's
// short field can tell, and frames of version 2.
void encode_frame_header(const FrameHeader& header, bool has_vlmetalayers,
                         std::span<std::byte, kFrameFixedHeaderBytes> out) noexcept;

// The fields that a commit changes in the fixed header of an existing frame.
struct FrameSizes {
  std::uint64_t frame_len = 0;
  std::uint64_t nbytes = 0;
  std::uint64_t cbytes = 0;
  bool has_vlmetalayers = false;
};

// Sets these fields and leaves every other byte as it is.
void patch_frame_header(const FrameSizes& sizes,
                        std::span<std::byte, kFrameFixedHeaderBytes> head) noexcept;

}  // namespace framefs::codec
