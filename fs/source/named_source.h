#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>

#include "codec/core/limits.h"
#include "fs/core/log.h"
#include "fs/source/container_folder.h"
#include "fs/source/frame_origin.h"
#include "fs/source/source_probe.h"

namespace framefs::fs {

// A directory of a container; "" is its root.
struct ContainerDirectory {
  OpenContainer container;
  std::string path;
};

// What a path leads to that somebody gave a command: a file or sparse frame to be opened as a frame, a
// store, or what is in a container, which has its path behind the container's.
struct NamedSource {
  std::filesystem::path file;  // on disk; of what is in a container, the container
  SourceEntry entry;           // that file, or the directory of a sparse frame
  std::string member;          // the path in the container; empty for the container itself
  std::variant<FrameOrigin, ContainerDirectory> found;
};

// Looks at `path` and opens it.  Its frame begins at byte `offset` of the file, which must be 0 for
// anything else.  Whether there is a frame, open_frame_at() will tell.
// Errors: system, where there is nothing of that name, or it is a directory and no sparse frame; those
// of Store, which are then logged.
Result<NamedSource> open_named_source(const std::filesystem::path& path, std::uint64_t offset,
                                      const codec::Limits& limits, Log& log);

}  // namespace framefs::fs
