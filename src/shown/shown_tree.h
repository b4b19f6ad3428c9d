#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codec/core/result.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/mount_options.h"
#include "fs/read/read_result.h"
#include "fs/source/source_root.h"
#include "fs/tree/content/open_file.h"
#include "fs/tree/names/name_map.h"
#include "fs/tree/source_tree.h"
#include "fs/view/view.h"
#include "src/cli/remote_opener.h"

namespace framefs {

// An open file of a ShownTree.  The destructor closes it.
// Errors of all members: those of reading the file.
// Threads: one.
class ShownFile {
 public:
  ShownFile() = default;
  ShownFile(const ShownFile&) = delete;
  ShownFile& operator=(const ShownFile&) = delete;
  virtual ~ShownFile() = default;

  [[nodiscard]] virtual codec::Result<std::uint64_t> size() const = 0;
  virtual codec::Result<fs::ReadResult> read(std::uint64_t offset, std::uint64_t size) = 0;
  // As View::seek().
  virtual codec::Result<std::uint64_t> seek(fs::Seek what, std::uint64_t offset) = 0;
  // Errors: ESTALE if the source of the file has changed since it was opened.
  [[nodiscard]] virtual codec::Status check_unchanged() const = 0;
};

// The names and bytes that a mount of SOURCE would show, for commands that do not mount.  SOURCE is
// local or a URL.
// Errors of all members: those of the trees of mounts.
// Threads: one.
class ShownTree {
 public:
  // Opens `options.source`, read-only.  Lifetime: `remote` and `log` outlive it.
  static codec::Result<std::unique_ptr<ShownTree>> open(fs::MountOptions options,
                                                        RemoteOpener& remote, fs::Log& log);
  // The same for a local SOURCE that is open: one entry that is no directory.
  static codec::Result<std::unique_ptr<ShownTree>> open_at(const fs::MountOptions& options,
                                                           fs::SourceRoot source, fs::Log& log);
  ShownTree() = default;
  ShownTree(const ShownTree&) = delete;
  ShownTree& operator=(const ShownTree&) = delete;
  virtual ~ShownTree() = default;

  // Whether SOURCE is one file, which the root shows as its only entry.
  [[nodiscard]] virtual bool is_single() const = 0;
  // Each counts one lookup of the node found.
  virtual codec::Result<fs::NodeEntry> lookup(fs::NodeId parent, const std::string& name) = 0;
  virtual codec::Result<fs::NodeEntry> lookup(const fs::OpenFolder& directory,
                                              const fs::DirectoryEntry& entry) = 0;
  virtual void forget(fs::NodeId node) = 0;
  virtual codec::Result<struct stat> stat(fs::NodeId node) = 0;
  virtual codec::Result<std::unique_ptr<fs::OpenFolder>> open_directory(fs::NodeId node) = 0;
  // The entries in the order of names.
  virtual codec::Result<std::vector<fs::DirectoryEntry>> list(const fs::OpenFolder& directory) = 0;
  // Lifetime: the tree outlives the file.
  virtual codec::Result<std::unique_ptr<ShownFile>> open_file(fs::NodeId node) = 0;

  // The node at a path below the root; "" and "." are the root.
  codec::Result<fs::NodeEntry> find(const std::string& path);
};

}  // namespace framefs
