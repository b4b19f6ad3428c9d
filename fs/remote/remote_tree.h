#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fs/core/mount_options.h"
#include "fs/read/content_id.h"
#include "fs/read/next_reads.h"
#include "fs/remote/remote_directories.h"
#include "fs/remote/remote_folder.h"
#include "fs/remote/remote_locator.h"
#include "fs/remote/remote_root.h"
#include "fs/source/container_folder.h"
#include "fs/source/named_source.h"
#include "fs/tree/activity.h"
#include "fs/tree/content/frame_attributes.h"
#include "fs/tree/content/open_file.h"
#include "fs/tree/names/name_map.h"
#include "fs/tree/source_tree.h"
#include "fs/view/decode_ahead.h"
#include "fs/view/frame_chunks.h"
#include "fs/view/read_core.h"

namespace framefs::fs {

// An open file of a remote SOURCE.  It shows the version of its object that it was opened with.
struct RemoteOpenFile {
  std::shared_ptr<Node> node;
  std::shared_ptr<const View> view;
  std::shared_ptr<ReadPattern> pattern;
  std::shared_ptr<Guarded<NextReads>> next;
};

// The tree that a mount of a remote SOURCE shows.  It is read-only.  Names, nodes, frames, arrays
// and containers are those of Filesystem, which shows a local SOURCE.
//
// When the object of an open file is replaced, reads of the file fail with ESTALE, and the next
// open shows the new version.
//
// Errors of all members: those of net::ObjectStore; EROFS for opening to write; ESTALE for a node
// that the kernel should have forgotten.
// Threads: any number; all may wait for the network.
class RemoteTree {
 public:
  // Starts the store and other threads.  Waits for a server that does not answer as long as the
  // options say.
  // Errors: those of RemoteStore::fetch_credentials(); ENOENT if there is nothing at the URL.
  static Result<std::unique_ptr<RemoteTree>> open(const MountOptions& options,
                                                  std::unique_ptr<RemoteStore> store, Log& log);

  // Whether SOURCE is one object, which the root shows as its only entry.
  [[nodiscard]] bool is_single_entry() const noexcept {
    return root_.key.shown_as == ShownAs::single_entry;
  }
  // Each counts one lookup of the node found.
  Result<NodeEntry> lookup(NodeId parent, const std::string& name);
  Result<NodeEntry> lookup(const OpenFolder& directory, const DirectoryEntry& entry);
  // As in SourceTree.
  Result<NodeEntry> lookup_number(NodeId id);
  Result<NodeEntry> lookup_parent(NodeId id);
  void forget(NodeId id, std::uint64_t lookups) { locator_.nodes().forget(id, lookups); }
  [[nodiscard]] Result<std::shared_ptr<Node>> find(NodeId id) const {
    return locator_.nodes().find(id);
  }
  [[nodiscard]] bool note_change(NodeId id, const Error& error) const;
  Result<struct stat> stat_node(NodeId id);

  Result<std::unique_ptr<OpenFolder>> open_directory(NodeId id);
  Result<std::vector<DirectoryEntry>> list(const OpenFolder& directory) const {
    return names_.list(*directory.folder);
  }
  // The same for readers who take the entries piece by piece, as the server sends them.
  // Lifetime: `directory` outlives the listing.
  Result<std::shared_ptr<const ShownListing>> open_listing(const OpenFolder& directory) const {
    return names_.open(*directory.folder);
  }
  // The inode number to show for an entry of a listing that contains no attributes.
  [[nodiscard]] std::uint64_t shown_inode(const OpenFolder& directory,
                                          const DirectoryEntry& entry) const;

  // The frame, the container, or the bytes of a plain file behind a node, for commands.
  // Lifetime: this object outlives the bytes.
  Result<FoundSource> open_source(NodeId id);

  // As in Attributes.  The root also has `user.framefs.remote`: the counters of the network, in
  // JSON.
  Result<std::vector<std::string>> xattr_names(NodeId id);
  Result<std::vector<char>> xattr(NodeId id, const std::string& name);

  // As the function of that name.
  void warn_of_missing_abilities() {
    fs::warn_of_missing_abilities(root_, *store_, directories_, log_);
  }

  // As in RemoteStore.
  void flush_disk_cache() { store_->flush_disk_cache(); }

  // For statistics.
  [[nodiscard]] Activity activity();
  // The counters of the network, as JSON.
  [[nodiscard]] std::string network_counters() const { return net::to_json(store_->counts()); }

  struct Opened {
    std::shared_ptr<const RemoteOpenFile> file;
    bool keep_pages = false;    // the kernel's cached pages of the file are still valid
    bool bypass_pages = false;  // every read must reach the daemon, which has an error to report
    bool is_newer = false;      // the kernel's attributes are those of another version
  };
  // `flags` are those of open(2).
  Result<Opened> open_file(NodeId id, int flags);
  void close(const RemoteOpenFile& file);
  // Opens a file for reads without a handle.  The file is closed with the last reference to it.
  // Lifetime: this object outlives the result.
  Result<std::shared_ptr<const RemoteOpenFile>> open_reader(NodeId id);
  Result<ReadResult> read(const RemoteOpenFile& file, std::uint64_t offset, std::uint64_t size);

 private:
  RemoteTree(const MountOptions& options, Log& log, std::unique_ptr<RemoteStore> store,
             RemoteRoot root);

  NodeEntry enter(const std::shared_ptr<Node>& parent, const std::string& name, ShownAs shown_as,
                  const SourceEntry& entry);
  Result<std::unique_ptr<Folder>> open_folder(Node& node);
  // The folder of one lookup.
  Result<std::unique_ptr<Folder>> open_names(Node& node);
  Result<OpenedFrame> open_frame(Node& node);

  // Constant after construction.
  const MountOptions options_;
  const RemoteRoot root_;
  // Self-synchronised.
  Log& log_;
  const std::unique_ptr<RemoteStore> store_;
  RemoteDirectories directories_;
  ReadCore reads_;
  const NameMap names_;
  RemoteLocator locator_;
  // Stops the network thread, whose callbacks use the members above.
  struct NetworkStop {
    explicit NetworkStop(RemoteStore& of) : store(of) {}
    NetworkStop(const NetworkStop&) = delete;
    NetworkStop& operator=(const NetworkStop&) = delete;
    ~NetworkStop() { store.stop(); }
    RemoteStore& store;
  };
  const NetworkStop stop_;
  // The last member: its threads use all the others.
  DecodeAhead ahead_;
};

}  // namespace framefs::fs
