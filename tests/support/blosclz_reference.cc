#include "tests/support/blosclz_reference.h"

#include <cstdint>

namespace framefs::test {

std::optional<Bytes> blosclz_reference(std::span<const std::byte> in, std::size_t capacity) {
  const auto value = [&](std::size_t at) { return std::to_integer<std::size_t>(in[at]); };
  Bytes out;
  out.reserve(capacity);
  std::size_t ip = 0;
  if (in.empty()) return std::nullopt;
  std::size_t control = value(ip++) & 31;
  for (;;) {
    if (control < 32) {
      const std::size_t count = control + 1;
      if (count > capacity - out.size() || count > in.size() - ip) return std::nullopt;
      for (std::size_t i = 0; i < count; ++i) out.push_back(in[ip++]);
      if (ip >= in.size()) return out;
      control = value(ip++);
      continue;
    }
    // Each byte of a match must be followed by another one, except the last two bytes of a far
    // distance.
    std::size_t length = (control >> 5) - 1;
    std::size_t c = 0;
    if (length == 6) {
      do {
        if (in.size() - ip < 2) return std::nullopt;
        c = value(ip++);
        length += c;
      } while (c == 255);
    } else if (in.size() - ip < 2) {
      return std::nullopt;
    }
    c = value(ip++);
    length += 3;
    std::size_t distance = 256 * (control & 31) + c + 1;
    if (c == 255 && (control & 31) == 31) {
      if (in.size() - ip < 2) return std::nullopt;
      distance = 8192 + 256 * value(ip) + value(ip + 1);
      ip += 2;
    }
    if (length > capacity - out.size() || distance > out.size()) return std::nullopt;
    if (ip >= in.size()) return out;  // without the match
    control = value(ip++);
    for (std::size_t i = 0; i < length; ++i) out.push_back(out[out.size() - distance]);
  }
}

}  // namespace framefs::test
