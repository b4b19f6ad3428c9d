// Intent: any bytes as one BloscLZ stream.  The decoder accepts exactly the streams that the
// byte-by-byte reference decodes to the requested size, and returns the same bytes.  This holds for
// prefixes too.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "codec/compressor/blosclz.h"
#include "codec/core/byte_reader.h"
#include "tests/support/blosclz_reference.h"
#include "tests/support/bytes.h"

namespace {

using namespace framefs;

void demand(bool holds) {
  if (!holds) std::abort();
}

// Both buffers have exact sizes, so that the address sanitizer detects the first byte beyond them.
void compare(std::span<const std::byte> stream, std::size_t size) {
  const auto expected = test::blosclz_reference(stream, size);
  const bool good = expected && expected->size() == size;
  test::Bytes out(size);
  const auto status = codec::decode_blosclz(stream, out);
  demand(status.has_value() == good);
  if (good) {
    demand(out == *expected);
    const std::size_t count = stream.size() * 7 % (size + 1);
    test::Bytes head(size);
    demand(codec::decode_blosclz_prefix(stream, head, count).has_value());
    demand(
        std::equal(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(count), out.begin()));
    return;
  }
  demand(status.error().kind == codec::Errc::truncated ||
         status.error().kind == codec::Errc::bad_field);
  demand(status.error().at <= stream.size());
}

}  // namespace

// The first two bytes are the size of the output, the rest is the stream.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  constexpr std::size_t kSizeBytes = 2;
  if (bytes.size() < kSizeBytes) return 0;
  const std::size_t room = codec::load_le<std::uint16_t>(bytes.data());
  const test::Bytes stream(bytes.begin() + kSizeBytes, bytes.end());
  compare(stream, room);
  const auto fits = test::blosclz_reference(stream, room);
  if (!fits) return 0;
  compare(stream, fits->size());
  compare(stream, fits->size() - 1);
  return 0;
}
