#include "codec/frame/metalayer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "codec/core/limits.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"

namespace framefs::codec::metalayer_test {
namespace {

using test::append;
using test::append_be;
using test::Bytes;
using test::counting;
using test::noise;
using test::outcome;
using test::put_be;

constexpr std::size_t kMapAt = 5;  // after bytes of other fields

struct Entry {
  std::string name;
  Bytes content;
};

// A directory according to the format, after kMapAt other bytes.
Bytes directory(const std::vector<Entry>& entries) {
  Bytes out(kMapAt, std::byte{0xaa});
  for (const unsigned b : {0x93U, 0xcdU, 0U, 0U, 0xdeU}) out.push_back(static_cast<std::byte>(b));
  append_be(out, static_cast<std::uint16_t>(entries.size()));
  std::vector<std::size_t> offset_at;
  for (const Entry& entry : entries) {
    out.push_back(static_cast<std::byte>(0xa0 | entry.name.size()));
    append(out, std::string_view(entry.name));
    out.push_back(std::byte{0xd2});
    offset_at.push_back(out.size());
    append_be<std::int32_t>(out, 0);
  }
  out.push_back(std::byte{0xdc});
  append_be(out, static_cast<std::uint16_t>(entries.size()));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    put_be(out, offset_at[i], static_cast<std::int32_t>(out.size()));
    out.push_back(std::byte{0xc6});
    append_be(out, static_cast<std::uint32_t>(entries[i].content.size()));
    append(out, entries[i].content);
  }
  return out;
}

Result<std::vector<Metalayer>> parse(std::span<const std::byte> part, std::uint16_t most = 16) {
  return parse_metalayers(part, kMapAt, 0, most);
}

// One entry "ab": the name is at 12, the offset at 16, the array at 20, the content at 23.
Bytes one_entry() { return directory({{"ab", counting(4)}}); }

// Oracle: the entries that were laid out.
void check_round_trip(const std::vector<Entry>& entries) {
  const Bytes part = directory(entries);
  const auto layers = parse(part, static_cast<std::uint16_t>(entries.size()));
  INFO(outcome(layers));
  REQUIRE(layers);
  REQUIRE(layers->size() == entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& [name, content] = (*layers)[i];
    REQUIRE(name == entries[i].name);
    REQUIRE(content.size == entries[i].content.size());
    REQUIRE(std::ranges::equal(std::span(part).subspan(content.offset, content.size),
                               entries[i].content));
  }
}

TEST_CASE("metalayer: no entries, one or many are read in their order",
          "[codec][metalayer][unit]") {
  check_round_trip({});
  check_round_trip({{"b2nd", counting(50)}});
  std::vector<Entry> many;
  for (unsigned i = 0; i < kMaxVlMetalayers; ++i)
    many.push_back({std::to_string(i), noise(i % 7, i)});
  check_round_trip(many);
}

TEST_CASE("metalayer: names of every length are read", "[codec][metalayer][unit]") {
  std::vector<Entry> entries;
  for (std::size_t n = 0; n <= kMaxMetalayerName; ++n)
    entries.push_back({std::string(n, 'n'), counting(n)});
  check_round_trip(entries);
  check_round_trip({{std::string("a\0b/\xff", 5), {}}});  // names may have any bytes
}

TEST_CASE("metalayer: contents may be empty or large", "[codec][metalayer][unit]") {
  check_round_trip({{"empty", {}}, {"large", noise(1 << 20, 1)}, {"last", {}}});
}

TEST_CASE("metalayer: contents may lie anywhere and be shared", "[codec][metalayer][unit]") {
  Bytes part = directory({{"ab", counting(4)}, {"cd", counting(2)}});
  const auto layers = parse(part).value();
  // Exchanges the two offsets, then makes them equal.
  put_be(part, 16, static_cast<std::int32_t>(layers[1].content.offset - 5));
  put_be(part, 24, static_cast<std::int32_t>(layers[0].content.offset - 5));
  CHECK(parse(part).value()[0].content == layers[1].content);
  CHECK(parse(part).value()[1].content == layers[0].content);
  put_be(part, 24, static_cast<std::int32_t>(layers[1].content.offset - 5));
  CHECK(parse(part).value()[1].content == layers[1].content);
}

TEST_CASE("metalayer: places count from the frame's start", "[codec][metalayer][unit]") {
  const auto layers = parse_metalayers(one_entry(), kMapAt, 1000, 16).value();
  CHECK(layers[0].content == ByteRange{1028, 4});
}

TEST_CASE("metalayer: more entries than may be are refused", "[codec][metalayer][corrupt]") {
  const Bytes part = directory({{"a", {}}, {"b", {}}, {"c", {}}});
  CHECK(outcome(parse(part, 3)) == "ok");
  CHECK(outcome(parse(part, 2)) == "bad field: metalayer count at 10");
  Bytes damaged = part;
  put_be<std::uint16_t>(damaged, 10, 0xffff);  // unsigned: not -1 entries
  CHECK(outcome(parse(damaged, kMaxVlMetalayers)) == "bad field: metalayer count at 10");
  put_be<std::uint16_t>(damaged, 10, 4);  // the parser meets the array's marker instead of a name
  CHECK(outcome(parse(damaged)) == "bad field: metalayer name at " + std::to_string(12 + 3 * 7));
}

TEST_CASE("metalayer: an offset outside its part is refused", "[codec][metalayer][corrupt]") {
  const Bytes good = one_entry();
  const auto size = static_cast<std::int32_t>(good.size());
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t offset :
       {std::numeric_limits<std::int32_t>::min(), -1, size + 1, kMax - 9, kMax - 5, kMax}) {
    INFO("offset " << offset);
    Bytes part = good;
    put_be(part, 16, offset);
    CHECK(outcome(parse(part)) == "bad field: metalayer offset at 15");
  }
  const auto with = [&](std::int32_t offset) {
    Bytes part = good;
    put_be(part, 16, offset);
    return outcome(parse(part));
  };
  const std::string end = std::to_string(size);
  CHECK(with(size) == "truncated: metalayer content marker at " + end);
  CHECK(with(24) == "bad field: metalayer content marker at 24");
  CHECK(with(0) == "bad field: metalayer content marker at 0");
}

TEST_CASE("metalayer: a content that passes its part's end is refused",
          "[codec][metalayer][corrupt]") {
  const Bytes good = one_entry();
  for (const std::uint32_t length : {5U, 0x7fffffffU, 0x80000000U, 0xfffffffbU, 0xffffffffU}) {
    INFO("length " << length);
    Bytes part = good;
    put_be(part, 24, length);
    CHECK(outcome(parse(part)) == "truncated: metalayer length at 24");
  }
  Bytes part = good;
  for (const std::uint32_t length : {0U, 3U, 4U}) {
    put_be(part, 24, length);
    CHECK(parse(part).value()[0].content == ByteRange{28, length});
  }
  // A content with an incomplete head: `n` bytes follow its marker.
  for (std::size_t n = 0; n < 4; ++n) {
    Bytes cut = one_entry();
    cut.resize(24 + n);
    CHECK(outcome(parse(cut)) == "truncated: metalayer length at 24");
  }
}

TEST_CASE("metalayer: every marker and count is checked", "[codec][metalayer][corrupt]") {
  struct Case {
    std::size_t at;
    std::string expect;
  };
  for (const auto& c : std::vector<Case>{{9, "bad field: metalayer map at 9"},
                                         {12, "bad field: metalayer name at 12"},
                                         {15, "bad field: metalayer offset marker at 15"},
                                         {20, "bad field: metalayer contents at 20"},
                                         {22, "bad field: metalayer contents at 21"},
                                         {23, "bad field: metalayer content marker at 23"}}) {
    INFO("byte " << c.at);
    Bytes part = one_entry();
    part[c.at] ^= std::byte{0x20};
    if (c.at == 12) part[c.at] = std::byte{0xd9};  // another string type
    CHECK(outcome(parse(part)) == c.expect);
  }
}

TEST_CASE("metalayer: every truncated prefix is refused", "[codec][metalayer][corrupt]") {
  const Bytes good = directory({{"ab", counting(4)}, {"", {}}, {"xyz", counting(9)}});
  for (std::size_t n = 0; n < good.size(); ++n) {
    INFO("prefix of " << n << " bytes");
    CHECK_FALSE(parse(std::span(good).first(n)).has_value());
  }
  CHECK_FALSE(parse_metalayers(good, good.size() + 1, 0, 16).has_value());
  CHECK_FALSE(parse_metalayers(good, ~std::size_t{0}, 0, 16).has_value());
}

// Oracle: every accepted content is inside the part.
TEST_CASE("metalayer: any flipped bit gives an error or contents inside the part",
          "[codec][metalayer][corrupt]") {
  Bytes part = directory({{"ab", counting(4)}, {"", {}}, {"xyz", counting(9)}});
  for (std::size_t bit = 0; bit < 8 * part.size(); ++bit) {
    INFO("bit " << bit);
    const std::byte mask = std::byte{1} << (bit % 8);
    part[bit / 8] ^= mask;
    const auto layers = parse(part);
    part[bit / 8] ^= mask;
    if (!layers) continue;
    for (const auto& layer : *layers) {
      REQUIRE(layer.content.offset <= part.size());
      REQUIRE(layer.content.size <= part.size() - layer.content.offset);
      REQUIRE(layer.name.size() <= kMaxMetalayerName);
    }
  }
}

}  // namespace
}  // namespace framefs::codec::metalayer_test
