// Intent: any bytes as the metadata of an embedded container.  Embedded ranges are in the
// container; all paths can be shown and are unique.  The nodes, packed again as Python does, are
// parsed as the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <span>
#include <string>

#include "codec/container/container_path.h"
#include "codec/container/embed_map.h"
#include "codec/core/byte_reader.h"
#include "tests/support/bytes.h"
#include "tests/support/msgpack_builder.h"

namespace {

using namespace framefs;

void demand(bool holds) {
  if (!holds) std::abort();
}

constexpr codec::ContainerLimits kLimits = {.members = 1U << 12};

test::Bytes pack(const codec::EmbedMap& map) {
  test::Bytes out;
  test::pack_map(out, 1);
  test::pack_str(out, "embed_map");
  test::pack_map(out, static_cast<std::uint16_t>(map.nodes.size()));
  for (const auto& node : map.nodes) {
    test::pack_str(out, '/' + node.path);
    switch (node.form) {
      case codec::EmbedForm::embedded:
        test::pack_map(out, 2);
        test::pack_str(out, "offset");
        test::pack_uint(out, node.frame.offset);
        test::pack_str(out, "length");
        test::pack_uint(out, node.frame.size);
        break;
      case codec::EmbedForm::remote:
        test::pack_map(out, 1);
        test::pack_str(out, "urlbase");
        test::pack_str(out, "https://host");
        break;
      case codec::EmbedForm::damaged:
        test::pack_map(out, 0);
        break;
    }
  }
  return out;
}

}  // namespace

// The first two bytes are the size of the container, the rest is the metadata.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  constexpr std::size_t kSizeBytes = 2;
  if (bytes.size() < kSizeBytes) return 0;
  const std::uint64_t store_bytes = codec::load_le<std::uint16_t>(bytes.data());
  const test::Bytes metadata(bytes.begin() + kSizeBytes, bytes.end());
  const auto map = codec::parse_embed_map(metadata, store_bytes, kLimits);
  if (!map) {
    demand(map.error().kind != codec::Errc::internal);
    demand(map.error().at <= metadata.size());
    return 0;
  }
  std::set<std::string> paths;
  for (const auto& node : map->nodes) {
    demand(codec::is_container_path(node.path) && paths.insert(node.path).second);
    if (node.form != codec::EmbedForm::embedded) continue;
    demand(node.frame.offset <= store_bytes);
    demand(node.frame.size <= store_bytes - node.frame.offset);
  }
  const auto again = codec::parse_embed_map(pack(*map), store_bytes, kLimits);
  demand(again && again->refused_names == 0 && again->nodes.size() == map->nodes.size());
  for (std::size_t i = 0; i < map->nodes.size(); ++i) {
    const auto& a = map->nodes[i];
    const auto& b = again->nodes[i];
    demand(a.path == b.path && a.form == b.form && a.frame == b.frame);
  }
  return 0;
}
