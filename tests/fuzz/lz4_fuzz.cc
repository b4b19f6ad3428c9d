// Intent: any bytes as one LZ4 stream, with and without a dictionary.  The decoder accepts the
// streams that liblz4 accepts, except for those with a distance of 0, and returns the same bytes.
// If the whole decodes, each prefix decodes to the same bytes.  No byte depends on what the output
// held before.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "codec/compressor/lz4_decoder.h"
#include "codec/core/byte_reader.h"
#include "tests/support/bytes.h"
#include "tests/support/lz4_reference.h"

namespace {

using namespace framefs;
using test::Bytes;

void demand(bool holds) {
  if (!holds) std::abort();
}

void demand_sound(const codec::Status& status, std::size_t stream_bytes) {
  if (status) return;
  demand(status.error().kind == codec::Errc::truncated ||
         status.error().kind == codec::Errc::bad_field);
  demand(status.error().at <= stream_bytes);
}

// The buffers have their exact size, so that the address sanitizer detects the first byte beyond.
void check_prefix(std::span<const std::byte> stream, std::size_t size, std::size_t count,
                  const Bytes* whole) {
  Bytes once(size, std::byte{0x55});
  Bytes again(size, std::byte{0xaa});
  const auto status = codec::decode_lz4_prefix(stream, once, count);
  demand(codec::decode_lz4_prefix(stream, again, count).has_value() == status.has_value());
  demand_sound(status, stream.size());
  if (!status) return demand(whole == nullptr);
  const auto head = std::span(once).first(count);
  demand(std::ranges::equal(head, std::span(again).first(count)));
  if (whole != nullptr) demand(std::ranges::equal(head, std::span(*whole).first(count)));
}

void check(std::span<const std::byte> stream, std::size_t size, const Bytes& dictionary) {
  const auto expected = test::lz4_reference(stream, size, dictionary);
  Bytes once(size, std::byte{0x55});
  Bytes again(size, std::byte{0xaa});
  const auto status = codec::decode_lz4(stream, once, dictionary);
  demand(codec::decode_lz4(stream, again, dictionary).has_value() == status.has_value());
  demand_sound(status, stream.size());
  demand(status.has_value() == expected.has_value());
  if (status) demand(once == again && once == *expected);
  if (!dictionary.empty() || size == 0) return;
  for (const std::size_t count : {stream.size() * 7 % size, size / 2, size - 1}) {
    check_prefix(stream, size, count, status ? &once : nullptr);
  }
}

}  // namespace

// Input: two bytes for the size of the output, one for the size of the dictionary; the dictionary;
// the stream.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  constexpr std::size_t kHeadBytes = 3;
  if (bytes.size() < kHeadBytes) return 0;
  const std::size_t room = codec::load_le<std::uint16_t>(bytes.data());
  const auto rest = bytes.subspan(kHeadBytes);
  const auto text =
      rest.first(std::min<std::size_t>(codec::load_le<std::uint8_t>(&bytes[2]), rest.size()));
  const auto from = rest.subspan(text.size());
  const Bytes stream(from.begin(), from.end());
  check(stream, room, Bytes(text.begin(), text.end()));
  check(stream, room, {});
  return 0;
}
