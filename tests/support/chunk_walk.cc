#include "tests/support/chunk_walk.h"

#include <algorithm>
#include <memory>

#include <lz4.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/support/blosclz_reference.h"

namespace framefs::test {
namespace {

std::uint32_t u8_at(std::span<const std::byte> chunk, std::size_t at) {
  return std::to_integer<std::uint32_t>(chunk[at]);
}

std::int32_t i32_at(std::span<const std::byte> chunk, std::size_t at) {
  return static_cast<std::int32_t>(u8_at(chunk, at) | u8_at(chunk, at + 1) << 8 |
                                   u8_at(chunk, at + 2) << 16 | u8_at(chunk, at + 3) << 24);
}

// `format` is the number in bits 5-7 of the flags.
std::optional<Bytes> decompress(std::uint32_t format, std::span<const std::byte> in,
                                std::size_t size, std::span<const std::byte> dictionary) {
  Bytes out(size);
  switch (format) {
    case 0: {
      auto decoded = blosclz_reference(in, size);
      if (!decoded || decoded->size() != size) return std::nullopt;
      return decoded;
    }
    case 1: {
      const int produced = LZ4_decompress_safe(as_chars(in.data()), as_chars(out.data()),
                                               static_cast<int>(in.size()), static_cast<int>(size));
      if (produced < 0 || static_cast<std::size_t>(produced) != size) return std::nullopt;
      return out;
    }
    case 3: {
      uLongf produced = size;
      const auto* from = reinterpret_cast<const Bytef*>(in.data());  // zlib's byte type
      auto* to = reinterpret_cast<Bytef*>(out.data());               // as above
      if (uncompress(to, &produced, from, in.size()) != Z_OK || produced != size) {
        return std::nullopt;
      }
      return out;
    }
    case 4: {
      const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                            ZSTD_freeDCtx);
      const auto produced =
          ZSTD_decompress_usingDict(context.get(), out.data(), size, in.data(), in.size(),
                                    dictionary.data(), dictionary.size());
      if (ZSTD_isError(produced) != 0 || produced != size) return std::nullopt;
      return out;
    }
    default:
      return std::nullopt;
  }
}

// Reads streams one after the other.
struct Walk {
  std::span<const std::byte> chunk;
  std::size_t at = 0;
  WalkedChunk found;

  std::optional<Bytes> stream(std::uint32_t format, std::size_t size) {
    if (chunk.size() - at < 4) return std::nullopt;
    const auto csize = i32_at(chunk, at);
    at += 4;
    if (csize == 0) {
      found.forms.push_back(StreamForm::zeros);
      return Bytes(size);
    }
    if (csize < 0) {
      if (csize < -255 || at == chunk.size() || u8_at(chunk, at) != 1) return std::nullopt;
      ++at;
      found.forms.push_back(StreamForm::run);
      return Bytes(size, static_cast<std::byte>(-csize));
    }
    const auto stored = static_cast<std::size_t>(csize);
    if (stored > chunk.size() - at || stored > size) return std::nullopt;
    const auto payload = chunk.subspan(at, stored);
    at += stored;
    found.forms.push_back(stored == size ? StreamForm::raw : StreamForm::compressed);
    if (stored == size) return Bytes(payload.begin(), payload.end());
    return decompress(format, payload, size, found.dictionary);
  }
};

}  // namespace

std::optional<WalkedChunk> walk_chunk(std::span<const std::byte> chunk) {
  if (chunk.size() < 32 || u8_at(chunk, 0) != 5 || (u8_at(chunk, 2) & 0x0F) != 0x05) return {};
  Walk walk{.chunk = chunk, .at = 32, .found = {}};
  auto& found = walk.found;
  found.nbytes = static_cast<std::uint32_t>(i32_at(chunk, 4));
  found.blocksize = static_cast<std::uint32_t>(i32_at(chunk, 8));
  if (static_cast<std::size_t>(i32_at(chunk, 12)) != chunk.size()) return {};
  if (found.blocksize == 0 || found.blocksize > found.nbytes) return {};
  const auto typesize = u8_at(chunk, 3);
  const auto format = u8_at(chunk, 2) >> 5;
  const bool split = (u8_at(chunk, 2) & 0x10) == 0;
  const bool has_dictionary = u8_at(chunk, 31) == 1;
  if (u8_at(chunk, 31) > 1 || (has_dictionary && split)) return {};

  const std::size_t blocks = (found.nbytes + found.blocksize - 1) / found.blocksize;
  walk.at += 4 * blocks;
  if (has_dictionary) {
    const auto size = static_cast<std::size_t>(i32_at(chunk, walk.at));
    if (size == 0 || size > 32768) return {};
    const auto bytes = chunk.subspan(walk.at + 4, size);
    found.dictionary.assign(bytes.begin(), bytes.end());
    walk.at += 4 + size;
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    if (static_cast<std::size_t>(i32_at(chunk, 32 + 4 * block)) != walk.at) return {};
    const auto size =
        std::min<std::size_t>(found.blocksize, found.nbytes - block * std::size_t{found.blocksize});
    const std::size_t streams = split && size == found.blocksize ? typesize : 1;
    if (size % streams != 0) return {};
    Bytes whole;
    for (std::size_t stream = 0; stream < streams; ++stream) {
      const auto bytes = walk.stream(format, size / streams);
      if (!bytes) return {};
      append(whole, *bytes);
    }
    found.filtered_blocks.push_back(std::move(whole));
  }
  if (walk.at != chunk.size()) return {};
  return found;
}

}  // namespace framefs::test
