#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace framefs::codec {

// Stores an integer in the given byte order, whatever the host's; the inverse of load_le() and
// load_be().  `to` has room for sizeof(T) bytes.
template <std::integral T>
constexpr void store_le(std::byte* to, T value) noexcept {
  const auto bits = static_cast<std::make_unsigned_t<T>>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(bits >> (8 * i));
}

template <std::integral T>
constexpr void store_be(std::byte* to, T value) noexcept {
  const auto bits = static_cast<std::make_unsigned_t<T>>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    to[i] = static_cast<std::byte>(bits >> (8 * (sizeof(T) - 1 - i)));
  }
}

// Builds a small structure item by item: a frame header, a metalayer, a trailer.  Threads: one.
class ByteWriter {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::vector<std::byte> take() && noexcept { return std::move(bytes_); }

  void u8(std::uint8_t value) { bytes_.push_back(std::byte{value}); }
  void append(std::span<const std::byte> more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
  }
  void zeros(std::size_t count) { bytes_.resize(bytes_.size() + count); }

  template <std::integral T>
  void be(T value) {
    bytes_.resize(bytes_.size() + sizeof(T));
    store_be(bytes_.data() + bytes_.size() - sizeof(T), value);
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace framefs::codec
