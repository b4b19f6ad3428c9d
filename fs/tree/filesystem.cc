#include "fs/tree/filesystem.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "fs/source/container_folder.h"
#include "fs/source/mount_root.h"
#include "fs/source/shown_access.h"

namespace framefs::fs {
namespace {

// What is kept for reuse beside the cache: enough for the blocks that are decoded at a time, little
// beside the budget.
constexpr std::uint64_t kIdleBufferBytes = 16u << 20;
constexpr std::uint64_t kIdleBufferShare = 16;

// The root of a mount that shows one entry is not the entry, and an array's bytes are not its .npy
// file.  Filesystems number upwards from small values: the high bits are free to tell them apart.
constexpr std::uint64_t kSingleEntryInode = std::uint64_t{1} << 61;
constexpr std::uint64_t kArrayInode = std::uint64_t{1} << 62;

// A file that others keep replacing while it is looked up is given up after so many looks.
constexpr int kMaxRounds = 100;

bool names_source(const NodeKey& key, const struct stat& st) {
  // The directory around one entry is the same whatever entry that is by now.
  if (key.shown_as == ShownAs::single_entry) return true;
  return st.st_dev == key.device && st.st_ino == key.inode;
}

// A chunk is the natural unit of a frame, within what tools use as a buffer.
blksize_t shown_block_size(std::uint64_t chunksize) {
  constexpr std::uint64_t kMin = 4u << 10;
  constexpr std::uint64_t kMax = 1u << 20;
  return static_cast<blksize_t>(std::clamp(chunksize, kMin, kMax));
}

// Who may read a file may look into it.
mode_t directory_mode(mode_t file_mode) {
  const mode_t readable = file_mode & (S_IRUSR | S_IRGRP | S_IROTH);
  return S_IFDIR | readable | (readable >> 2U);
}

std::string directory_part(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string name_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Whether the error says that the file is not where it was seen last.
bool is_elsewhere(const Error& error) {
  return error.kind == Errc::system &&
         (error.sys == ENOENT || error.sys == ENOTDIR || error.sys == ESTALE);
}

// What is said of a file that is nowhere: at ESTALE the kernel looks its name up anew, and finds it
// elsewhere or not at all.
std::unexpected<Error> missing(const Error& error) {
  return system_error_of(error.sys == ENOTDIR ? ENOTDIR : ESTALE, error.field);
}

bool allows_no_changes(const MountOptions& options, const MountRoot& found) {
  if (options.read_only || options.source_offset > 0 || found.shown_as == ShownAs::container)
    return true;
  const auto fd = found.root.open(found.root.path(), O_PATH);
  struct statvfs st{};
  return fd && ::fstatvfs(fd->get(), &st) == 0 && (st.f_flag & ST_RDONLY) != 0;
}

}  // namespace

Result<std::unique_ptr<Filesystem>> Filesystem::open(const MountOptions& options, Log& log,
                                                     SourceProbe::Watcher watcher) {
  FRAMEFS_TRY(auto found, find_mount_root(options));
  auto effective = options;
  effective.read_only = allows_no_changes(options, found);
  const auto& st = found.entry.stat;
  const NodeKey key{st.st_dev, st.st_ino, found.shown_as, {}};
  return std::unique_ptr<Filesystem>(new Filesystem(effective, log, std::move(found.root),
                                                    found.expected, key, std::move(watcher)));
}

Filesystem::Filesystem(const MountOptions& options, Log& log, SourceRoot root, Expected expected,
                       const NodeKey& root_key, SourceProbe::Watcher watcher)
    : options_(options),
      root_(std::move(root)),
      expected_(expected),
      source_name_(options.source.string()),
      new_frames_(options.write),
      log_(log),
      workers_(options.threads),
      buffers_(std::min(kIdleBufferBytes, options.cache_bytes / kIdleBufferShare)),
      cache_(options.cache_bytes),
      blocks_(cache_, buffers_, workers_),
      probe_(options.limits, options.source_offset, std::move(watcher), options.allow_other),
      directory_(workers_, options.keep_suffix, options.arrays),
      inodes_(root_key.device),
      nodes_(root_key, root_.path()),
      chunk_writer_(workers_),
      overlay_(options.write.overlay_bytes),
      sessions_(
          overlay_, log_, std::chrono::milliseconds(options.write.commit_interval_ms),
          [this](const FileKey& key, const FileIdentity& identity) { end_session(key, identity); }),
      ahead_(options.threads, options.cache_bytes) {}

Result<UniqueFd> Filesystem::open_place(const Node& node, int flags) const {
  FRAMEFS_TRY(auto fd, root_.open(nodes_.path_of(node), flags));
  // Another file may have taken the place since; the kernel then has to look the name up anew.
  FRAMEFS_TRY(const auto st, stat_of(fd.get()));
  if (!names_source(node.key, st)) return system_error_of(ESTALE, "open");
  return fd;
}

// Runs `attempt`, which looks for the node where it was seen last, and again where it was just then
// being renamed.
template <class Attempt>
auto Filesystem::where_it_is(const Attempt& attempt) const {
  auto found = attempt();
  if (found || !is_elsewhere(found.error())) return found;
  renaming_.with([](const Renaming&) {});
  return attempt();
}

Result<UniqueFd> Filesystem::open_node(const Node& node, int flags) const {
  auto fd = where_it_is([&] { return open_place(node, flags); });
  if (fd || !is_elsewhere(fd.error())) return fd;
  if (const auto held = nodes_.held(node)) return reopen(held->get(), flags);
  return missing(fd.error());
}

// A folder of what is shown in a directory.
Result<std::unique_ptr<Folder>> Filesystem::open_folder(Node& node) {
  if (node.key.shown_as == ShownAs::container) {
    FRAMEFS_TRY(auto opened, open_container(node));
    return std::make_unique<ContainerFolder>(std::move(opened), node.key.member, options_.limits);
  }
  if (node.key.shown_as == ShownAs::single_entry) {
    FRAMEFS_TRY(auto fd, root_.open(".", O_PATH | O_DIRECTORY));
    return std::make_unique<SingleEntryFolder>(std::move(fd), root_.path(), expected_, probe_);
  }
  // The directory of a sparse frame is shown as a file.
  if (node.key.shown_as != ShownAs::itself) return system_error_of(ENOTDIR, "opendir");
  FRAMEFS_TRY(auto fd, open_node(node, O_RDONLY | O_DIRECTORY));
  return std::make_unique<DiskFolder>(std::move(fd), probe_);
}

// Looks for the session first, then at SOURCE, then at what the session has, and again where a session
// of the file has begun or ended meanwhile, or the file is another than was guessed.
Result<Filesystem::Seen> Filesystem::see(FileKey guess, const Probe& probe) const {
  while (true) {
    FRAMEFS_TRY(
        auto seen,
        sessions_.observe(guess, [&](const WriteSessionTable::Session& session) -> Result<Seen> {
          FRAMEFS_TRY(auto entry, probe());
          Seen both{.entry = std::move(entry), .written = {}};
          if (session && session->check()) both.written = session->shown();
          return both;
        }));
    const auto key = file_key(seen.entry);
    if (key == guess) return seen;
    guess = key;
  }
}

Result<Filesystem::Seen> Filesystem::see_node(Node& node) {
  if (!node.key.is_member()) return see(file_key(node), [&] { return probe_node(node); });
  // Containers are never written.
  FRAMEFS_TRY(auto entry, probe_node(node));
  return Seen{.entry = std::move(entry), .written = {}};
}

bool Filesystem::is_being_written(NodeId id) const {
  const auto node = nodes_.find(id);
  return node && session_of(**node) != nullptr;
}

struct stat Filesystem::shown(const Seen& seen, ShownAs shown_as) {
  const auto& [entry, written] = seen;
  struct stat st = entry.content_stat();
  const auto& summary = entry.summary;
  st.st_ino = inodes_.shown(entry.stat.st_dev, entry.stat.st_ino);
  if (written && shown_as != ShownAs::itself) st.st_mtim = written->mtime;
  if (entry.index_stat) intersect_access(st, entry.stat);
  if (entry.index_stat) st.st_blocks = static_cast<blkcnt_t>((summary.stored_bytes + 511) / 512);
  switch (shown_as) {
    case ShownAs::itself:
      return st;
    case ShownAs::frame:
      st.st_size = static_cast<off_t>(written ? written->nbytes : summary.nbytes);
      break;
    case ShownAs::array:
      st.st_size = static_cast<off_t>(summary.array_bytes);
      if (options_.arrays == ArrayViews::both) st.st_ino ^= kArrayInode;
      break;
    case ShownAs::npy:
      st.st_size = static_cast<off_t>(summary.npy_bytes + summary.array_bytes);
      break;
    case ShownAs::single_entry:
      st.st_ino ^= kSingleEntryInode;
      [[fallthrough]];
    case ShownAs::container:
      st.st_mode = directory_mode(st.st_mode);
      st.st_size = 0;
      return st;
  }
  st.st_blksize = shown_block_size(summary.chunksize);
  return st;
}

// Of what is in a container, the container's with the path in it; the path follows the names in the
// container, so that it stays the same whatever else is in there.
NodeKey Filesystem::key_of(const Node& parent, const std::string& source_name, ShownAs shown_as,
                           const SourceEntry& entry) {
  if (parent.key.shown_as != ShownAs::container) {
    return {entry.stat.st_dev, entry.stat.st_ino, shown_as, {}};
  }
  const auto& directory = parent.key.member;
  auto member = directory.empty() ? source_name : directory + "/" + source_name;
  if (S_ISDIR(entry.stat.st_mode)) shown_as = ShownAs::container;
  return {parent.key.device, parent.key.inode, shown_as, std::move(member)};
}

Filesystem::Entry Filesystem::enter(const std::shared_ptr<Node>& parent,
                                    const std::string& source_name, ShownAs shown_as,
                                    const Seen& seen) {
  const auto key = key_of(*parent, source_name, shown_as, seen.entry);
  // What is the only one in its directory is where the mount itself was told to look.
  const auto& name = parent->key.shown_as == ShownAs::single_entry ? root_.path() : source_name;
  const auto node = nodes_.lookup(parent, name, key);
  return {node->id, shown(seen, key.shown_as)};
}

// What is shown as `name`, as it is now.
Result<Filesystem::Located> Filesystem::locate(const Node& parent, const Folder& folder,
                                               const std::string& name) const {
  for (int round = 0; round < kMaxRounds; ++round) {
    FRAMEFS_TRY(auto found, directory_.find(folder, name));
    if (parent.key.shown_as == ShownAs::container) {
      Seen seen{.entry = found.entry, .written = {}};  // never written
      return Located{std::move(found), std::move(seen)};
    }
    FRAMEFS_TRY(auto seen,
                see(file_key(found.entry), [&] { return folder.probe(found.source_name); }));
    if (can_be_shown(seen.entry.summary, found.shown_as)) {
      return Located{std::move(found), std::move(seen)};
    }
  }
  return system_error_of(ESTALE, "lookup");
}

Result<Filesystem::Entry> Filesystem::lookup(NodeId parent, const std::string& name) {
  FRAMEFS_TRY(const auto node, nodes_.find(parent));
  FRAMEFS_TRY(const auto folder, open_folder(*node));
  FRAMEFS_TRY(const auto located, locate(*node, *folder, name));
  return enter(node, located.found.source_name, located.found.shown_as, located.seen);
}

Result<Filesystem::Entry> Filesystem::lookup(const OpenFolder& directory,
                                             const DirectoryEntry& entry) {
  const auto& [name, inode, type] = entry.source;
  const auto& node = directory.node;
  const auto probe = [&] { return directory.folder->probe(name); };
  if (node->key.shown_as == ShownAs::container) {
    FRAMEFS_TRY(auto member, probe());
    return enter(node, name, entry.shown.shown_as, {.entry = std::move(member), .written = {}});
  }
  FRAMEFS_TRY(const auto seen, see({node->key.device, inode}, probe));
  // It may have another name by now, which the kernel finds when it looks the name up.
  if (!can_be_shown(seen.entry.summary, entry.shown.shown_as)) {
    return system_error_of(ESTALE, "lookup");
  }
  return enter(node, name, entry.shown.shown_as, seen);
}

Result<SourceEntry> Filesystem::probe_member(OpenContainer store, const std::string& member) const {
  const auto directory = directory_part(member);
  const ContainerFolder folder(std::move(store), directory == "." ? "" : directory,
                               options_.limits);
  return folder.probe(name_part(member));
}

// What the entry at a path in SOURCE is taken for.
Expected Filesystem::expected_at(const std::string& path) const {
  return path == root_.path() ? expected_ : expected_content(name_part(path));
}

Result<SourceEntry> Filesystem::probe_node(Node& node) {
  if (node.key.is_member()) {
    FRAMEFS_TRY(auto opened, open_container(node));
    return probe_member(std::move(opened), node.key.member);
  }
  auto entry = where_it_is([&] { return probe_place(node); });
  if (entry || !is_elsewhere(entry.error())) return entry;
  const auto held = nodes_.held(node);
  if (!held) return missing(entry.error());
  SourceEntry nameless;
  FRAMEFS_TRY(nameless.stat, probe_.stat_open(held->get()));
  if (!node.key.has_view()) return nameless;
  FRAMEFS_TRY(auto fd, reopen(held->get(), O_RDONLY | O_NONBLOCK));
  FRAMEFS_TRY(const auto source, BackingFile::adopt(std::move(fd)));
  return probe_source(node, source);
}

// What is open in SOURCE for the sake of a node.
Result<SourceEntry> Filesystem::probe_source(const Node& node, const BackingFile& source) {
  SourceEntry entry;
  FRAMEFS_TRY(entry.stat, probe_.stat_open(source.fd()));
  if (!node.key.has_view()) return entry;
  FRAMEFS_TRY(const auto content, source.open_content());
  FRAMEFS_TRY(const auto st, probe_.stat_open(content->fd()));
  if (source.is_sparse()) entry.index_stat = st;
  entry.summary = probe_.probe_open(*content, st, expected_at(nodes_.path_of(node)));
  return entry;
}

Result<SourceEntry> Filesystem::probe_place(const Node& node) {
  const auto path = nodes_.path_of(node);
  FRAMEFS_TRY(const auto directory, root_.open(directory_part(path), O_PATH | O_DIRECTORY));
  FRAMEFS_TRY(const auto entry,
              probe_.probe_as(directory.get(), name_part(path), expected_at(path)));
  if (!names_source(node.key, entry.stat)) return system_error_of(ESTALE, "stat");
  return entry;
}

Result<struct stat> Filesystem::stat_node(NodeId id) {
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  FRAMEFS_TRY(const auto seen, see_node(*node));
  return shown(seen, node->key.shown_as);
}

Result<std::string> Filesystem::read_link(NodeId id) {
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  FRAMEFS_TRY(const auto link, open_node(*node, O_PATH | O_NOFOLLOW));
  std::array<char, PATH_MAX> target{};
  const auto size = ::readlinkat(link.get(), "", target.data(), target.size());
  if (size < 0) return system_error("readlink");
  return std::string(target.data(), static_cast<std::size_t>(size));
}

Status Filesystem::check_access(NodeId id, int mask) {
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  if ((mask & W_OK) != 0) FRAMEFS_CHECK(check_writable(*node));
  FRAMEFS_TRY(const auto file, open_node(*node, O_PATH | O_NOFOLLOW));
  // A directory that is a file in SOURCE may be searched by whoever may read the file.
  const bool is_container = node->key.shown_as == ShownAs::container || node->key.is_member();
  if (is_container && (mask & X_OK) != 0) mask = (mask & ~X_OK) | R_OK;
  if (::faccessat(file.get(), "", mask, AT_EMPTY_PATH | AT_EACCESS) != 0) {
    return system_error("access");
  }
  return {};
}

Result<struct statvfs> Filesystem::stat_filesystem() {
  FRAMEFS_TRY(const auto root, root_.open(root_.path(), O_PATH));
  struct statvfs st{};
  if (::fstatvfs(root.get(), &st) != 0) return system_error("statfs");
  return st;
}

Result<std::unique_ptr<OpenFolder>> Filesystem::open_directory(NodeId id) {
  FRAMEFS_TRY(auto node, nodes_.find(id));
  FRAMEFS_TRY(auto folder, open_folder(*node));
  return std::make_unique<OpenFolder>(OpenFolder{std::move(node), std::move(folder)});
}

Result<std::vector<DirectoryEntry>> Filesystem::list(const OpenFolder& directory) {
  return directory_.list(*directory.folder);
}

std::uint64_t Filesystem::shown_inode(const OpenFolder& directory, const DirectoryEntry& entry) {
  const auto shown = inodes_.shown(directory.node->key.device, entry.source.inode);
  const bool is_second =
      entry.shown.shown_as == ShownAs::array && options_.arrays == ArrayViews::both;
  return is_second ? shown ^ kArrayInode : shown;
}

}  // namespace framefs::fs
