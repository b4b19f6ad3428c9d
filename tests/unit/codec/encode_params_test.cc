#include "codec/chunk/encode_params.h"

#include "tests/support/catch.h"
#include "tests/support/outcome.h"

namespace framefs::codec::encode_params_test {
namespace {

using test::outcome;

constexpr std::uint32_t kKiB = 1024;
constexpr std::uint32_t kMiB = 1024 * kKiB;

EncodeParams params(CodecId codec, int clevel, std::uint32_t typesize, bool shuffle) {
  EncodeParams made{.codec = codec, .clevel = clevel, .typesize = typesize};
  if (shuffle) made.filters[5].id = 1;
  return made;
}

// Oracle: the reference library's table, computed by hand.
TEST_CASE("encode_params: blocks get the size that the reference library gives them",
          "[codec][encode_params][unit]") {
  struct Case {
    EncodeParams params;
    std::uint32_t nbytes;
    std::uint32_t blocksize;
  };
  const Case cases[] = {
      {params(CodecId::lz4, 5, 8, false), 8 * kMiB, 128 * kKiB},
      {params(CodecId::lz4, 0, 8, false), 8 * kMiB, 8 * kKiB},
      {params(CodecId::lz4, 1, 8, false), 8 * kMiB, 16 * kKiB},
      {params(CodecId::lz4, 9, 8, false), 8 * kMiB, 256 * kKiB},
      {params(CodecId::zstd, 9, 8, false), 8 * kMiB, 1024 * kKiB},
      {params(CodecId::zlib, 5, 8, false), 8 * kMiB, 256 * kKiB},
      {params(CodecId::lz4hc, 2, 8, true), 8 * kMiB, 64 * kKiB},
      {params(CodecId::lz4, 5, 8, true), 8 * kMiB, 512 * kKiB},
      {params(CodecId::blosclz, 9, 16, true), 80 * kMiB, 4 * kMiB},
      {params(CodecId::zstd, 5, 4, true), 8 * kMiB, 256 * kKiB},
      {params(CodecId::zstd, 6, 4, true), 8 * kMiB, 512 * kKiB},
      {params(CodecId::lz4, 5, 3, true), 8 * kMiB, 192 * kKiB},
      {params(CodecId::lz4, 5, 17, true), 8 * kMiB, 128 * kKiB / 17 * 17},
      {params(CodecId::lz4, 5, 8, true), 100000, 100000},
      {params(CodecId::lz4, 5, 8, true), 1001, 1000},
      {params(CodecId::lz4, 5, 8, true), 7, 7},
      {params(CodecId::lz4, 5, 300, true), 299, 299},
      {params(CodecId::lz4, 5, 8, true), 0, 1},
  };
  for (const auto& [encode, nbytes, blocksize] : cases) {
    CAPTURE(codec_name(encode.codec), encode.clevel, encode.typesize, nbytes);
    CHECK(blocksize_for(encode, nbytes) == blocksize);
  }
}

TEST_CASE("encode_params: a block size that was asked for is kept, in whole items",
          "[codec][encode_params][unit]") {
  auto asked = params(CodecId::zstd, 5, 12, true);
  asked.blocksize = 1000;
  CHECK(blocksize_for(asked, 1 * kMiB) == 996);
  CHECK(blocksize_for(asked, 500) == 492);
  asked.blocksize = 5;
  CHECK(blocksize_for(asked, 1 * kMiB) == 12);
  CHECK(blocksize_for(asked, 7) == 7);
}

TEST_CASE("encode_params: blocks are split for fast codecs behind a shuffle",
          "[codec][encode_params][unit]") {
  CHECK(splits_blocks(params(CodecId::lz4, 5, 8, true), 64 * kKiB));
  CHECK(splits_blocks(params(CodecId::blosclz, 9, 16, true), 512));
  CHECK(splits_blocks(params(CodecId::zstd, 5, 2, true), 64 * kKiB));
  CHECK_FALSE(splits_blocks(params(CodecId::zstd, 6, 2, true), 64 * kKiB));
  CHECK_FALSE(splits_blocks(params(CodecId::lz4hc, 5, 8, true), 64 * kKiB));
  CHECK_FALSE(splits_blocks(params(CodecId::lz4, 5, 8, false), 64 * kKiB));
  CHECK_FALSE(splits_blocks(params(CodecId::lz4, 5, 17, true), 64 * kKiB));
  CHECK_FALSE(splits_blocks(params(CodecId::lz4, 5, 8, true), 255));
  CHECK_FALSE(splits_blocks(params(CodecId::lz4, 5, 1, true), 64 * kKiB));
}

TEST_CASE("encode_params: the split mode overrules, but never a dictionary",
          "[codec][encode_params][unit]") {
  auto never = params(CodecId::lz4, 5, 8, true);
  never.split = SplitMode::never;
  CHECK_FALSE(splits_blocks(never, 64 * kKiB));
  auto always = params(CodecId::zlib, 9, 100, false);
  always.split = SplitMode::always;
  CHECK(splits_blocks(always, 1000));
  CHECK_FALSE(splits_blocks(always, 99));
  always.typesize = 300;
  CHECK_FALSE(splits_blocks(always, 3000));
  auto with_dict = params(CodecId::zstd, 5, 8, true);
  with_dict.split = SplitMode::always;
  with_dict.use_dict = true;
  CHECK_FALSE(splits_blocks(with_dict, 64 * kKiB));
}

TEST_CASE("encode_params: a parameter out of range is refused", "[codec][encode_params][corrupt]") {
  const auto check = [](auto change) {
    EncodeParams made;
    change(made);
    return outcome(check_params(made));
  };
  CHECK(check([](EncodeParams&) {}) == "ok");
  CHECK(check([](EncodeParams& p) { p.clevel = -1; }) == "bad field: clevel at 0");
  CHECK(check([](EncodeParams& p) { p.clevel = 10; }) == "bad field: clevel at 0");
  CHECK(check([](EncodeParams& p) { p.typesize = 0; }) == "bad field: typesize at 0");
  CHECK(check([](EncodeParams& p) { p.blocksize = 536866817; }) == "bad field: blocksize at 0");
  CHECK(check([](EncodeParams& p) { p.filters[0].id = 3; }) == "unsupported: filter at 16");
  CHECK(check([](EncodeParams& p) { p.typesize = 1000; }) == "ok");
}

}  // namespace
}  // namespace framefs::codec::encode_params_test
