#pragma once

#include <cerrno>
#include <filesystem>
#include <string>

#include "codec/core/result.h"
#include "fs/core/files/file.h"
#include "fs/tree/source_tree.h"

namespace framefs {

// The entry at a path below `root`, found by lookup(node, name) -> Result<fs::NodeEntry> for each
// part of the path.
// Errors: EINVAL for a path with ".."; those of lookup().
template <class Lookup>
codec::Result<fs::NodeEntry> find_path(const fs::NodeEntry& root, const std::string& path,
                                       const Lookup& lookup) {
  auto found = root;
  for (const auto& part : std::filesystem::path(path).relative_path()) {
    const auto name = part.string();
    if (name.empty() || name == ".") continue;
    if (name == "..") return fs::refusal(EINVAL, "a path below SOURCE has no \"..\"");
    FRAMEFS_TRY(found, lookup(found.id, name));
  }
  return found;
}

}  // namespace framefs
