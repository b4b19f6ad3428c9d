#include "codec/filter/bitshuffle.h"

#include "codec/filter/bitshuffle_impl.h"
#include "tests/support/catch.h"
#include "tests/unit/codec/filter_checks.h"

namespace framefs::codec::bitshuffle_test {
namespace {

using test::Bytes;

constexpr BitshuffleTail kBothTails[] = {BitshuffleTail::copy_partial_group,
                                         BitshuffleTail::copy_whole_block};

// Oracle: the format's formula, bit by bit.
Bytes bitunshuffle_by_formula(std::size_t typesize, std::span<const std::byte> in,
                              BitshuffleTail tail) {
  Bytes out(in.begin(), in.end());
  const std::size_t whole = in.size() / typesize;
  if (tail == BitshuffleTail::copy_whole_block && whole % 8 != 0) return out;
  const std::size_t n = whole / 8 * 8;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < typesize; ++j) {
      unsigned value = 0;
      for (std::size_t b = 0; b < 8; ++b) {
        const auto row = std::to_integer<unsigned>(in[(8 * j + b) * (n / 8) + (i >> 3)]);
        value |= (row >> (i & 7) & 1) << b;
      }
      out[i * typesize + j] = static_cast<std::byte>(value);
    }
  }
  return out;
}

Bytes bitunshuffled(std::size_t typesize, std::span<const std::byte> in, BitshuffleTail tail) {
  Bytes out(in.size(), std::byte{0xee});
  bitunshuffle(typesize, in, out, tail);
  return out;
}

void check_all_kernels(std::size_t typesize, std::size_t size) {
  const auto in = test::noise(size, static_cast<std::uint32_t>(typesize * 1000 + size));
  for (const auto tail : kBothTails) {
    const auto expected = bitunshuffle_by_formula(typesize, in, tail);
    for (const auto& kernels : usable_kernels()) {
      Bytes out(size, std::byte{0xee});
      bitunshuffle_with(kernels, typesize, in, out, tail);
      if (const auto at = first_difference(out, expected)) {
        FAIL(kernels.name << ", typesize " << typesize << ", " << size << " bytes, byte " << *at);
      }
    }
  }
}

// The bits of 1..8: row b holds bit b of each, the first element's in its lowest bit.
TEST_CASE("bitshuffle: rows of bits become elements", "[codec][bitshuffle][unit]") {
  for (const auto tail : kBothTails) {
    CHECK(bitunshuffled(1, bytes_of({0x55, 0x66, 0x78, 0x80, 0, 0, 0, 0}), tail) ==
          bytes_of({1, 2, 3, 4, 5, 6, 7, 8}));
    // The second byte is 0xff in elements 0, 2, 4 and 6, and 0 in the others.
    CHECK(bitunshuffled(2,
                        bytes_of({0x55, 0x66, 0x78, 0x80, 0, 0, 0, 0,  //
                                  0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55}),
                        tail) ==
          bytes_of({1, 0xff, 2, 0, 3, 0xff, 4, 0, 5, 0xff, 6, 0, 7, 0xff, 8, 0}));
    // Two columns: 1..8, then 16 times these values.
    CHECK(bitunshuffled(
              1, bytes_of({0x55, 0, 0x66, 0, 0x78, 0, 0x80, 0, 0, 0x55, 0, 0x66, 0, 0x78, 0, 0x80}),
              tail) == bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 48, 64, 80, 96, 112, 128}));
  }
}

TEST_CASE("bitshuffle: the bytes after the last element are copied under either rule",
          "[codec][bitshuffle][unit]") {
  const auto in = bytes_of({0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0, 0x77});
  const auto expected = bytes_of({0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0x77});
  CHECK(bitunshuffled(2, in, BitshuffleTail::copy_partial_group) == expected);
  CHECK(bitunshuffled(2, in, BitshuffleTail::copy_whole_block) == expected);
}

TEST_CASE("bitshuffle: the rule decides when elements do not fill the last group",
          "[codec][bitshuffle][unit]") {
  const auto in = bytes_of({0x55, 0x66, 0x78, 0x80, 0, 0, 0, 0, 0xa1, 0xa2, 0xa3});
  CHECK(bitunshuffled(1, in, BitshuffleTail::copy_partial_group) ==
        bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 0xa1, 0xa2, 0xa3}));
  CHECK(bitunshuffled(1, in, BitshuffleTail::copy_whole_block) == in);
}

TEST_CASE("bitshuffle: a block without a group of elements is copied",
          "[codec][bitshuffle][unit]") {
  const auto text = test::text_bytes("framefs");
  for (const auto tail : kBothTails) {
    CHECK(bitunshuffled(1, text, tail) == text);
    CHECK(bitunshuffled(4, text, tail) == text);
    CHECK(bitunshuffled(255, text, tail) == text);
    CHECK(bitunshuffled(4, Bytes{}, tail).empty());
  }
}

TEST_CASE("bitshuffle: every implementation follows the formula when columns straddle its tiles",
          "[codec][bitshuffle][unit]") {
  for (const std::size_t typesize : widths_to_try()) {
    for (const std::size_t columns : Sizes{0, 1, 2, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 97}) {
      for (const std::size_t more : Sizes{0, 1, 7}) {
        check_all_kernels(typesize, (8 * columns + more) * typesize);
      }
      check_all_kernels(typesize, 8 * columns * typesize + typesize - 1);
    }
  }
  SUCCEED("all agreed");
}

TEST_CASE("bitshuffle: every implementation follows the formula in blocks of several runs",
          "[codec][bitshuffle][unit]") {
  for (const std::size_t typesize : Sizes{1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 48}) {
    for (const std::size_t size : Sizes{32768, 40000, 65535}) check_all_kernels(typesize, size);
  }
  SUCCEED("all agreed");
}

TEST_CASE("bitshuffle: every implementation turns eight bit rows into a plane",
          "[codec][bitshuffle][unit]") {
  constexpr std::size_t kStride = 211;
  for (std::size_t columns = 1; columns <= 200; ++columns) {
    // At an odd address, and at a distance from each other.
    const auto in = test::noise(1 + 7 * kStride + columns, static_cast<std::uint32_t>(columns));
    Bytes together;
    for (std::size_t b = 0; b < 8; ++b) {
      test::append(together, std::span(in).subspan(1 + b * kStride, columns));
    }
    const auto expected = bitunshuffle_by_formula(1, together, BitshuffleTail::copy_partial_group);
    for (const auto& kernels : usable_kernels()) {
      Bytes out(8 * columns, std::byte{0xee});
      kernels.bit_rows({in.data() + 1, kStride, columns}, out.data());
      if (const auto at = first_difference(out, expected)) {
        FAIL(kernels.name << ", " << columns << " columns, byte " << *at);
      }
    }
  }
  SUCCEED("all agreed");
}

}  // namespace
}  // namespace framefs::codec::bitshuffle_test
