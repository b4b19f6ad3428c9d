#include "codec/core/id_names.h"

#include <map>
#include <string>

#include "tests/support/catch.h"

namespace framefs::codec::id_names_test {
namespace {

using Names = std::map<int, std::string>;

// Calls both functions with every id.  Oracle: the table of ids, and their three ranges.
void check_names(const Names& names, const std::string& word, const char* (*name)(std::uint8_t),
                 const char* (*label)(std::uint8_t)) {
  for (int id = 0; id < 256; ++id) {
    INFO("id " << id);
    const char* const got = name(static_cast<std::uint8_t>(id));
    const std::string labelled = label(static_cast<std::uint8_t>(id));
    const auto expected = names.find(id);
    if (expected != names.end()) {
      REQUIRE(got != nullptr);
      CHECK(got == expected->second);
      CHECK(labelled == word + " " + expected->second);
      continue;
    }
    CHECK(got == nullptr);
    std::string range = "reserved";
    if (id >= 32) range = "registered";
    if (id >= 160) range = "user";
    CHECK(labelled == range + " " + word);
  }
}

TEST_CASE("id_names: codecs are named, or at least their range", "[codec][id_names][unit]") {
  const Names names = {{0, "blosclz"},   {1, "lz4"},       {2, "lz4hc"},      {3, "snappy"},
                       {4, "zlib"},      {5, "zstd"},      {32, "ndlz"},      {33, "zfp_acc"},
                       {34, "zfp_prec"}, {35, "zfp_rate"}, {36, "openhtj2k"}, {37, "grok"},
                       {38, "openzl"},   {39, "j2k"},      {40, "htj2k"}};
  check_names(names, "codec", codec_name, codec_label);
}

TEST_CASE("id_names: filters are named, or at least their range", "[codec][id_names][unit]") {
  const Names names = {{0, "nofilter"},  {1, "shuffle"},          {2, "bitshuffle"},
                       {3, "delta"},     {4, "trunc_prec"},       {32, "ndcell"},
                       {33, "ndmean"},   {34, "bytedelta_buggy"}, {35, "bytedelta"},
                       {36, "int_trunc"}};
  check_names(names, "filter", filter_name, filter_label);
}

}  // namespace
}  // namespace framefs::codec::id_names_test
