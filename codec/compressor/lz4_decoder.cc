#include "codec/compressor/lz4_decoder.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "codec/compressor/wide_copy.h"

namespace framefs::codec {
namespace {

// A stream is a list of sequences.  Each has a token, literals and a match.  The token's high half
// counts the literals; its low half counts the bytes of the match beyond the shortest length.  If a
// half has all bits set, further bytes continue its count.  The last sequence ends after its
// literals.
// Source: lz4_Block_format.md.
constexpr std::uint32_t kLowHalf = 15;
constexpr std::uint32_t kLengthGoesOn = 255;
constexpr std::size_t kShortestMatch = 4;
constexpr std::size_t kLongestShortMatch = 18;  // the longest whose length fits in a token
constexpr std::size_t kDistanceBytes = 2;
// The last match must begin and end at least this many bytes before the end of the output.  The
// library's decoder, and therefore other readers, refuse other streams.  Source:
// lz4_Block_format.md, "End of block conditions".
constexpr std::size_t kLastMatchBytes = 12;
constexpr std::size_t kLastLiterals = 5;

// Literals whose number fits in a token are copied in one move of this size.
constexpr std::size_t kShortLiterals = 16;
// A token, the bytes that a copy of literals may read too far, and a distance.
constexpr std::size_t kInputMargin = 1 + kStride + kDistanceBytes;
static_assert(kStride >= kShortLiterals);
// The same literals, and the bytes that a match may write.
constexpr std::size_t kOutputMargin = kShortLiterals + kStride;
static_assert(kOutputMargin >= kShortLiterals + kLongestShortMatch + kLastLiterals);
static_assert(kOutputMargin >= kShortLiterals + kLastMatchBytes);

// The position of the next sequence in the input, and of its output.
struct Cursor {
  std::size_t in = 0;
  std::size_t out = 0;
};

inline std::size_t le16(const std::byte* from) { return u32(from[0]) + (u32(from[1]) << 8); }

// Moves past the bytes that continue a length and adds them to it.  Returns false if `end` comes
// first.  No stream is long enough for the sum to overflow.
inline bool add_length(const std::byte*& from, const std::byte* end, std::uint64_t& length) {
  for (auto more = kLengthGoesOn; more == kLengthGoesOn; length += more) {
    if (from == end) return false;
    more = u32(*from++);
  }
  return true;
}

inline std::uint64_t room(const std::byte* from, const std::byte* stop) {
  return from < stop ? static_cast<std::uint64_t>(stop - from) : 0;
}

// Copies a match of up to 18 bytes, which a token counts alone.  Writes up to kStride - 1 more
// bytes.
inline void copy_short_match(std::byte* to, std::size_t distance, std::size_t length) {
  if (distance < 8) [[unlikely]] {
    return copy_near_match(to, distance, length);
  }
  const std::byte* const from = to - distance;
  move_bytes<8>(to, from);
  move_bytes<8>(to + 8, from + 8);
  move_bytes<2>(to + 16, from + 16);
}

// Copies `length` bytes of a match that begins `before` bytes before the end of `dictionary`.
// Returns false if the match continues after that end, or if a wide move would read beyond it.
inline bool copy_from_dictionary(std::byte* to, std::span<const std::byte> dictionary,
                                 std::size_t before, std::uint64_t length) {
  if (before > dictionary.size() || before < kStride || length > before - kStride) return false;
  copy_apart(to, dictionary.last(before).data(), static_cast<std::size_t>(length));
  return true;
}

// Decodes sequences while both buffers have room for wide moves, the stream is valid and fewer than
// `count` bytes are decoded.  Returns the position where it stopped.  decode_sequence() continues
// there, or reports the error.  Both buffers have their margins after `at`.
Cursor decode_wide(std::span<const std::byte> in, std::span<std::byte> out,
                   std::span<const std::byte> dictionary, Cursor at, std::size_t count) {
  const std::byte* const in_end = in.data() + in.size();
  const std::byte* const in_stop = in.data() + (in.size() - kInputMargin);
  std::byte* const begin = out.data();
  std::byte* const out_stop = begin + std::min(count, out.size() - kOutputMargin);
  const std::byte* next = in.data() + at.in;
  std::byte* to = begin + at.out;

  while (next <= in_stop && to <= out_stop) {
    const auto token = u32(*next);
    const std::byte* from = next + 1;
    std::byte* match = to;
    std::uint64_t literals = token >> 4;
    if (literals != kLowHalf) {
      move_bytes<kShortLiterals>(to, from);
    } else {
      if (!add_length(from, in_end, literals)) break;
      if (literals > room(to, out_stop) || literals > room(from, in_stop)) break;
      copy_apart(to, from, static_cast<std::size_t>(literals));
    }
    from += literals;
    match += literals;

    const std::size_t distance = le16(from);
    from += kDistanceBytes;
    const auto written = static_cast<std::size_t>(match - begin);
    std::uint64_t length = (token & kLowHalf) + kShortestMatch;
    if ((token & kLowHalf) != kLowHalf) {
      // Distance 0 becomes the largest number, which is too far as well.
      if (distance - 1 < written) [[likely]] {
        copy_short_match(match, distance, static_cast<std::size_t>(length));
        to = match + length;
        next = from;
        continue;
      }
    } else if (!add_length(from, in_end, length) || length > room(match, out_stop)) {
      break;
    }
    if (distance - 1 < written) {
      copy_match(match, distance, static_cast<std::size_t>(length));
    } else if (distance == 0 ||
               !copy_from_dictionary(match, dictionary, distance - written, length)) {
      break;
    }
    to = match + length;
    next = from;
  }
  return {static_cast<std::size_t>(next - in.data()), static_cast<std::size_t>(to - begin)};
}

// Decodes one block.  Sequences that decode_wide() cannot decode are decoded with all checks.
class Lz4Block {
 public:
  // Lifetime: the arguments outlive the object.
  Lz4Block(std::span<const std::byte> in, std::span<std::byte> out,
           std::span<const std::byte> dictionary, std::size_t count) noexcept
      : in_(in), out_(out), dictionary_(dictionary), count_(count) {}

  Status decode() {
    // Of the streams of no bytes, the library accepts the one that it writes.
    if (out_.empty() && !in_.empty() && in_.front() != std::byte{0}) {
      return fail(Errc::bad_field, "lz4 token");
    }
    const bool is_prefix = count_ < out_.size();
    for (bool is_last = false; !is_last;) {
      if (in_.size() - at_.in >= kInputMargin && out_.size() - at_.out >= kOutputMargin) {
        at_ = decode_wide(in_, out_, dictionary_, at_, count_);
      }
      if (is_prefix && at_.out >= count_) return {};
      FRAMEFS_TRY(is_last, decode_sequence());
    }
    if (is_prefix ? at_.out < count_ : at_.out != out_.size()) {
      return fail_value(Errc::bad_field, "lz4 decoded size", in_.size(),
                        static_cast<std::int64_t>(at_.out));
    }
    return {};
  }

 private:
  // Returns whether the sequence was the last one, or the last one that is needed.
  Result<bool> decode_sequence() {
    const std::size_t begin = at_.in;
    if (begin == in_.size()) return fail(Errc::truncated, "lz4 stream", begin);
    const auto token = u32(in_[at_.in++]);
    std::uint64_t literals = token >> 4;
    if (!read_length(literals)) return fail(Errc::truncated, "lz4 literals", begin);
    if (literals > in_.size() - at_.in) return fail(Errc::truncated, "lz4 literals", begin);
    if (literals > out_.size() - at_.out) return fail(Errc::bad_field, "lz4 literals", begin);
    if (literals <= kShortLiterals && in_.size() - at_.in >= kShortLiterals &&
        out_.size() - at_.out >= kShortLiterals) {
      move_bytes<kShortLiterals>(out_.data() + at_.out, in_.data() + at_.in);
    } else {
      std::copy_n(in_.data() + at_.in, literals, out_.data() + at_.out);
    }
    at_.in += static_cast<std::size_t>(literals);
    at_.out += static_cast<std::size_t>(literals);
    if (at_.in == in_.size() || (count_ < out_.size() && at_.out >= count_)) return true;

    const std::size_t left = out_.size() - at_.out;
    if (left < kLastMatchBytes) return fail(Errc::bad_field, "lz4 match length", begin);
    if (in_.size() - at_.in < kDistanceBytes) return fail(Errc::truncated, "lz4 match", begin);
    const std::size_t distance = le16(in_.data() + at_.in);
    at_.in += kDistanceBytes;
    std::uint64_t beyond = token & kLowHalf;
    if (!read_length(beyond)) return fail(Errc::truncated, "lz4 match", begin);
    if (distance == 0 || (distance > at_.out && distance - at_.out > dictionary_.size())) {
      return fail(Errc::bad_field, "lz4 match distance", begin);
    }
    if (beyond > left - kLastLiterals - kShortestMatch) {
      return fail(Errc::bad_field, "lz4 match length", begin);
    }
    copy(distance, static_cast<std::size_t>(beyond) + kShortestMatch);
    return false;
  }

  // Completes the length in a half of a token.  Returns false if the stream ends first.
  bool read_length(std::uint64_t& half) {
    if (half != kLowHalf) return true;
    const std::byte* from = in_.data() + at_.in;
    const bool is_whole = add_length(from, in_.data() + in_.size(), half);
    at_.in = static_cast<std::size_t>(from - in_.data());
    return is_whole;
  }

  // Copies a match, but no more of it than is needed.
  void copy(std::size_t distance, std::size_t length) {
    if (count_ < out_.size()) length = std::min(length, count_ - at_.out);
    if (distance > at_.out) {
      const std::size_t before = distance - at_.out;
      const auto text = dictionary_.last(before).first(std::min(before, length));
      std::ranges::copy(text, out_.data() + at_.out);
      at_.out += text.size();
      length -= text.size();
    }
    if (length == 0) return;
    std::byte* to = out_.data() + at_.out;
    const std::size_t behind = out_.size() - at_.out - length;
    if (behind >= kStride) {
      copy_match(to, distance, length);
    } else if (distance >= 8 && behind >= 8) {
      for (const std::byte* const end = to + length; to < end; to += 8) {
        move_bytes<8>(to, to - distance);
      }
    } else {
      copy_match_exactly(to, distance, length);
    }
    at_.out += length;
  }

  std::span<const std::byte> in_;
  std::span<std::byte> out_;
  std::span<const std::byte> dictionary_;
  std::size_t count_;
  Cursor at_;
};

}  // namespace

Status decode_lz4(std::span<const std::byte> in, std::span<std::byte> out,
                  std::span<const std::byte> dictionary) {
  if (!is_lz4_size(in) || !is_lz4_size(out) || !is_lz4_size(dictionary)) {
    return fail(Errc::over_limit, "lz4 stream size");
  }
  return Lz4Block(in, out, dictionary, out.size()).decode();
}

Status decode_lz4_prefix(std::span<const std::byte> in, std::span<std::byte> out,
                         std::size_t count) {
  if (!is_lz4_size(in) || !is_lz4_size(out)) return fail(Errc::over_limit, "lz4 stream size");
  return Lz4Block(in, out, {}, std::min(count, out.size())).decode();
}

}  // namespace framefs::codec
