#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>

#include "codec/core/limits.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/files/place.h"
#include "fs/source/container_folder.h"
#include "fs/source/frame_origin.h"
#include "fs/source/source_probe.h"

namespace framefs::fs {

// A directory of a container; "" is the root.
struct ContainerDirectory {
  OpenContainer container;
  std::string path;
};

// A file or sparse frame to open as a frame, or a container.
struct FoundSource {
  SourceEntry entry;  // of the file, or of the directory of a sparse frame
  std::variant<FrameOrigin, ContainerDirectory> found;
};

// The object at a path that a user gave to a command: also a member of a container, whose path
// follows the container's path.  `entry` is then that of the container.
struct NamedSource : FoundSource {
  Place file;          // on disk; for a member, the container
  std::string member;  // the path in the container; empty for the container itself
};

// Opens the object at `path`.  Its frame begins at byte `offset` of the file, which must be 0 for
// any other object.  open_frame_at() determines whether there is a frame.
// Errors: system, if the path does not exist or is a directory but not a sparse frame; those of
//   Container, which are then logged.
Result<NamedSource> open_named_source(const std::filesystem::path& path, std::uint64_t offset,
                                      const codec::Limits& limits, Log& log);
// The same for an entry that a walk of a directory has found.  Errors: also ELOOP for a link.
Result<NamedSource> open_source_at(const Place& place, std::uint64_t offset,
                                   const codec::Limits& limits, Log& log);

}  // namespace framefs::fs
