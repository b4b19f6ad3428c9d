#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "codec/core/result.h"

namespace framefs::codec {

// Composes an integer from its stored bytes, independent of alignment and of the host's byte order.
// `from` holds at least sizeof(T) bytes.
template <std::integral T>
[[nodiscard]] constexpr T load_le(const std::byte* from) noexcept {
  std::make_unsigned_t<T> value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<decltype(value)>(
        value | (static_cast<decltype(value)>(std::to_integer<std::uint8_t>(from[i])) << (8 * i)));
  }
  return static_cast<T>(value);
}

template <std::integral T>
[[nodiscard]] constexpr T load_be(const std::byte* from) noexcept {
  std::make_unsigned_t<T> value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<decltype(value)>((sizeof(T) > 1 ? value << 8 : 0) |
                                         std::to_integer<std::uint8_t>(from[i]));
  }
  return static_cast<T>(value);
}

// A forward cursor over one buffer.  Chunks are little endian and the msgpack parts of frames are
// big endian, so each call names its byte order.
// Errors: Errc::truncated; the position is then unchanged.  Threads: one.  Lifetime: `all` outlives
// the reader.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> all) noexcept : all_(all) {}

  [[nodiscard]] std::size_t position() const noexcept { return pos_; }
  [[nodiscard]] std::size_t remaining() const noexcept { return all_.size() - pos_; }

  Result<std::span<const std::byte>> take(std::size_t n, const char* field) {
    if (n > remaining()) return fail(Errc::truncated, field, pos_);
    const auto head = all_.subspan(pos_, n);
    pos_ += n;
    return head;
  }

  Result<std::uint8_t> u8(const char* field) { return be<std::uint8_t>(field); }

  template <std::integral T>
  Result<T> le(const char* field) {
    FRAMEFS_TRY(const auto bytes, take(sizeof(T), field));
    return load_le<T>(bytes.data());
  }

  template <std::integral T>
  Result<T> be(const char* field) {
    FRAMEFS_TRY(const auto bytes, take(sizeof(T), field));
    return load_be<T>(bytes.data());
  }

 private:
  std::span<const std::byte> all_;
  std::size_t pos_ = 0;  // invariant: pos_ <= all_.size()
};

}  // namespace framefs::codec
