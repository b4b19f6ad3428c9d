#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/compressor/stream_format.h"
#include "codec/compressor/zlib.h"
#include "codec/compressor/zstd.h"
#include "codec/core/result.h"
#include "codec/core/scratch.h"

namespace framefs::codec {

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
//
// Invariant: a decoder that succeeds has written every byte that it reports (all of `out`, or the first
// `count` bytes), and every one of them follows from the stream, the format and the dictionary alone.
// `out` may hold bytes of files of other users, which the reader of this one must never see; so may the
// scratch memory.  A library's function that does not promise this for any input is not called.
class StreamDecoder {
 public:
  StreamDecoder() = default;
  StreamDecoder(StreamDecoder&&) noexcept = default;
  StreamDecoder& operator=(StreamDecoder&&) noexcept = default;

  // Decodes one stream, which must fill `out` exactly.  `dictionary` is null, or one made for the
  // same codec.
  // Errors: truncated, bad_field, checksum, over_limit, as the codec has it; those of
  //   check_stream_format() for a format that it refuses; system, where there is no memory;
  //   internal, for a dictionary of another codec.  `out` then holds unspecified bytes; the decoder
  //   is good for further use.
  // Lifetime: the buffers do not overlap.
  Status decode(const StreamFormat& format, std::span<const std::byte> in, std::span<std::byte> out,
                const Dictionary* dictionary);

  // The first `count` bytes of the same, and of `in` no more than they need where stops_early().  What
  // `out` holds behind them is unspecified.
  Status decode_prefix(const StreamFormat& format, std::span<const std::byte> in,
                       std::span<std::byte> out, std::size_t count, const Dictionary* dictionary);
  // Whether the beginning of a stream takes less than the whole of it.
  static bool stops_early(const StreamFormat& format, const Dictionary* dictionary) noexcept;

 private:
  Status decode_plugin(const StreamFormat& format, std::span<const std::byte> in,
                       std::span<std::byte> out);

  std::optional<ZlibDecoder> zlib_;
  std::optional<ZstdDecoder> zstd_;
  Scratch scratch_;  // for plugins
};

}  // namespace framefs::codec
