#include "tests/support/stream_encoder.h"

#include <snappy-c.h>

#include <memory>

#include <lz4.h>
#include <lz4hc.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/support/blosclz_encoder.h"

namespace framefs::test {
namespace {

Bytes lz4(std::span<const std::byte> plain, std::span<const std::byte> dictionary) {
  const auto plain_bytes = static_cast<int>(plain.size());
  Bytes out(static_cast<std::size_t>(LZ4_compressBound(plain_bytes)));
  const auto room = static_cast<int>(out.size());
  const std::unique_ptr<LZ4_stream_t, int (*)(LZ4_stream_t*)> stream(LZ4_createStream(),
                                                                     LZ4_freeStream);
  LZ4_loadDict(stream.get(), as_chars(dictionary.data()), static_cast<int>(dictionary.size()));
  const int size = LZ4_compress_fast_continue(stream.get(), as_chars(plain.data()),
                                              as_chars(out.data()), plain_bytes, room, 1);
  out.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return out;
}

Bytes lz4hc(int level, std::span<const std::byte> plain, std::span<const std::byte> dictionary) {
  const auto plain_bytes = static_cast<int>(plain.size());
  Bytes out(static_cast<std::size_t>(LZ4_compressBound(plain_bytes)));
  const auto room = static_cast<int>(out.size());
  const std::unique_ptr<LZ4_streamHC_t, int (*)(LZ4_streamHC_t*)> stream(LZ4_createStreamHC(),
                                                                         LZ4_freeStreamHC);
  LZ4_resetStreamHC_fast(stream.get(), level);
  LZ4_loadDictHC(stream.get(), as_chars(dictionary.data()), static_cast<int>(dictionary.size()));
  const int size = LZ4_compress_HC_continue(stream.get(), as_chars(plain.data()),
                                            as_chars(out.data()), plain_bytes, room);
  out.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return out;
}

Bytes snappy(std::span<const std::byte> plain) {
  std::size_t size = snappy_max_compressed_length(plain.size());
  Bytes out(size);
  const auto result =
      snappy_compress(as_chars(plain.data()), plain.size(), as_chars(out.data()), &size);
  out.resize(result == SNAPPY_OK ? size : 0);
  return out;
}

Bytes zlib(int level, std::span<const std::byte> plain) {
  uLongf size = compressBound(plain.size());
  Bytes out(size);
  const auto* from = reinterpret_cast<const Bytef*>(plain.data());  // zlib's byte type
  auto* to = reinterpret_cast<Bytef*>(out.data());                  // as above
  const int result = compress2(to, &size, from, plain.size(), level);
  out.resize(result == Z_OK ? size : 0);
  return out;
}

Bytes zstd(int level, std::span<const std::byte> plain, std::span<const std::byte> dictionary) {
  Bytes out(ZSTD_compressBound(plain.size()));
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                        ZSTD_freeCCtx);
  const std::size_t size =
      ZSTD_compress_usingDict(context.get(), out.data(), out.size(), plain.data(), plain.size(),
                              dictionary.data(), dictionary.size(), level);
  out.resize(ZSTD_isError(size) != 0 ? 0 : size);
  return out;
}

}  // namespace

Bytes compress_stream(Codec codec, int level, std::span<const std::byte> plain,
                      std::span<const std::byte> dictionary) {
  switch (codec) {
    case Codec::memcpy:
      return {};
    case Codec::blosclz:
      return blosclz_encode(plain);
    case Codec::lz4:
      return lz4(plain, dictionary);
    case Codec::lz4hc:
      return lz4hc(level, plain, dictionary);
    case Codec::snappy:
      return snappy(plain);
    case Codec::zlib:
      return zlib(level, plain);
    case Codec::zstd:
      return zstd(level, plain, dictionary);
  }
  return {};
}

}  // namespace framefs::test
