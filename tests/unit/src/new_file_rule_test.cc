#include "src/cli/new_file_rule.h"

#include "tests/support/catch.h"

namespace framefs::new_file_rule_test {
namespace {

fs::NewFileRule parsed(std::string_view text) {
  CAPTURE(text);
  auto rule = parse_new_file_rule(text, {});
  REQUIRE(rule);
  return std::move(*rule);
}

TEST_CASE("new_file_rule: every key is understood", "[src][new_file_rule][unit]") {
  const auto rule = parsed(
      "*.log:codec=lz4hc,level=9,typesize=12,filter=bitshuffle,chunk-size=512K,block-size=4096");
  CHECK(rule.glob == "*.log");
  CHECK(rule.frame.codec == codec::CodecId::lz4hc);
  CHECK(rule.frame.clevel == 9);
  CHECK(rule.frame.typesize == 12U);
  CHECK(rule.frame.filter == codec::FilterChoice::bitshuffle);
  CHECK(rule.frame.chunksize == 512u << 10);
  CHECK(rule.frame.blocksize == 4096);
  const auto semicolons = parsed("*:codec=zlib;level=0");
  CHECK(semicolons.frame.codec == codec::CodecId::zlib);
  CHECK(semicolons.frame.clevel == 0);
}

TEST_CASE("new_file_rule: keys may have the library's names", "[src][new_file_rule][unit]") {
  const auto rule = parsed("*:clevel=3,chunksize=64K,blocksize=4096");
  CHECK(rule.frame.clevel == 3);
  CHECK(rule.frame.chunksize == 64u << 10);
  CHECK(rule.frame.blocksize == 4096);
}

TEST_CASE("new_file_rule: a key that is not given has its default", "[src][new_file_rule][unit]") {
  fs::NewFrameOptions defaults;
  defaults.clevel = 7;
  defaults.typesize = 4;
  const auto rule = parse_new_file_rule("a:codec=lz4", defaults);
  REQUIRE(rule);
  CHECK(rule->frame.clevel == 7);
  CHECK(rule->frame.typesize == 4U);
  CHECK(rule->frame.codec == codec::CodecId::lz4);
  CHECK_FALSE(parsed("a:codec=lz4").frame.clevel);
}

TEST_CASE("new_file_rule: checksums and arrays are asked for or not",
          "[src][new_file_rule][unit]") {
  CHECK_FALSE(parsed("*.npy:codec=lz4").frame.arrays);
  CHECK(parsed("*.npy:arrays=yes").frame.arrays);
  CHECK_FALSE(parsed("*.npy:arrays=yes").frame.checksums);
  CHECK_FALSE(parsed("*.npy:arrays=yes,arrays=no").frame.arrays);
  CHECK_FALSE(parse_new_file_rule("*.npy:arrays=true", {}));
}

TEST_CASE("new_file_rule: what is wrong is said of the key", "[src][new_file_rule][unit]") {
  const auto refused = [](std::string_view text) {
    const auto rule = parse_new_file_rule(text, {});
    REQUIRE_FALSE(rule);
    return rule.error();
  };
  CHECK(refused("*:clevel=99") == "clevel=99: the value of clevel is 0 to 9");
  CHECK(refused("*:codec=lzma").starts_with("codec=lzma: the value of codec is blosclz|"));
  CHECK(refused("*:checksums=1") == "checksums=1: the value of checksums is yes|no");
  CHECK(refused("*:chunk-size=x").starts_with("chunk-size=x: the value of chunk-size is 1 to "));
  CHECK(refused("*:lvel=3").starts_with("\"lvel\" is not a key of a rule: codec, level, "));
  CHECK(refused("*:lvel=3").ends_with("; did you mean level?"));
  CHECK(parsed("*.b2z:as-is=yes").glob == "*.b2z");
  CHECK(parse_new_file_rule("*.b2z:as-is=yes", {})->as_is);
  CHECK_FALSE(parse_new_file_rule("*.b2z:as-is=no", {})->as_is);
}

TEST_CASE("new_file_rule: a glob may have colons", "[src][new_file_rule][unit]") {
  CHECK(parsed("a:b:c*:clevel=1").glob == "a:b:c*");
}

TEST_CASE("new_file_rule: an invalid rule is refused", "[src][new_file_rule][unit]") {
  for (const auto* const text : {"",
                                 "*",
                                 "*.log:",
                                 ":codec=lz4",
                                 "*:codec",
                                 "*:codec=",
                                 "*:codec=snappy",
                                 "*:codec=LZ4",
                                 "*:levels=3",
                                 "*:clevel=10",
                                 "*:clevel=-1",
                                 "*:clevel=",
                                 "*:clevel=5x",
                                 "*:typesize=0",
                                 "*:typesize=2000000",
                                 "*:typesize=x",
                                 "*:filter=delta",
                                 "*:chunksize=0",
                                 "*:chunksize=3G",
                                 "*:chunksize=-1",
                                 "*:blocksize=0",
                                 "*:blocksize=1G",
                                 "*:chunksize=10,typesize=11",
                                 "*:,",
                                 "*:codec=lz4,,clevel=1",
                                 "*:=1"}) {
    CAPTURE(text);
    const auto rule = parse_new_file_rule(text, {});
    REQUIRE_FALSE(rule);
    CHECK_FALSE(rule.error().empty());
  }
}

}  // namespace
}  // namespace framefs::new_file_rule_test
