#include "codec/compressor/blosclz.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "codec/compressor/wide_copy.h"

namespace framefs::codec {
namespace {

// A stream is a list of operations, each of which starts with a control byte.  Below 32, it starts
// a run of control + 1 literals.  Otherwise it starts a match: its top three bits are the length,
// its low five bits the start of the distance.  Source: chunk format, BloscLZ streams.
constexpr std::uint32_t kLowBits = 31;
constexpr std::uint32_t kFirstMatch = 32;
constexpr std::uint32_t kFirstLongMatch = 224;  // length bytes follow, which are added
constexpr std::uint32_t kLengthGoesOn = 255;    // after such a byte, another one follows
constexpr std::uint32_t kShortestMatch = 3;
// Smaller distances have 13 bits.  The code for this distance means that 16 more bits follow, which
// are added to it.
constexpr std::size_t kFarDistance = 8192;

// The number of bytes that the wide decoder may write after the output of an operation.
constexpr std::size_t kOutputMargin = kStride;
// A control byte and the longest literal run.
constexpr std::size_t kInputMargin = 1 + kStride;
// After one length byte of a long match: another length byte, three distance bytes, a control byte.
constexpr std::ptrdiff_t kMatchMargin = 5;

// The position of the next operation in the input, and of its output.
struct Cursor {
  std::size_t in = 0;
  std::size_t out = 0;
};

struct Match {
  std::uint64_t length = 0;  // no stream is long enough for its sum to overflow
  std::size_t distance = 0;
  std::size_t end = 0;  // position of the next control byte
};

inline std::uint32_t first_length(std::uint32_t control) {
  return (control >> 5) - 1 + kShortestMatch;
}
inline std::uint32_t first_distance(std::uint32_t control, std::byte low) {
  return ((control & kLowBits) << 8) + u32(low) + 1;
}
inline std::uint32_t more_distance(std::byte high, std::byte low) {
  return (u32(high) << 8) + u32(low);
}

// Reads the distance of a match and moves past it.  The caller has checked that its bytes exist.
inline std::size_t read_distance(std::uint32_t control, const std::byte*& from) {
  std::size_t distance = first_distance(control, *from++);
  if (distance == kFarDistance) {
    distance += more_distance(from[0], from[1]);
    from += 2;
  }
  return distance;
}

// Decodes operations while both buffers have room for wide moves, the stream is valid and fewer
// than `count` bytes are decoded.  Returns the position where it stopped.  decode_exactly()
// continues there, or reports the error.
Cursor decode_wide(std::span<const std::byte> in, std::span<std::byte> out, Cursor at,
                   std::size_t count) {
  if (in.size() < kInputMargin || out.size() < kOutputMargin) return at;
  const std::byte* const in_end = in.data() + in.size();
  const std::byte* const in_stop = in.data() + (in.size() - kInputMargin);
  const std::byte* const out_stop = out.data() + std::min(count, out.size() - kOutputMargin);
  const std::byte* next = in.data() + at.in;
  std::byte* to = out.data() + at.out;

  while (next <= in_stop && to <= out_stop) {
    const auto control = u32(*next);
    if (control < kFirstMatch) {
      move_bytes<16>(to, next + 1);
      move_bytes<16>(to + 16, next + 17);
      to += control + 1;
      next += control + 2;
      continue;
    }
    const std::byte* from = next + 1;
    if (control < kFirstLongMatch) {
      const auto distance = read_distance(control, from);
      if (distance > static_cast<std::size_t>(to - out.data())) break;
      if (distance >= 8) {  // a short match has at most eight bytes
        move_bytes<16>(to, to - distance);
      } else {
        store_word(to, pattern(to, distance));
      }
      to += first_length(control);
      next = from;
      continue;
    }
    std::uint64_t length = first_length(control);
    auto more = kLengthGoesOn;
    do {
      more = u32(*from++);
      length += more;
    } while (more == kLengthGoesOn && in_end - from >= kMatchMargin);
    if (more == kLengthGoesOn || length > static_cast<std::size_t>(out_stop - to)) break;
    const auto distance = read_distance(control, from);
    if (distance > static_cast<std::size_t>(to - out.data())) break;
    copy_match(to, distance, static_cast<std::size_t>(length));
    to += length;
    next = from;
  }
  return {static_cast<std::size_t>(next - in.data()), static_cast<std::size_t>(to - out.data())};
}

// Copies the run of `count` literals whose control byte is at `at`.
Result<Cursor> copy_literals(std::span<const std::byte> in, std::span<std::byte> out, Cursor at,
                             std::size_t count) {
  constexpr auto kField = "blosclz literal run";
  if (count > in.size() - at.in - 1) return fail(Errc::truncated, kField, at.in);
  if (count > out.size() - at.out) return fail(Errc::bad_field, kField, at.in);
  std::memcpy(out.data() + at.out, in.data() + at.in + 1, count);
  return Cursor{at.in + 1 + count, at.out + count};
}

// Parses the match whose control byte is at `begin`.  Another operation must follow it: readers
// ignore a match at the end of the stream, so that their output would be too short.
Result<Match> parse_match(std::span<const std::byte> in, std::size_t begin) {
  constexpr auto kField = "blosclz match";
  const auto control = u32(in[begin]);
  Match match{.length = first_length(control), .end = begin + 1};
  if (control >= kFirstLongMatch) {
    for (auto more = kLengthGoesOn; more == kLengthGoesOn; match.length += more) {
      if (match.end == in.size()) return fail(Errc::truncated, kField, begin);
      more = u32(in[match.end++]);
    }
  }
  if (in.size() - match.end < 2) return fail(Errc::truncated, kField, begin);
  match.distance = first_distance(control, in[match.end++]);
  if (match.distance == kFarDistance) {
    if (in.size() - match.end < 3) return fail(Errc::truncated, kField, begin);
    match.distance += more_distance(in[match.end], in[match.end + 1]);
    match.end += 2;
  }
  return match;
}

// Decodes until `count` bytes are decoded, with all checks for each operation.  If `count` is the
// size of `out`, decodes to the end of the stream.
Status decode_exactly(std::span<const std::byte> in, std::span<std::byte> out, Cursor at,
                      std::size_t count) {
  const bool is_prefix = count < out.size();
  while (at.in < in.size() && !(is_prefix && at.out >= count)) {
    const auto control = u32(in[at.in]);
    if (control < kFirstMatch) {
      FRAMEFS_TRY(at, copy_literals(in, out, at, control + 1));
      continue;
    }
    FRAMEFS_TRY(const auto match, parse_match(in, at.in));
    if (match.distance > at.out) return fail(Errc::bad_field, "blosclz match distance", at.in);
    if (match.length > out.size() - at.out) {
      return fail(Errc::bad_field, "blosclz match length", at.in);
    }
    const auto length = static_cast<std::size_t>(match.length);
    copy_match_exactly(out.data() + at.out, match.distance, length);
    at = {match.end, at.out + length};
  }
  if (is_prefix ? at.out < count : at.out != out.size())
    return fail(Errc::bad_field, "blosclz decoded size", at.in);
  return {};
}

}  // namespace

Status decode_blosclz(std::span<const std::byte> in, std::span<std::byte> out) {
  return decode_blosclz_prefix(in, out, out.size());
}

Status decode_blosclz_prefix(std::span<const std::byte> in, std::span<std::byte> out,
                             std::size_t count) {
  if (in.empty()) return fail(Errc::truncated, "blosclz stream");
  // The first operation is always a literal run.  The upper bits of its control byte mark the
  // compression level.
  const auto literals = (u32(in[0]) & kLowBits) + 1;
  FRAMEFS_TRY(const auto after, copy_literals(in, out, Cursor{}, literals));
  return decode_exactly(in, out, decode_wide(in, out, after, count), count);
}

}  // namespace framefs::codec
