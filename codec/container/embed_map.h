#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codec/container/container_limits.h"
#include "codec/core/result.h"
#include "codec/core/units.h"

namespace framefs::codec {

// What stands behind a key of an embedded container.
enum class EmbedForm : std::uint8_t {
  embedded,  // a frame in the container's decoded bytes
  remote,    // the address of an array on a server: nothing here to read
  damaged,   // neither, or a place outside of the container
};

struct EmbedNode {
  std::string path;  // the key without its first slash; satisfies is_container_path()
  EmbedForm form = EmbedForm::damaged;
  ByteRange frame;  // EmbedForm::embedded: within the container's decoded bytes
};

struct EmbedMap {
  std::vector<EmbedNode> nodes;     // in stored order; of several with one key the last
  std::uint64_t refused_names = 0;  // entries left out: keys that are no store paths behind a slash
};

// Reads the vl-metalayer "estore_metadata" of an embedded container (.b2e), decoded: a map from keys to
// places in the decoded bytes of the container's frame, of which there are `store_bytes`.
// Errors: truncated, bad_field, over_limit, with offsets in `metadata`.  What is wrong with one node
// alone makes that node damaged.
// Source: store format, "Embedded stores"; MessagePack specification.
Result<EmbedMap> parse_embed_map(std::span<const std::byte> metadata, std::uint64_t store_bytes,
                                 const ContainerLimits& limits);

}  // namespace framefs::codec
