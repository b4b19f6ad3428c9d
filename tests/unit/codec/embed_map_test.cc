#include "codec/container/embed_map.h"

#include <functional>
#include <string>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/damage.h"
#include "tests/support/msgpack_builder.h"
#include "tests/support/outcome.h"

namespace framefs::codec::embed_map_test {
namespace {

using test::Bytes;
using test::outcome;
using test::pack_map;
using test::pack_str;
using test::pack_uint;

constexpr std::uint64_t kContainerBytes = 10000;

Result<EmbedMap> parse(const Bytes& metadata, const ContainerLimits& limits = {}) {
  return parse_embed_map(metadata, kContainerBytes, limits);
}

// The map of a node: {"offset": ..., "length": ...}
void pack_place(Bytes& to, std::uint64_t offset, std::uint64_t length) {
  pack_map(to, 2);
  pack_str(to, "offset");
  pack_uint(to, offset);
  pack_str(to, "length");
  pack_uint(to, length);
}

using Pack = std::function<void(Bytes&)>;
struct Packed {
  std::string key;
  Pack value;
};

// The document as written by python-blosc2.
Bytes metadata(const std::vector<Packed>& nodes) {
  Bytes out;
  pack_map(out, 2);
  pack_str(out, "embed_map");
  pack_map(out, static_cast<std::uint16_t>(nodes.size()));
  for (const auto& [key, value] : nodes) {
    pack_str(out, key);
    value(out);
  }
  pack_str(out, "current_offset");
  pack_uint(out, 5000);
  return out;
}

Pack place(std::uint64_t offset, std::uint64_t length) {
  return [=](Bytes& to) { pack_place(to, offset, length); };
}

// One line per node.
std::vector<std::string> listing(const EmbedMap& map) {
  std::vector<std::string> out;
  for (const auto& node : map.nodes) {
    std::string line = node.path + ": ";
    if (node.form == EmbedForm::remote) line += "remote";
    if (node.form == EmbedForm::damaged) line += "damaged";
    if (node.form == EmbedForm::embedded) {
      line += std::to_string(node.frame.offset) + " + " + std::to_string(node.frame.size);
    }
    out.push_back(line);
  }
  return out;
}
using Lines = std::vector<std::string>;

TEST_CASE("embed_map: keys lead to places in the container", "[codec][embed_map][unit]") {
  CHECK(listing(parse(metadata({})).value()).empty());
  const auto map = parse(metadata({{"/node1", place(0, 832)},
                                   {"/group/node2", place(832, 300)},
                                   {"/group/__vlmeta__", place(1132, 70000 - 61132)},
                                   {"/end", place(kContainerBytes, 0)}}));
  REQUIRE(map);
  CHECK(listing(*map) == Lines{"node1: 0 + 832", "group/node2: 832 + 300",
                               "group/__vlmeta__: 1132 + 8868", "end: 10000 + 0"});
  CHECK(map->refused_names == 0);
}

TEST_CASE("embed_map: many nodes and long keys are read", "[codec][embed_map][unit]") {
  std::vector<Packed> nodes;
  for (int i = 0; i < 1000; ++i) {
    const auto number = std::to_string(i);
    nodes.push_back({"/" + std::string(250, 'd') + "/" + std::string(100, 'n') + number,
                     place(static_cast<std::uint64_t>(i), 1)});
  }
  const auto map = parse(metadata(nodes)).value();
  REQUIRE(map.nodes.size() == 1000);
  CHECK(map.nodes[999].frame == ByteRange{999, 1});
  CHECK(map.nodes[999].path == nodes[999].key.substr(1));
}

// The document byte by byte, according to the specification.
TEST_CASE("embed_map: a document in msgpack's own bytes is read", "[codec][embed_map][unit]") {
  Bytes bytes;
  test::append(bytes, std::string_view("\x82\xa9"
                                       "embed_map"
                                       "\x81\xa2/a\x82\xa6"
                                       "offset"
                                       "\xcd\x03\x40\xa6"
                                       "length"
                                       "\xcc\xff\xae"
                                       "current_offset"
                                       "\xcd\x04\x3f"));
  CHECK(listing(parse(bytes).value()) == Lines{"a: 832 + 255"});
}

TEST_CASE("embed_map: remote arrays are recognised", "[codec][embed_map][unit]") {
  const auto remote = [](std::string_view urlbase) -> Pack {
    return [=](Bytes& to) {
      pack_map(to, 2);
      pack_str(to, "urlbase");
      pack_str(to, urlbase);
      pack_str(to, "path");
      pack_str(to, "@public/ds.b2nd");
    };
  };
  const auto no_base = [](Bytes& to) {
    pack_map(to, 2);
    pack_str(to, "urlbase");
    test::pack_nil(to);
    pack_str(to, "path");
    pack_str(to, "@public/ds.b2nd");
  };
  const auto both = [](Bytes& to) {
    pack_map(to, 4);
    pack_str(to, "offset");
    pack_uint(to, 1);
    pack_str(to, "length");
    pack_uint(to, 2);
    pack_str(to, "path");
    pack_str(to, "x");
    pack_str(to, "urlbase");
    pack_str(to, "");
  };
  CHECK(listing(parse(metadata({{"/a", remote("https://cat2.cloud/demo")},
                                {"/b", no_base},
                                {"/c", both},
                                {"/d", place(1, 2)}}))
                    .value()) == Lines{"a: remote", "b: remote", "c: 1 + 2", "d: 1 + 2"});
}

TEST_CASE("embed_map: nodes that lead nowhere are damaged, the others not",
          "[codec][embed_map][corrupt]") {
  const auto field = [](const Pack& offset) -> Pack {
    return [=](Bytes& to) {
      pack_map(to, 2);
      pack_str(to, "offset");
      offset(to);
      pack_str(to, "length");
      pack_uint(to, 1);
    };
  };
  struct Case {
    const char* what;
    Pack value;
  };
  for (const auto& c : std::vector<Case>{
           {"behind the container", place(kContainerBytes + 1, 0)},
           {"past its end", place(kContainerBytes, 1)},
           {"longer than it", place(0, kContainerBytes + 1)},
           {"wrapping", place(~0ULL, 2)},
           {"wrapping length", place(2, ~0ULL)},
           {"negative", field([](Bytes& to) { test::pack_negative(to, -1); })},
           {"text", field([](Bytes& to) { pack_str(to, "1"); })},
           {"nil", field([](Bytes& to) { test::pack_nil(to); })},
           {"true", field([](Bytes& to) { test::pack_bool(to, true); })},
           {"a list", field([](Bytes& to) {
              test::pack_array(to, 1);
              pack_uint(to, 1);
            })},
           {"a map that has the fields one deeper", field([](Bytes& to) { pack_place(to, 1, 1); })},
           {"no map", [](Bytes& to) { pack_uint(to, 7); }},
           {"a list",
            [](Bytes& to) {
              test::pack_array(to, 2);
              pack_uint(to, 0);
              pack_uint(to, 1);
            }},
           {"a list of its maps",
            [](Bytes& to) {
              test::pack_array(to, 1);
              pack_place(to, 0, 1);
            }},
           {"an empty map", [](Bytes& to) { pack_map(to, 0); }},
           {"no length",
            [](Bytes& to) {
              pack_map(to, 1);
              pack_str(to, "offset");
              pack_uint(to, 1);
            }},
       }) {
    INFO(c.what);
    const auto map = parse(metadata({{"/a", place(3, 4)}, {"/b", c.value}, {"/c", place(5, 6)}}));
    INFO(outcome(map));
    REQUIRE(map);
    CHECK(listing(*map) == Lines{"a: 3 + 4", "b: damaged", "c: 5 + 6"});
  }
}

TEST_CASE("embed_map: fields of no meaning to us are passed over", "[codec][embed_map][unit]") {
  const Pack more = [](Bytes& to) {
    pack_map(to, 4);
    pack_str(to, "kind");
    pack_map(to, 1);
    pack_str(to, "offset");
    test::pack_array(to, 2);
    pack_place(to, 9, 9);
    test::pack_nil(to);
    pack_str(to, "offset");
    pack_uint(to, 1);
    pack_uint(to, 5);  // a key that is not text
    pack_uint(to, 77);
    pack_str(to, "length");
    pack_uint(to, 2);
  };
  CHECK(listing(parse(metadata({{"/a", more}})).value()) == Lines{"a: 1 + 2"});
}

TEST_CASE("embed_map: keys that are no paths are left out and counted",
          "[codec][embed_map][corrupt]") {
  const auto map = parse(metadata({{"/", place(0, 1)},
                                   {"", place(0, 1)},
                                   {"a", place(0, 1)},
                                   {"/../a", place(0, 1)},
                                   {"/a/", place(0, 1)},
                                   {"/a//b", place(0, 1)},
                                   {"//a", place(0, 1)},
                                   {std::string("/a\0", 3), place(0, 1)},
                                   {"/good", place(0, 1)}}));
  REQUIRE(map);
  CHECK(listing(*map) == Lines{"good: 0 + 1"});
  CHECK(map->refused_names == 8);
  Bytes binary;  // a key of bytes
  pack_map(binary, 1);
  pack_str(binary, "embed_map");
  pack_map(binary, 1);
  test::pack_bin(binary, "/a");
  pack_place(binary, 0, 1);
  CHECK(parse(binary).value().refused_names == 1);
}

TEST_CASE("embed_map: of nodes with one key the last counts", "[codec][embed_map][unit]") {
  CHECK(listing(parse(metadata({{"/a", place(0, 1)}, {"/b", place(1, 1)}, {"/a", place(2, 1)}}))
                    .value()) == Lines{"b: 1 + 1", "a: 2 + 1"});
  Bytes twice;
  pack_map(twice, 2);
  for (const auto* key : {"/first", "/second"}) {
    pack_str(twice, "embed_map");
    pack_map(twice, 1);
    pack_str(twice, key);
    pack_place(twice, 0, 1);
  }
  CHECK(listing(parse(twice).value()) == Lines{"second: 0 + 1"});
}

TEST_CASE("embed_map: a document without the map is refused", "[codec][embed_map][corrupt]") {
  const auto with = [](const Pack& pack) {
    Bytes out;
    pack(out);
    return outcome(parse(out));
  };
  CHECK(outcome(parse({})) == "truncated: container metadata at 0");
  CHECK(with([](Bytes& to) { pack_uint(to, 1); }).starts_with("bad field: container metadata"));
  CHECK(with([](Bytes& to) {
          pack_str(to, "embed_map");
        }).starts_with("bad field: container metadata"));
  CHECK(with([](Bytes& to) {
          test::pack_array(to, 0);
        }).starts_with("bad field: container metadata"));
  CHECK(with([](Bytes& to) { pack_map(to, 0); }).starts_with("bad field: embed map"));
  for (const Pack& value :
       {Pack([](Bytes& to) { test::pack_nil(to); }), Pack([](Bytes& to) { pack_str(to, "x"); }),
        Pack([](Bytes& to) { test::pack_array(to, 1); })}) {
    CHECK(with([&](Bytes& to) {
            pack_map(to, 1);
            pack_str(to, "embed_map");
            value(to);
          }).starts_with("bad field: embed map"));
  }
  // The name at another depth, or as a value, has another meaning.
  CHECK(with([](Bytes& to) {
          pack_map(to, 2);
          pack_str(to, "x");
          pack_map(to, 1);
          pack_str(to, "embed_map");
          pack_map(to, 0);
          pack_str(to, "y");
          pack_str(to, "embed_map");
        }).starts_with("bad field: embed map"));
  // Python has no maps or arrays as keys.
  CHECK(with([](Bytes& to) {
          pack_map(to, 1);
          pack_map(to, 0);
          pack_uint(to, 0);
        }).starts_with("bad field: container metadata key"));
  auto more = metadata({});
  test::pack_nil(more);
  CHECK(outcome(parse(more)) ==
        "bad field: container metadata at " + std::to_string(more.size() - 1));
  CHECK(with([](Bytes& to) {
          pack_map(to, 1);
          pack_str(to, "x");
          test::pack_byte(to, 0xC1);  // never used by the format
        }) == "bad field: container metadata at 3");
}

TEST_CASE("embed_map: counts from a stranger allocate nothing", "[codec][embed_map][corrupt]") {
  for (const unsigned marker : {0xDDU, 0xDFU}) {  // 2^32 - 1 items, or pairs
    Bytes bytes;
    pack_map(bytes, 1);
    pack_str(bytes, "x");
    test::pack_byte(bytes, marker);
    test::append_be(bytes, ~0U);
    CHECK(outcome(parse(bytes)) ==
          "truncated: container metadata at " + std::to_string(bytes.size()));
  }
  for (const unsigned marker : {0xDBU, 0xC6U, 0xC9U}) {  // text, bytes, extension
    Bytes bytes;
    pack_map(bytes, 1);
    test::pack_byte(bytes, marker);
    test::append_be(bytes, ~0U);
    CHECK(outcome(parse(bytes)).starts_with("truncated: container metadata"));
  }
}

TEST_CASE("embed_map: nesting and the number of nodes are bounded", "[codec][embed_map][corrupt]") {
  const auto nested = [](std::size_t depth) {
    Bytes out;
    pack_map(out, 2);
    pack_str(out, "x");
    for (std::size_t i = 0; i < depth; ++i) test::pack_array(out, 1);
    test::pack_nil(out);
    pack_str(out, "embed_map");
    pack_map(out, 0);
    return out;
  };
  CHECK(parse(nested(15)));
  CHECK(outcome(parse(nested(16))).starts_with("over limit: container metadata nesting"));
  CHECK(outcome(parse(nested(1000000))).starts_with("over limit: container metadata nesting"));
  const auto three = metadata({{"/a", place(0, 1)}, {"/b", place(0, 1)}, {"/c", place(0, 1)}});
  CHECK(parse(three, {.members = 3}));
  CHECK(outcome(parse(three, {.members = 2})).starts_with("over limit: embed map"));
}

TEST_CASE("embed_map: every truncated prefix is refused", "[codec][embed_map][corrupt]") {
  const auto good = metadata({{"/a", place(0, 1)}, {"/b/c", place(832, 300)}});
  REQUIRE(parse(good));
  for (std::size_t n = 0; n < good.size(); ++n) {
    INFO("prefix of " << n << " bytes");
    CHECK(outcome(parse(Bytes(good.begin(), good.begin() + static_cast<int>(n))))
              .starts_with("truncated: container metadata"));
  }
}

// Oracle: every embedded range is inside the container.
TEST_CASE("embed_map: any flipped bit gives an error or nodes inside the container",
          "[codec][embed_map][corrupt]") {
  const auto good = metadata({{"/a", place(9999, 1)}, {"/b/c", place(832, 300)}});
  const auto probe = [](std::span<const std::byte> bytes) -> std::string {
    const auto map = parse_embed_map(bytes, kContainerBytes, {});
    if (!map) return map.error().kind == Errc::internal ? "internal" : "";
    for (const auto& node : map->nodes) {
      if (node.form != EmbedForm::embedded) continue;
      if (node.frame.offset > kContainerBytes ||
          node.frame.size > kContainerBytes - node.frame.offset) {
        return "outside of the container";
      }
    }
    return {};
  };
  CHECK(test::first_bad_flip(good, 0, good.size(), probe).empty());
}

}  // namespace
}  // namespace framefs::codec::embed_map_test
