#pragma once

#include <cstdint>
#include <string_view>

#include "tests/support/bytes.h"

namespace framefs::test {

// Items of a msgpack document, each in the shortest form, as Python's packer writes them.
// Source: MessagePack specification, "Formats".

inline void pack_byte(Bytes& to, unsigned byte) { to.push_back(static_cast<std::byte>(byte)); }

inline void pack_uint(Bytes& to, std::uint64_t value) {
  if (value < 0x80) {
    pack_byte(to, static_cast<unsigned>(value));
  } else if (value <= 0xFF) {
    pack_byte(to, 0xCC);
    append_be(to, static_cast<std::uint8_t>(value));
  } else if (value <= 0xFFFF) {
    pack_byte(to, 0xCD);
    append_be(to, static_cast<std::uint16_t>(value));
  } else if (value <= 0xFFFFFFFF) {
    pack_byte(to, 0xCE);
    append_be(to, static_cast<std::uint32_t>(value));
  } else {
    pack_byte(to, 0xCF);
    append_be(to, value);
  }
}

inline void pack_nil(Bytes& to) { pack_byte(to, 0xC0); }
inline void pack_bool(Bytes& to, bool value) { pack_byte(to, value ? 0xC3 : 0xC2); }

inline void pack_negative(Bytes& to, std::int64_t value) {
  pack_byte(to, 0xD3);
  append_be(to, value);
}

inline void pack_str(Bytes& to, std::string_view text) {
  if (text.size() < 32) {
    pack_byte(to, 0xA0 | static_cast<unsigned>(text.size()));
  } else if (text.size() <= 0xFF) {
    pack_byte(to, 0xD9);
    append_be(to, static_cast<std::uint8_t>(text.size()));
  } else {
    pack_byte(to, 0xDA);
    append_be(to, static_cast<std::uint16_t>(text.size()));
  }
  append(to, text);
}

inline void pack_bin(Bytes& to, std::string_view bytes) {
  pack_byte(to, 0xC4);
  append_be(to, static_cast<std::uint8_t>(bytes.size()));
  append(to, bytes);
}

// Headers of an array with `items` items, and of a map with `pairs` pairs.
inline void pack_array(Bytes& to, std::uint16_t items) {
  if (items < 16) {
    pack_byte(to, 0x90U | items);
  } else {
    pack_byte(to, 0xDC);
    append_be(to, items);
  }
}
inline void pack_map(Bytes& to, std::uint16_t pairs) {
  if (pairs < 16) {
    pack_byte(to, 0x80U | pairs);
  } else {
    pack_byte(to, 0xDE);
    append_be(to, pairs);
  }
}

}  // namespace framefs::test
