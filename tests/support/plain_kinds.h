#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "tests/support/bytes.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/stream_samples.h"

namespace framefs::test {

// Kinds of file content, as input for encoders.
enum class PlainKind : std::uint8_t { zeros, one_byte, one_item, ramp, noise, text, mixed };
inline constexpr PlainKind kPlainKinds[] = {
    PlainKind::zeros, PlainKind::one_byte, PlainKind::one_item, PlainKind::ramp,
    PlainKind::noise, PlainKind::text,     PlainKind::mixed};

inline const char* plain_kind_name(PlainKind kind) {
  constexpr const char* kNames[] = {"zeros", "one byte", "one item", "ramp",
                                    "noise", "text",     "mixed"};
  return kNames[static_cast<std::size_t>(kind)];
}

// `n` bytes of that kind, in items of `typesize` if it has items.  Deterministic.
inline Bytes plain_bytes(PlainKind kind, std::size_t n, std::size_t typesize, std::uint32_t seed) {
  switch (kind) {
    case PlainKind::zeros:
      return Bytes(n);
    case PlainKind::one_byte:
      return Bytes(n, static_cast<std::byte>(seed | 1));
    case PlainKind::one_item: {
      const auto item = noise(typesize, seed);
      Bytes out(n);
      for (std::size_t i = 0; i < n; ++i) out[i] = item[i % typesize];
      return out;
    }
    case PlainKind::ramp:
      return ramp(n, typesize, seed);
    case PlainKind::noise:
      return noise(n, seed);
    case PlainKind::text:
      return sample_text(n, seed);
    case PlainKind::mixed: {
      // Pieces of all other kinds.
      std::mt19937 random(seed);
      Bytes out;
      while (out.size() < n) {
        const auto part = static_cast<PlainKind>(draw(random) % 6);
        append(out, plain_bytes(part, 1 + draw(random) % 3000, typesize, draw(random)));
      }
      out.resize(n);
      return out;
    }
  }
  return {};
}

}  // namespace framefs::test
