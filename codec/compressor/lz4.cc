#include "codec/compressor/lz4.h"

#include <utility>

#include <lz4.h>

namespace framefs::codec {
namespace {

// The library counts in int.
bool is_countable(std::span<const std::byte> bytes) { return std::in_range<int>(bytes.size()); }

const char* chars(std::span<const std::byte> bytes) {
  return reinterpret_cast<const char*>(bytes.data());  // char may alias every type
}
char* chars(std::span<std::byte> bytes) {
  return reinterpret_cast<char*>(bytes.data());  // char may alias every type
}

}  // namespace

Status decode_lz4(std::span<const std::byte> in, std::span<std::byte> out,
                  std::span<const std::byte> dictionary) {
  if (!is_countable(in) || !is_countable(out) || !is_countable(dictionary)) {
    return fail(Errc::over_limit, "lz4 stream size");
  }
  const int in_bytes = static_cast<int>(in.size());
  const int out_bytes = static_cast<int>(out.size());
  const int produced =
      dictionary.empty()
          ? LZ4_decompress_safe(chars(in), chars(out), in_bytes, out_bytes)
          : LZ4_decompress_safe_usingDict(chars(in), chars(out), in_bytes, out_bytes,
                                          chars(dictionary), static_cast<int>(dictionary.size()));
  if (produced < 0) return fail(Errc::bad_field, "lz4 stream");
  if (produced != out_bytes) {
    return fail_value(Errc::bad_field, "lz4 decoded size", in.size(), produced);
  }
  return {};
}

}  // namespace framefs::codec
