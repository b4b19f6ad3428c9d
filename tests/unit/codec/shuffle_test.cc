#include "codec/filter/shuffle.h"

#include "codec/filter/kernels.h"
#include "tests/support/catch.h"
#include "tests/unit/codec/filter_checks.h"

namespace framefs::codec::shuffle_test {
namespace {

using test::Bytes;

// Oracle: the format's formula.
Bytes unshuffle_by_formula(std::size_t width, std::span<const std::byte> in) {
  Bytes out(in.begin(), in.end());
  const std::size_t n = in.size() / width;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < width; ++j) out[i * width + j] = in[j * n + i];
  }
  return out;
}

Bytes unshuffled(std::size_t width, std::span<const std::byte> in) {
  Bytes out(in.size(), std::byte{0xee});
  unshuffle(width, in, out);
  return out;
}

// Element counts just below and above every tile, pair of tiles and run of the vector versions.
std::vector<std::size_t> counts_to_try() {
  std::vector<std::size_t> counts;
  for (const std::size_t middle : Sizes{0, 8, 16, 32, 48, 64, 96, 128, 160, 256, 288, 320, 512}) {
    for (std::size_t count = middle < 3 ? 0 : middle - 3; count <= middle + 3; ++count) {
      counts.push_back(count);
    }
  }
  return counts;
}

TEST_CASE("shuffle: planes become elements, the odd bytes stay last", "[codec][shuffle][unit]") {
  CHECK(unshuffled(4, test::text_bytes("ABCabc123xyz!?")) == test::text_bytes("Aa1xBb2yCc3z!?"));
  CHECK(unshuffled(2, test::text_bytes("acegbdfh")) == test::text_bytes("abcdefgh"));
  CHECK(unshuffled(3, test::text_bytes("ADGBEHCFI.")) == test::text_bytes("ABCDEFGHI."));
}

TEST_CASE("shuffle: bytes are copied when there is nothing to interleave",
          "[codec][shuffle][unit]") {
  const auto text = test::text_bytes("framefs");
  CHECK(unshuffled(1, text) == text);
  CHECK(unshuffled(7, text) == text);
  CHECK(unshuffled(8, text) == text);
  CHECK(unshuffled(255, text) == text);
  CHECK(unshuffled(4, Bytes{}).empty());
}

TEST_CASE("shuffle: every implementation follows the formula when counts straddle its tiles",
          "[codec][shuffle][unit]") {
  for (const std::size_t width : widths_to_try()) {
    for (const std::size_t count : counts_to_try()) {
      if (count == 0) continue;
      const auto in = test::noise(width * count, static_cast<std::uint32_t>(width * 1000 + count));
      const auto expected = unshuffle_by_formula(width, in);
      for (const auto& kernels : usable_kernels()) {
        Bytes out(in.size(), std::byte{0xee});
        kernels.unshuffle(width, {in.data(), count, count}, out.data(), width);
        if (const auto at = first_difference(out, expected)) {
          FAIL(kernels.name << ", width " << width << ", " << count << " elements, byte " << *at);
        }
      }
    }
  }
  SUCCEED("all agreed");
}

TEST_CASE("shuffle: the block as a whole follows the formula at every length",
          "[codec][shuffle][unit]") {
  for (const std::size_t width : widths_to_try()) {
    for (std::size_t size = 0; size <= 5 * width + 70; ++size) {
      const auto in = test::noise(size, static_cast<std::uint32_t>(size));
      const auto at = first_difference(unshuffled(width, in), unshuffle_by_formula(width, in));
      if (at) FAIL("width " << width << ", " << size << " bytes, byte " << *at);
    }
  }
  SUCCEED("all agreed");
}

// Oracle: the formula, applied to contiguous copies of the planes.
TEST_CASE("shuffle: every implementation reads planes that lie apart and at odd addresses",
          "[codec][shuffle][unit]") {
  constexpr std::size_t kStride = 307;
  for (const std::size_t width : widths_to_try()) {
    for (const std::size_t count : Sizes{31, 32, 66, 257}) {
      const auto apart = test::noise(1 + (width - 1) * kStride + count, 5);
      Bytes together;
      for (std::size_t j = 0; j < width; ++j) {
        test::append(together, std::span(apart).subspan(1 + j * kStride, count));
      }
      const auto expected = unshuffle_by_formula(width, together);
      for (const auto& kernels : usable_kernels()) {
        Bytes out(1 + width * count, std::byte{0xee});
        kernels.unshuffle(width, {apart.data() + 1, kStride, count}, out.data() + 1, width);
        const auto at = first_difference(std::span(out).subspan(1), expected);
        if (at) FAIL(kernels.name << ", width " << width << ", " << count << ", byte " << *at);
        if (out[0] != std::byte{0xee}) FAIL(kernels.name << " wrote before its output");
      }
    }
  }
  SUCCEED("all agreed");
}

// Oracle: the formula, and the old content between the rows.
TEST_CASE("shuffle: every implementation leaves the bytes between wide rows alone",
          "[codec][shuffle][unit]") {
  constexpr std::size_t kGap = 5;
  constexpr std::byte kOld{0xee};
  for (std::size_t width = kWidePlanes; width < 3 * kWidePlanes; ++width) {
    const std::size_t pitch = width + kGap;
    for (const std::size_t count : Sizes{1, 31, 32, 33, 70, 300}) {
      const auto in = test::noise(width * count, 9);
      const auto rows = unshuffle_by_formula(width, in);
      Bytes expected((count - 1) * pitch + width, kOld);
      for (std::size_t i = 0; i < count; ++i) {
        std::ranges::copy(std::span(rows).subspan(i * width, width),
                          std::span(expected).subspan(i * pitch).begin());
      }
      for (const auto& kernels : usable_kernels()) {
        Bytes out(expected.size(), kOld);
        kernels.unshuffle(width, {in.data(), count, count}, out.data(), pitch);
        const auto at = first_difference(out, expected);
        if (at) FAIL(kernels.name << ", width " << width << ", " << count << ", byte " << *at);
      }
    }
  }
  SUCCEED("all agreed");
}

}  // namespace
}  // namespace framefs::codec::shuffle_test
