#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/compressor/zlib.h"
#include "codec/compressor/zstd.h"
#include "codec/core/result.h"

namespace framefs::codec {

// How the streams of a chunk are coded, as bits 5-7 of its flags say.
// Source: chunk format, flag bits.
enum class CodecFormat : std::uint8_t {
  blosclz = 0,
  lz4 = 1,  // LZ4HC writes the same
  snappy = 2,
  zlib = 3,
  zstd = 4,
  lizard = 5,
  plugin = 6,
  superchunk = 7,
};

const char* codec_format_name(CodecFormat format) noexcept;

// Whether StreamDecoder decodes it.
bool is_codec_supported(CodecFormat format) noexcept;

// The dictionary of one chunk, prepared once; owns its bytes.  Immutable: any number of decoders,
// in any threads, may use it at once.
class Dictionary {
 public:
  // Formats that have no dictionaries take any bytes and ignore them.
  // Errors: bad_field, "dictionary", where the codec cannot use the bytes.
  // Source: chunk format, codecs and dictionaries.
  static Result<Dictionary> make(CodecFormat format, std::span<const std::byte> bytes);

  // What keeping it costs, beyond the object itself.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  friend class StreamDecoder;

  explicit Dictionary(CodecFormat format) noexcept : format_(format) {}

  CodecFormat format_;
  std::vector<std::byte> text_;         // for lz4
  std::optional<ZstdDictionary> zstd_;  // for zstd
};

// One thread's decoding contexts, made on first use and kept.  Threads: one at a time.
class StreamDecoder {
 public:
  StreamDecoder() = default;
  StreamDecoder(StreamDecoder&&) noexcept = default;
  StreamDecoder& operator=(StreamDecoder&&) noexcept = default;

  // Decodes one stream, which must fill `out` exactly.  `dictionary` is null, or one made for the
  // same format.
  // Errors: truncated, bad_field, checksum, over_limit, as the codec has it; unsupported, "codec",
  //   with the format as the value; system, where there is no memory; internal, for a dictionary of
  //   another format.  `out` then holds unspecified bytes; the decoder is good for further use.
  // Lifetime: the buffers do not overlap.
  Status decode(CodecFormat format, std::span<const std::byte> in, std::span<std::byte> out,
                const Dictionary* dictionary);

 private:
  std::optional<ZlibDecoder> zlib_;
  std::optional<ZstdDecoder> zstd_;
};

}  // namespace framefs::codec
