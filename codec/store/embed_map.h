#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codec/core/result.h"
#include "codec/core/units.h"
#include "codec/store/store_limits.h"

namespace framefs::codec {

// What stands behind a key of an embedded store.
enum class EmbedForm : std::uint8_t {
  embedded,  // a frame in the store's decoded bytes
  remote,    // the address of an array on a server: nothing here to read
  damaged,   // neither, or a place outside of the store
};

struct EmbedNode {
  std::string path;  // the key without its first slash; satisfies is_store_path()
  EmbedForm form = EmbedForm::damaged;
  ByteRange frame;  // EmbedForm::embedded: within the store's decoded bytes
};

struct EmbedMap {
  std::vector<EmbedNode> nodes;     // in stored order; of several with one key the last
  std::uint64_t refused_names = 0;  // entries left out: keys that are no store paths behind a slash
};

// Reads the vl-metalayer "estore_metadata" of an embedded store (.b2e), decoded: a map from keys to
// places in the decoded bytes of the store's frame, of which there are `store_bytes`.
// Errors: truncated, bad_field, over_limit, with offsets in `metadata`.  What is wrong with one node
// alone makes that node damaged.
// Source: store format, "Embedded stores"; MessagePack specification.
Result<EmbedMap> parse_embed_map(std::span<const std::byte> metadata, std::uint64_t store_bytes,
                                 const StoreLimits& limits);

}  // namespace framefs::codec
