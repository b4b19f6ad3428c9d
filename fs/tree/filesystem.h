#pragma once

#include <memory>
#include <optional>

#include "fs/tree/attributes.h"
#include "fs/tree/changes/array_converter.h"
#include "fs/tree/content_core.h"
#include "fs/tree/file_changes.h"
#include "fs/tree/file_contents.h"
#include "fs/tree/name_core.h"
#include "fs/tree/namespace.h"
#include "fs/tree/node_core.h"
#include "fs/tree/source_tree.h"

namespace framefs::fs {

// A mount without its kernel interface: the five services, and the cores that they share.  Each
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
  ~Filesystem() { finish(); }
  Filesystem(const Filesystem&) = delete;
  Filesystem& operator=(const Filesystem&) = delete;

  [[nodiscard]] bool is_read_only() const noexcept { return tree_.is_read_only(); }

  SourceTree& tree() noexcept { return tree_; }                 // names, attributes, directories
  FileContents& contents() noexcept { return file_contents_; }  // opening and reading files
  FileChanges& changes() noexcept { return changes_; }          // changes of bytes
  Namespace& names() noexcept { return namespace_; }            // changes of names
  Attributes& attributes() noexcept { return attributes_; }     // changes of attributes, xattrs
  PagePusher& pages() noexcept { return contents_.pages(); }    // the kernel's page cache

  // From now on, trusts these summaries of files in SOURCE.  Must be called before any request.
  void know(KnownSummaries summaries) { nodes_.probe().know(std::move(summaries)); }
  [[nodiscard]] const SourceRoot& source() const noexcept { return tree_.locator().root(); }

  [[nodiscard]] Activity activity() { return contents_.activity(is_read_only()); }

  // Commits all written frames, and makes arrays of those that become arrays.  No request may
  // follow.  Returns the files whose written bytes were lost since the mount began.
  Losses finish();
  // Commits all written frames durably.  Returns the files whose written bytes were lost since the
  // mount began, and those that could not be committed.
  Losses commit_all() { return contents_.writes().sessions.commit_all(); }

  // Whether a session writes the node's frame.
  [[nodiscard]] bool is_being_written(NodeId id) const;
  // Whether any frame is being written, or has written data that is not stored.
  [[nodiscard]] bool has_write_sessions() const noexcept {
    return !contents_.writers().table().is_empty();
  }

 private:
  Filesystem(const MountOptions& options, MountRoot found, Log& log, SourceProbe::Watcher watcher,
             std::optional<SourceHandles> handles);

  // Each object refers only to those before it.  Self-synchronised.
  ReadCore reads_;
  NodeCore nodes_;
  ContentCore contents_;
  SourceTree tree_;
  NameCore names_;
  FileChanges changes_;
  FileContents file_contents_;
  Namespace namespace_;
  Attributes attributes_;
  ArrayConverter arrays_;
};

}  // namespace framefs::fs
