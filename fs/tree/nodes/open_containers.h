#pragma once

#include <cstdint>
#include <string>

#include "codec/core/limits.h"
#include "fs/core/diagnostics/log.h"
#include "fs/read/content_id.h"
#include "fs/read/decode_cache.h"
#include "fs/source/container_folder.h"
#include "fs/source/frame_origin.h"
#include "fs/source/source_probe.h"
#include "fs/tree/nodes/node_locator.h"

namespace framefs::fs {

// The containers of a mount.  Each state of a container is read once and kept in the cache.
// Threads: any number.
class OpenContainers {
 public:
  // Lifetime: the locator, the cache and the log outlive it.
  OpenContainers(const NodeLocator& locator, DecodeCache& cache, ContentIds& content_ids, Log& log,
                 const codec::Limits& limits, std::uint64_t source_offset)
      : locator_(locator),
        cache_(cache),
        content_ids_(content_ids),
        log_(log),
        limits_(limits),
        source_offset_(source_offset) {}

  // The container that the node is, or is a member of.  Errors: those of opening the file; those of
  // Container.
  Result<OpenContainer> open(Node& node) const;
  // The same for a node whose file is already open.
  Result<OpenContainer> read(Node& node, const BackingFile& file) const;

  // A member as an entry of its directory.  Errors: those of ContainerFolder::probe().
  [[nodiscard]] Result<SourceEntry> probe(OpenContainer container, const std::string& member) const;

  // The bytes of a node's frame, or of a member that is not a frame.  `file` is the node's open
  // backing file.
  // Errors: those of BackingFile::origin() and of Container::open_member().
  Result<FrameOrigin> origin_of(Node& node, const BackingFile& file) const;

  [[nodiscard]] std::string name_for_log(const Node& node) const {
    return locator_.name_for_log(node);
  }

  // The id of the content state that `identity` describes.
  ContentId content_id(Node& node, const FileIdentity& identity) const {
    return node.content_id(identity, content_ids_);
  }

 private:
  const NodeLocator& locator_;
  DecodeCache& cache_;
  ContentIds& content_ids_;
  Log& log_;
  const codec::Limits limits_;
  const std::uint64_t source_offset_;  // where the frame begins if SOURCE is one file
};

}  // namespace framefs::fs
