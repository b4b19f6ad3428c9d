#include "codec/compressor/snappy.h"

#include <algorithm>
#include <cstdint>

#include "codec/compressor/wide_copy.h"

namespace framefs::codec {
namespace {

// A stream is the size of its content, followed by elements.  The low two bits of an element's
// first byte, its tag, are its kind; the other six are a number.
// Source: format_description.txt of Snappy.
enum class Kind : std::uint8_t { literals, match_near, match, match_far };
constexpr std::uint32_t kKindBits = 2;
constexpr std::uint32_t kKindMask = 3;
// Literals: numbers below this are the count less 1; others say how many bytes hold that count.
constexpr std::uint32_t kCountFollows = 60;
// A near match: the number holds the length in three bits, and three bits of the distance.
constexpr std::uint32_t kNearLengthMask = 7;
constexpr std::uint32_t kNearLengthBits = 3;
constexpr std::size_t kShortestNearMatch = 4;
// The size of the content: seven bits in each byte, the least significant first.
constexpr std::uint32_t kSizeBits = 7;
constexpr std::uint32_t kSizeGoesOn = 0x80;
constexpr std::size_t kMaxSizeBytes = 5;

class SnappyStream {
 public:
  // Lifetime: the arguments outlive the object.
  SnappyStream(std::span<const std::byte> in, std::span<std::byte> out, std::size_t count) noexcept
      : in_(in), out_(out), count_(count) {}

  Status decode() {
    FRAMEFS_TRY(const auto size, read_size());
    if (size != out_.size()) {
      return fail_value(Errc::bad_field, "snappy decoded size", 0, static_cast<std::int64_t>(size));
    }
    const bool is_prefix = count_ < out_.size();
    while (at_ < in_.size() && !(is_prefix && written_ >= count_)) {
      FRAMEFS_CHECK(decode_element());
    }
    if (written_ < count_) return fail(Errc::truncated, "snappy stream", in_.size());
    return {};
  }

 private:
  Result<std::uint64_t> read_size() {
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < kMaxSizeBytes; ++i) {
      if (at_ == in_.size()) return fail(Errc::truncated, "snappy decoded size", at_);
      const auto byte = u32(in_[at_++]);
      size |= std::uint64_t{byte & (kSizeGoesOn - 1)} << (kSizeBits * i);
      if ((byte & kSizeGoesOn) == 0) return size;
    }
    return fail(Errc::bad_field, "snappy decoded size", 0);
  }

  Status decode_element() {
    const std::size_t begin = at_;
    const auto tag = u32(in_[at_++]);
    const auto kind = static_cast<Kind>(tag & kKindMask);
    const std::uint32_t number = tag >> kKindBits;
    if (kind == Kind::literals) return copy_literals(number, begin);
    if (kind == Kind::match_near) {
      FRAMEFS_TRY(const auto low, read_number(1, begin));
      return copy(((number >> kNearLengthBits) << 8) | low,
                  (number & kNearLengthMask) + kShortestNearMatch, begin);
    }
    FRAMEFS_TRY(const auto distance, read_number(kind == Kind::match ? 2 : 4, begin));
    return copy(distance, number + 1, begin);
  }

  // Reads a little-endian number of `bytes` bytes.
  Result<std::size_t> read_number(std::size_t bytes, std::size_t begin) {
    if (in_.size() - at_ < bytes) return fail(Errc::truncated, "snappy element", begin);
    std::size_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      number |= std::size_t{u32(in_[at_ + i])} << (8 * i);
    }
    at_ += bytes;
    return number;
  }

  Status copy_literals(std::uint32_t number, std::size_t begin) {
    std::size_t count = number;
    if (number >= kCountFollows) {
      FRAMEFS_TRY(count, read_number(number - kCountFollows + 1, begin));
    }
    ++count;
    if (count > in_.size() - at_) return fail(Errc::truncated, "snappy literals", begin);
    if (count > out_.size() - written_) return fail(Errc::bad_field, "snappy literals", begin);
    std::ranges::copy(in_.subspan(at_, count), out_.data() + written_);
    at_ += count;
    written_ += count;
    return {};
  }

  Status copy(std::size_t distance, std::size_t length, std::size_t begin) {
    if (distance == 0 || distance > written_) {
      return fail(Errc::bad_field, "snappy match distance", begin);
    }
    const std::size_t left = out_.size() - written_;
    if (length > left) return fail(Errc::bad_field, "snappy match length", begin);
    if (left - length >= kStride) {
      copy_match(out_.data() + written_, distance, length);
    } else {
      copy_match_exactly(out_.data() + written_, distance, length);
    }
    written_ += length;
    return {};
  }

  std::span<const std::byte> in_;
  std::span<std::byte> out_;
  std::size_t count_;
  std::size_t at_ = 0;       // in in_
  std::size_t written_ = 0;  // to out_
};

}  // namespace

Status decode_snappy(std::span<const std::byte> in, std::span<std::byte> out) {
  return SnappyStream(in, out, out.size()).decode();
}

Status decode_snappy_prefix(std::span<const std::byte> in, std::span<std::byte> out,
                            std::size_t count) {
  return SnappyStream(in, out, std::min(count, out.size())).decode();
}

}  // namespace framefs::codec
