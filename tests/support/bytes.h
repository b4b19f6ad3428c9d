#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace framefs::test {

using Bytes = std::vector<std::byte>;

template <std::integral T>
void append_le(Bytes& to, T value) {
  const auto bits = static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
  for (std::size_t i = 0; i < sizeof(T); ++i) to.push_back(static_cast<std::byte>(bits >> (8 * i)));
}

template <std::integral T>
void append_be(Bytes& to, T value) {
  const auto bits = static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
  for (std::size_t i = sizeof(T); i-- > 0;) to.push_back(static_cast<std::byte>(bits >> (8 * i)));
}

inline void append(Bytes& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

inline void append(Bytes& to, std::string_view text) { append(to, std::as_bytes(std::span(text))); }

// The bytes as char, for C libraries and standard streams.
inline const char* as_chars(const std::byte* bytes) {
  return reinterpret_cast<const char*>(bytes);  // char may alias any object
}
inline char* as_chars(std::byte* bytes) {
  return reinterpret_cast<char*>(bytes);  // as above
}

// Overwrites the little-endian field at `at`.  Tests use it to damage one field of valid bytes.
template <std::integral T>
void put_le(Bytes& in, std::size_t at, T value) {
  Bytes field;
  append_le(field, value);
  for (std::size_t i = 0; i < field.size(); ++i) in.at(at + i) = field[i];
}

// The same for the big-endian fields of frame headers and trailers.
template <std::integral T>
void put_be(Bytes& in, std::size_t at, T value) {
  Bytes field;
  append_be(field, value);
  for (std::size_t i = 0; i < field.size(); ++i) in.at(at + i) = field[i];
}

}  // namespace framefs::test
