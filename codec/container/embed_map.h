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

// The kind of content behind a key of an embedded container.
enum class EmbedForm : std::uint8_t {
  embedded,  // a frame in the container's decoded bytes
  remote,    // the address of an array on a server: nothing to read here
  damaged,   // neither, or a range outside the container
};

struct EmbedNode {
  std::string path;  // the key without its first slash; satisfies is_container_path()
  EmbedForm form = EmbedForm::damaged;
  ByteRange frame;  // EmbedForm::embedded: a range of the container's decoded bytes
};

struct EmbedMap {
  std::vector<EmbedNode> nodes;     // in stored order; of equal keys, the last one
  std::uint64_t refused_names = 0;  // entries without a slash and a valid path as key
};

// Parses the decoded vl-metalayer "estore_metadata" of an embedded container (.b2e).  It maps keys
// to ranges of the decoded bytes of the container's frame, which has `container_bytes` of them.
// Errors: truncated, bad_field, over_limit, with offsets in `metadata`.  An error in a single node
// makes only that node damaged.
// Source: container format, "Embedded containers"; MessagePack specification.
Result<EmbedMap> parse_embed_map(std::span<const std::byte> metadata, std::uint64_t container_bytes,
                                 const ContainerLimits& limits);

}  // namespace framefs::codec
