#pragma once

#include <memory>
#include <optional>

#include "fs/core/log.h"
#include "fs/core/mount_options.h"
#include "fs/tree/activity.h"
#include "fs/tree/array_candidates.h"
#include "fs/tree/array_converter.h"
#include "fs/tree/array_places.h"
#include "fs/tree/attributes.h"
#include "fs/tree/content_reads.h"
#include "fs/tree/entry_changes.h"
#include "fs/tree/file_changes.h"
#include "fs/tree/file_contents.h"
#include "fs/tree/frame_writers.h"
#include "fs/tree/frame_xattrs.h"
#include "fs/tree/lock_files.h"
#include "fs/tree/mount_root.h"
#include "fs/tree/name_map.h"
#include "fs/tree/namespace.h"
#include "fs/tree/new_files.h"
#include "fs/tree/new_names.h"
#include "fs/tree/node_folders.h"
#include "fs/tree/node_locator.h"
#include "fs/tree/node_probe.h"
#include "fs/tree/node_views.h"
#include "fs/tree/open_containers.h"
#include "fs/tree/page_pusher.h"
#include "fs/tree/parent_folders.h"
#include "fs/tree/snapshots.h"
#include "fs/tree/source_tree.h"
#include "fs/view/decode_ahead.h"
#include "fs/view/read_core.h"
#include "fs/write/new_frame_policy.h"
#include "fs/write/write_core.h"

namespace framefs::fs {

// A mount without its kernel interface: the five services and the objects that they share.  Each
// service refers only to the objects that it needs.
// Threads: any number.
class Filesystem {
 public:
  // `watcher` is for tests.  With `handles`, the handles of the mount's files outlive the mount.
  // Errors: system, if SOURCE cannot be opened.
  static Result<std::unique_ptr<Filesystem>> open(
      const MountOptions& options, Log& log, SourceProbe::Watcher watcher = nullptr,
      std::optional<SourceHandles> handles = std::nullopt);
  // The same for a SOURCE that is open, as find_mount_root() takes it: for commands.
  static Result<std::unique_ptr<Filesystem>> open_at(const MountOptions& options, SourceRoot source,
                                                     Log& log);

  // As finish().
  ~Filesystem();
  Filesystem(const Filesystem&) = delete;
  Filesystem& operator=(const Filesystem&) = delete;

  [[nodiscard]] bool is_read_only() const noexcept { return tree_.is_read_only(); }

  SourceTree& tree() noexcept { return tree_; }              // names, attributes, directories
  FileContents& contents() noexcept { return contents_; }    // opening and reading files
  FileChanges& changes() noexcept { return changes_; }       // changes of bytes
  Namespace& names() noexcept { return namespace_; }         // changes of names
  Attributes& attributes() noexcept { return attributes_; }  // changes of attributes, xattrs
  PagePusher& pages() noexcept { return pages_; }            // the kernel's page cache

  // From now on, trusts these summaries of files in SOURCE.  Must be called before any request.
  void know(KnownSummaries summaries) { probe_.know(std::move(summaries)); }
  [[nodiscard]] const SourceRoot& source() const noexcept { return locator_.root(); }

  [[nodiscard]] Activity activity();

  // Commits all written frames, and makes arrays of those that become arrays.  No request may
  // follow.  Returns the files whose written bytes were lost since the mount began.
  Losses finish();
  // Commits all written frames durably.  Returns the files whose written bytes were lost since the
  // mount began, and those that could not be committed.
  Losses commit_all() { return writes_.sessions.commit_all(); }

  // Whether a session writes the node's frame.
  [[nodiscard]] bool is_being_written(NodeId id) const;
  // Whether any frame is being written, or has written data that is not stored.
  [[nodiscard]] bool has_write_sessions() const noexcept { return !writes_.table.is_empty(); }

 private:
  Filesystem(const MountOptions& options, Log& log, MountRoot found, SourceProbe::Watcher watcher,
             std::optional<SourceHandles> handles);

  // Each object refers only to those before it.
  // Constant after construction.
  const MountOptions options_;
  const NewFramePolicy new_frames_;
  const AsIsNames as_is_;
  const std::optional<SourceHandles> handles_;
  // Self-synchronised.
  Log& log_;
  ReadCore reads_;
  DecodeAhead ahead_;
  SourceProbe probe_;
  DirectoryNames directory_names_;
  const NameMap name_map_;
  NodeLocator locator_;
  const OpenContainers containers_;
  const NodeFolders folders_;
  const NameRules name_rules_;
  const NodeViews views_;
  ArrayCandidates array_candidates_;
  WriteCore writes_;
  PagePusher pages_;
  const LockFiles lock_files_;
  const FrameWriters writers_;
  const NodeProbe node_probe_;
  const Snapshots snapshots_;
  SourceTree tree_;
  const ParentFolders parents_;
  const NewNames new_names_;
  const NewFiles new_files_;
  EntryChanges entries_;
  ArrayPlaces array_places_;
  const ContentReads content_reads_;
  FileChanges changes_;
  FileContents contents_;
  Namespace namespace_;
  const FrameXattrs frame_xattrs_;
  Attributes attributes_;
  ArrayConverter arrays_;
};

}  // namespace framefs::fs
