#include "tests/support/blosclz_encoder.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "codec/core/byte_reader.h"

namespace framefs::test {
namespace {

constexpr std::size_t kWordBytes = 4;
constexpr unsigned kHashBits = 14;
constexpr std::size_t kNearDistance = 8191;
// A far match takes four bytes, so it must be long enough to be worthwhile.
constexpr std::size_t kShortestFarMatch = 7;
constexpr std::byte kLevelMark{0x20};

std::size_t hash(std::uint32_t word) { return (word * 2654435761U) >> (32 - kHashBits); }

void append_low_byte(Bytes& stream, std::size_t value) {
  stream.push_back(static_cast<std::byte>(value));
}

std::size_t common_length(std::span<const std::byte> a, std::span<const std::byte> b) {
  const auto differ = std::ranges::mismatch(a, b);
  return static_cast<std::size_t>(differ.in1 - a.begin());
}

}  // namespace

void append_blosclz_literals(Bytes& stream, std::span<const std::byte> literals) {
  while (!literals.empty()) {
    const auto count = std::min<std::size_t>(literals.size(), 32);
    append_low_byte(stream, count - 1);
    append(stream, literals.first(count));
    literals = literals.subspan(count);
  }
}

void append_blosclz_match(Bytes& stream, std::size_t length, std::size_t distance) {
  const bool far = distance > kNearDistance;
  const std::size_t near_code = far ? kNearDistance : distance - 1;
  const std::size_t code = length - kBlosclzShortestMatch + 1;
  append_low_byte(stream, std::min<std::size_t>(code, 7) << 5 | near_code >> 8);
  if (code >= 7) {
    std::size_t rest = code - 7;
    for (; rest >= 255; rest -= 255) append_low_byte(stream, 255);
    append_low_byte(stream, rest);
  }
  append_low_byte(stream, near_code & 255);
  if (far) append_be(stream, static_cast<std::uint16_t>(distance - kNearDistance - 1));
}

Bytes blosclz_encode(std::span<const std::byte> plain) {
  Bytes stream;
  std::vector<std::size_t> last_seen(std::size_t{1} << kHashBits, plain.size());
  std::size_t literals = 0;  // start of the literals not written yet
  std::size_t at = 1;        // the first byte is a literal, because a match copies earlier bytes
  // The last byte stays a literal, because readers ignore a match at the end of the stream.
  while (plain.size() > kWordBytes && at < plain.size() - kWordBytes) {
    auto& seen = last_seen[hash(codec::load_le<std::uint32_t>(&plain[at]))];
    const std::size_t candidate = seen;
    seen = at;
    // Tries the byte before first, because shuffled numbers consist mostly of runs.
    std::size_t length = 0;
    std::size_t distance = 0;
    for (const std::size_t from : {at - 1, candidate}) {
      if (from >= at || at - from > kBlosclzLongestDistance) continue;
      const auto rest = plain.subspan(at).first(plain.size() - at - 1);
      const auto common = common_length(rest, plain.subspan(from));
      if (common <= length) continue;
      length = common;
      distance = at - from;
    }
    if (length < (distance > kNearDistance ? kShortestFarMatch : kWordBytes)) {
      ++at;
      continue;
    }
    append_blosclz_literals(stream, plain.subspan(literals, at - literals));
    append_blosclz_match(stream, length, distance);
    at += length;
    literals = at;
  }
  append_blosclz_literals(stream, plain.subspan(literals));
  if (!stream.empty()) stream.front() |= kLevelMark;
  return stream;
}

}  // namespace framefs::test
