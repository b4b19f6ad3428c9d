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

// The dictionary of one chunk, prepared once.  Owns its bytes.  Immutable; any number of decoders
// and threads may use it at once.
class Dictionary {
 public:
  // For formats without dictionaries, the bytes are ignored.
  // Errors: bad_field, "dictionary", if the codec cannot use the bytes.
  // Source: chunk format, codecs and dictionaries.
  static Result<Dictionary> make(CodecFormat format, std::span<const std::byte> bytes);

  // The memory that it holds besides the object itself.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  friend class StreamDecoder;

  explicit Dictionary(CodecFormat format) noexcept : format_(format) {}

  CodecFormat format_;
  std::vector<std::byte> text_;         // for lz4
  std::optional<ZstdDictionary> zstd_;  // for zstd
};

// Decoding contexts for one thread, created on first use and kept.  Threads: one at a time.
//
// Invariant: a decoder that succeeds has written every byte that it reports (all of `out`, or the
// first `count` bytes).  Each of these bytes depends only on the stream, the format and the
// dictionary.  This matters because `out` and the scratch memory may hold bytes of other users'
// files, which the reader of this file must never see.  Hence a library function that does not
// guarantee this for every input is not called.
class StreamDecoder {
 public:
  StreamDecoder() = default;
  StreamDecoder(StreamDecoder&&) noexcept = default;
  StreamDecoder& operator=(StreamDecoder&&) noexcept = default;

  // Decodes one stream, which must fill `out` exactly.  `dictionary` is null or was made for this
  // codec.
  // Errors: truncated, bad_field, checksum, over_limit, from the codec; errors of
  // check_stream_format() for a format that it refuses; system, if memory runs out; internal, for a
  // dictionary of another codec.  The content of `out` is then undefined; the decoder can still be
  // used.
  // Lifetime: the buffers do not overlap.
  Status decode(const StreamFormat& format, std::span<const std::byte> in, std::span<std::byte> out,
                const Dictionary* dictionary);

  // Decodes only the first `count` bytes.  If stops_early(), reads no more of `in` than they need.
  // The rest of `out` is undefined.
  Status decode_prefix(const StreamFormat& format, std::span<const std::byte> in,
                       std::span<std::byte> out, std::size_t count, const Dictionary* dictionary);
  // Whether the beginning of a stream can be decoded without the rest.
  static bool stops_early(const StreamFormat& format, const Dictionary* dictionary) noexcept;

 private:
  Status decode_plugin(const StreamFormat& format, std::span<const std::byte> in,
                       std::span<std::byte> out);

  std::optional<ZlibDecoder> zlib_;
  std::optional<ZstdDecoder> zstd_;
  Scratch scratch_;  // for plugins
};

}  // namespace framefs::codec
