#pragma once

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fs/core/log.h"
#include "fs/core/mount_options.h"
#include "fs/core/worker_pool.h"
#include "fs/read/block_fetcher.h"
#include "fs/read/decode_cache.h"
#include "fs/tree/directory.h"
#include "fs/tree/inode_numbers.h"
#include "fs/tree/node.h"
#include "fs/tree/source_root.h"

namespace framefs::fs {

// A file or directory that somebody has open.
struct OpenFile {
  std::shared_ptr<Node> node;
  std::shared_ptr<const FileSource> source;
};
struct OpenDirectory {
  std::shared_ptr<Node> node;
  UniqueFd fd;
};

// The mount as the kernel asks about it, one member for each kind of question; it knows files, but
// not how the questions arrive.  Errors of every member: system, as the call on the source failed.
// Threads: any number.
class Filesystem {
 public:
  // Errors: system, where SOURCE cannot be opened.
  static Result<std::unique_ptr<Filesystem>> open(const MountOptions& options, Log& log);

  struct Entry {
    NodeId id = 0;
    struct stat stat{};
  };
  // Counts one lookup of the node found.
  Result<Entry> look_up(NodeId parent, const std::string& name);
  void forget(NodeId id, std::uint64_t lookups) { nodes_.forget(id, lookups); }

  Result<struct stat> stat_node(NodeId id);
  Result<struct stat> stat_file(const OpenFile& file);
  Result<std::string> read_link(NodeId id);
  Status check_access(NodeId id, int mask);
  Result<struct statvfs> stat_filesystem();

  struct Opened {
    std::unique_ptr<OpenFile> file;
    bool keep_pages = false;    // what the kernel holds of the file is still right
    bool bypass_pages = false;  // every read must come here, for it has an error to report
  };
  Result<Opened> open_file(NodeId id);
  void close_file(const OpenFile& file);
  // Of a frame; plain files are read through OpenFile::source.
  // Errors: those of FrameView::read().
  Result<ReadResult> read_frame(const OpenFile& file, std::uint64_t offset, std::uint64_t size);

  Result<std::unique_ptr<OpenDirectory>> open_directory(NodeId id);
  Result<std::vector<DirectoryEntry>> list(const OpenDirectory& directory);
  // The inode number to show for an entry whose attributes nobody asked for.
  std::uint64_t shown_inode(const OpenDirectory& directory, const DirectoryEntry& entry);
  // Look-up of an entry that list() returned.  Counts one lookup.
  Result<Entry> look_up(const OpenDirectory& directory, const DirectoryEntry& entry);

 private:
  Filesystem(const MountOptions& options, Log& log, SourceRoot root, const NodeKey& root_key);

  Entry enter(const std::shared_ptr<Node>& parent, const std::string& name, const ProbedFile& file);
  struct stat shown(const ProbedFile& file);
  Result<ProbedFile> probe_node(const Node& node);
  Result<UniqueFd> open_node(const Node& node, int flags) const;
  Result<std::shared_ptr<const FrameView>> current_view(const OpenFile& file);

  // Constant after construction.
  const MountOptions options_;
  const SourceRoot root_;
  const std::string source_name_;  // for the log
  // Self-synchronised.
  Log& log_;
  WorkerPool workers_;
  BufferPool buffers_;
  DecodeCache cache_;
  BlockFetcher blocks_;
  FrameProbe probe_;
  Directory directory_;
  InodeNumbers inodes_;
  NodeTable nodes_;
  std::atomic<std::uint64_t> next_state_{1};  // numbers for FrameState::state_id
};

}  // namespace framefs::fs
