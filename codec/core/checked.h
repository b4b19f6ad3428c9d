#pragma once

#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>

namespace framefs::codec {

// a + b, or nothing where the sum overflows.
template <std::unsigned_integral T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) noexcept {
  if (b > std::numeric_limits<T>::max() - a) return std::nullopt;
  return static_cast<T>(a + b);
}

// a * b, or nothing where the product overflows.
template <std::unsigned_integral T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) noexcept {
  if (b != 0 && a > std::numeric_limits<T>::max() / b) return std::nullopt;
  return static_cast<T>(a * b);
}

// Multiplies a product; nothing once it has overflowed.
template <std::unsigned_integral T>
constexpr void multiply(std::optional<T>& product, std::type_identity_t<T> factor) noexcept {
  if (product) product = checked_mul(*product, factor);
}

// The number of pieces of size `piece` that cover `total`.  piece > 0.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T div_ceil(T total, T piece) noexcept {
  return static_cast<T>(total / piece + (total % piece != 0 ? 1 : 0));
}

}  // namespace framefs::codec
