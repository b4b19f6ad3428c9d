#pragma once

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fs/core/log.h"
#include "fs/core/mount_options.h"
#include "fs/core/worker_pool.h"
#include "fs/read/block_fetcher.h"
#include "fs/read/decode_cache.h"
#include "fs/source/container_folder.h"
#include "fs/source/source_root.h"
#include "fs/tree/inode_numbers.h"
#include "fs/tree/name_map.h"
#include "fs/tree/node.h"
#include "fs/tree/open_file.h"
#include "fs/view/decode_ahead.h"
#include "fs/write/chunk_writer.h"
#include "fs/write/new_frame_policy.h"
#include "fs/write/write_session_table.h"

namespace framefs::fs {

class ArrayView;

// The mount as the kernel asks about it, one member for each kind of question; it knows files, but
// not how the questions arrive.  Errors of every member: system, as the call on the source failed.
// Threads: any number.
class Filesystem {
 public:
  // Errors: system, where SOURCE cannot be opened.
  // `watcher` is for tests.
  static Result<std::unique_ptr<Filesystem>> open(const MountOptions& options, Log& log,
                                                  SourceProbe::Watcher watcher = nullptr);

  // Whether nothing can be changed: so asked for, or SOURCE allows no changes.
  [[nodiscard]] bool is_read_only() const noexcept { return options_.read_only; }

  struct Entry {
    NodeId id = 0;
    struct stat stat{};
  };
  // Whether a session writes the node's frame.
  [[nodiscard]] bool is_being_written(NodeId id) const;
  // Counts one lookup of the node found.
  Result<Entry> lookup(NodeId parent, const std::string& name);
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
  // `flags` are those of open(2).  Errors: EROFS for writing to what cannot be written to.
  Result<Opened> open_file(NodeId id, int flags);
  void close_file(const OpenFile& file);
  // Where NodeKey::has_view(); other files are read through OpenFile::source.
  // Errors: those of View::read().
  Result<ReadResult> read(OpenFile& file, std::uint64_t offset, std::uint64_t size);
  // Errors: those of View::seek(); of other files, as lseek() has them.
  Result<std::uint64_t> seek(const OpenFile& file, Seek what, std::uint64_t offset);
  // The members below want a file that was opened for writing.
  // Errors: no_space and others of storing what was written, now or before; EPERM for an array's
  //   header and beyond its end; over_limit.
  Status write(OpenFile& file, std::uint64_t offset, std::span<const std::byte> bytes);
  // Writes bytes where the file ends now.  False where that is not at `offset`, where the caller took
  // the end to be: its pages from there on are wrong.  Errors: likewise.
  Result<bool> append(OpenFile& file, std::uint64_t offset, std::span<const std::byte> bytes);
  // `mode` is that of fallocate(2).
  Status allocate(OpenFile& file, int mode, std::uint64_t offset, std::uint64_t size);
  // Stores what was written, so that failures to do so are known when the file is closed.
  Status flush(OpenFile& file);
  // Returns when what was written, whoever did, would outlast a loss of power.
  Status sync_file(OpenFile& file, bool only_data);

  Result<std::unique_ptr<OpenFolder>> open_directory(NodeId id);
  Result<std::vector<DirectoryEntry>> list(const OpenFolder& directory);
  // The inode number to show for an entry whose attributes nobody asked for.
  std::uint64_t shown_inode(const OpenFolder& directory, const DirectoryEntry& entry);
  // ShownAs-up of an entry that list() returned.  Counts one lookup.
  Result<Entry> lookup(const OpenFolder& directory, const DirectoryEntry& entry);

  // Extended attributes: what the mount says of a frame, and those of the file in SOURCE.
  // Errors of xattr(): system, ENODATA where there is none.
  Result<std::vector<std::string>> xattr_names(NodeId id);
  Result<std::vector<char>> xattr(NodeId id, const std::string& name);

  // What follows changes SOURCE.  Errors of all: EROFS where is_read_only(), or in a container.  Those
  // that give a name: EPERM for a name under which SOURCE would not show what it is given to, as
  // "x.b2frame" for what is to be shown as that.

  // Who asks, and so whose a new entry is, where the daemon may give it to them.
  struct Caller {
    uid_t user = 0;
    gid_t group = 0;
  };
  // Each counts one lookup of the entry.  Modes are taken as they are, whatever the umask.
  Result<Entry> make_directory(NodeId parent, const std::string& name, mode_t mode,
                               const Caller& caller);
  // A fifo, socket, device, or regular file.
  Result<Entry> make_node(NodeId parent, const std::string& name, mode_t mode, dev_t device,
                          const Caller& caller);
  Result<Entry> make_symlink(NodeId parent, const std::string& name, const std::string& target,
                             const Caller& caller);
  Result<Entry> make_link(NodeId id, NodeId parent, const std::string& name);
  struct Created {
    Entry entry;
    Opened opened;
  };
  // A new regular file, a frame or plain as WriteOptions say; without O_EXCL, one that is there
  // already.
  Result<Created> create_file(NodeId parent, const std::string& name, mode_t mode, int flags,
                              const Caller& caller);
  Status remove_file(NodeId parent, const std::string& name);
  Status remove_directory(NodeId parent, const std::string& name);
  // `flags` are those of renameat2(2), RENAME_NOREPLACE and RENAME_EXCHANGE.
  Status rename(NodeId parent, const std::string& name, NodeId new_parent,
                const std::string& new_name, unsigned flags);

  struct AttributeChange {
    std::optional<uid_t> user;
    std::optional<gid_t> group;
    std::optional<mode_t> mode;  // permission bits
    std::optional<std::uint64_t> size;
    // As utimensat(2) has them: UTIME_NOW, UTIME_OMIT.
    std::optional<timespec> accessed;
    std::optional<timespec> modified;
  };
  // `file` is the node's where somebody has it open, or null.  Returns the attributes afterwards.
  Result<struct stat> set_attributes(NodeId id, const AttributeChange& change, OpenFile* file);
  // Errors: EPERM for what the mount says of a frame; EEXIST, ENODATA as `flags`, those of
  //   setxattr(2), demand.
  Status set_xattr(NodeId id, const std::string& name, std::span<const std::byte> value, int flags);
  Status remove_xattr(NodeId id, const std::string& name);
  // Returns when the names in the directory would outlast a loss of power.
  Status sync_directory(NodeId id);

 private:
  Filesystem(const MountOptions& options, Log& log, SourceRoot root, Expected expected,
             const NodeKey& root_key, SourceProbe::Watcher watcher);

  [[nodiscard]] ReadServices services();
  [[nodiscard]] std::string name_for_log(const Node& node) const;
  [[nodiscard]] Expected expected_at(const std::string& path) const;

  // An entry of SOURCE and, where it is being written, what its session has: both of one moment.
  struct Seen {
    SourceEntry entry;
    std::optional<FrameWriteSession::Shown> written;
  };
  // The one way to sizes, times and states that are answered.  `probe` looks at SOURCE; `guess` is
  // the file that it is likely to find.
  using Probe = std::function<Result<SourceEntry>()>;
  Result<Seen> see(FileKey guess, const Probe& probe) const;
  Result<Seen> see_node(Node& node);
  struct Located {
    NameMap::Found found;
    Seen seen;
  };
  Result<Located> locate(const Node& parent, const Folder& folder, const std::string& name) const;
  Entry enter(const std::shared_ptr<Node>& parent, const std::string& source_name, ShownAs shown_as,
              const Seen& seen);
  static NodeKey key_of(const Node& parent, const std::string& source_name, ShownAs shown_as,
                        const SourceEntry& entry);
  struct stat shown(const Seen& seen, ShownAs shown_as);
  Result<SourceEntry> probe_node(Node& node);
  Result<SourceEntry> probe_place(const Node& node);
  Result<SourceEntry> probe_source(const Node& node, const BackingFile& source);
  Result<SourceEntry> probe_member(OpenContainer store, const std::string& member) const;
  Result<UniqueFd> open_node(const Node& node, int flags) const;
  template <class Attempt>
  auto where_it_is(const Attempt& attempt) const;
  Result<UniqueFd> open_place(const Node& node, int flags) const;
  Result<std::unique_ptr<Folder>> open_folder(Node& node);

  // The state of `node`'s source that `identity` tells, as CacheKey::content.
  ContentId content_id(Node& node, const FileIdentity& identity);
  // The container that a node is, or is a member of.
  Result<OpenContainer> open_container(Node& node);
  Result<OpenContainer> read_container(Node& node, const BackingFile& source);

  Result<BackingFile> open_source(const Node& node, int access = 0) const;
  // What a file is made as.
  struct NewFile {
    std::string source_name;
    std::optional<NewFrame> frame;   // nothing: a plain file
    std::vector<std::byte> bytes{};  // what is in it at first
  };
  // `new_file` where the file was just made to become a frame.
  Result<Opened> open_as(std::shared_ptr<Node> node, BackingFile source, int flags,
                         const NewFile* new_file);
  // The state of an open file's content, and the session that writes it (0: none), of one moment.
  struct ContentNow {
    FileIdentity identity;
    std::uint64_t session_id = 0;
  };
  Result<ContentNow> content_now(const OpenFile& file) const;
  Status truncate(Node& node, OpenFile* file, std::uint64_t size);
  // Null also where somebody else has changed the frame since.
  [[nodiscard]] WriteSessionTable::Session live_session(const FileKey& key) const;
  [[nodiscard]] WriteSessionTable::Session session_of(const Node& node) const;
  // A session whose frame is this process's to change.
  struct Changing {
    WriteSessionTable::Session session;
    FrameWriteSession::Change change;
    FrameWriteSession* operator->() const noexcept { return session.get(); }
  };
  Result<Changing> begin_change(OpenFile& file);
  Result<Changing> begin_change(Node& node, WriteSessionTable::Session session, int fd);
  Result<std::shared_ptr<FrameWriteSession>> make_session(Node& node, const BackingFile& source,
                                                          const NewFile* new_file);
  Result<BackingFile> open_for_writing(const Node& node, int flags) const;
  Result<std::shared_ptr<FrameWriteSession>> join_session(Node& node, const BackingFile& source,
                                                          const NewFile* new_file);
  void leave_session(const OpenFile& file);
  template <class Body>
  Status with_session(Node& node, const Body& body);
  std::shared_ptr<const View> view_of(Node& node, const FrameWriteSession& session);
  void end_session(const FileKey& key, const FileIdentity& identity);
  static Status write_array(const ArrayView& view, FrameWriteSession& session, std::uint64_t offset,
                            std::span<const std::byte> bytes);
  Status allocate_array(OpenFile& file, bool makes_zeros, bool may_grow, std::uint64_t offset,
                        std::uint64_t size);
  Result<std::shared_ptr<const View>> current_view(const OpenFile& file);
  Result<std::shared_ptr<const View>> make_view(const OpenFile& file, ContentId content);
  Result<FrameOrigin> origin_of(Node& node, const BackingFile& source);

  struct OpenedFrame {
    FrameOrigin origin;
    codec::Frame frame;
  };
  Result<OpenedFrame> open_frame(Node& node);
  Result<UniqueFd> open_attributes(const Node& node) const;
  Result<std::vector<char>> frame_xattr(Node& node, std::string_view name);
  Status set_vlmeta(Node& node, std::string_view name, std::span<const std::byte> content);
  Status remove_vlmeta(Node& node, std::string_view name);

  // A directory in which names change.
  struct Parent {
    std::shared_ptr<Node> node;
    std::unique_ptr<DiskFolder> folder;
    struct stat stat{};

    [[nodiscard]] int fd() const noexcept { return folder->fd(); }
  };
  // One of its entries.
  struct Member {
    const Parent& parent;
    NameMap::Found found;
  };
  [[nodiscard]] Status check_writable(const Node& node) const;
  [[nodiscard]] Status check_new_name(const std::string& name, ShownAs shown_as) const;
  Result<Parent> open_parent(NodeId id);
  Result<Parent> open_parent_for(NodeId id, const std::string& new_name);
  Result<std::optional<NameMap::Found>> find_in(const Folder& folder, const std::string& name);
  [[nodiscard]] std::string shown_path(const Parent& parent, const std::string& name) const;
  // The entry that was just made, given to who asked for it; where that fails, it is removed.
  Result<Entry> enter_new(const Parent& parent, const std::string& source_name,
                          const Caller& caller, mode_t mode);
  Result<Created> created(NodeId id, Result<Opened> opened);
  Result<Opened> open_existing(NodeId id, int flags);
  // `folder` is that of `parent`.
  Result<NewFile> plan_file(const Parent& parent, const Folder& folder,
                            const std::string& name) const;
  Result<BackingFile> make_file(const Parent& parent, const NewFile& plan, mode_t mode,
                                const Caller& caller);
  Result<std::string> place_of(const Member& moved, const Parent& to, const std::string& new_name,
                               const NameMap::Found* replaced);
  Status hold(const Member& member);
  void release_hold(const Member& member);
  Status remove_source(int parent, const std::string& source_name, const NameMap::Found& what);
  Status remove_entry(const Member& member);
  Status rename_source(const Member& moved, const Parent& to, const std::string& source_name,
                       unsigned flags);
  Status make_durable(const Member& moved);
  Status replace(const Member& moved, const Member& target, const std::string& new_name);
  Status replace_elsewhere(const Member& moved, const Member& target,
                           const std::string& source_name);
  Status replace_by_exchange(const Member& moved, const Member& target);
  Status exchange(const Member& one, const std::string& one_name, const Member& other,
                  const std::string& other_name);

  Result<UniqueFd> open_sparse(const Node& node) const;
  Status set_owner(const Node& node, int fd, const AttributeChange& change) const;
  Status set_mode(const Node& node, int fd, mode_t mode) const;
  Status set_times(Node& node, int fd, const timespec& accessed, const timespec& modified);

  // Constant after construction.
  const MountOptions options_;
  const SourceRoot root_;
  const Expected expected_;        // of SOURCE, where the mount shows one entry
  const std::string source_name_;  // for the log
  const NewFramePolicy new_frames_;
  // Self-synchronised.
  Log& log_;
  WorkerPool workers_;
  BufferPool buffers_;
  DecodeCache cache_;
  BlockFetcher blocks_;
  SourceProbe probe_;
  NameMap directory_;
  InodeNumbers inodes_;
  NodeTable nodes_;
  ContentIds content_ids_;
  ChunkWriter chunk_writer_;
  OverlayBudget overlay_;
  // Held while something is renamed in SOURCE and in `nodes_`, so that who finds a node missing can
  // wait for that.
  struct Renaming {};
  Guarded<Renaming> renaming_;
  // The last: their threads use all the others.
  WriteSessionTable sessions_;
  DecodeAhead ahead_;
};

}  // namespace framefs::fs
