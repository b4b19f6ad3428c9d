#include "fs/tree/filesystem.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace framefs::fs {
namespace {

NodeKey key_of(const struct stat& st, bool is_frame) {
  return {.device = st.st_dev, .inode = st.st_ino, .is_frame = is_frame};
}

// What is kept for reuse beside the cache: enough for the blocks that are decoded at a time, little
// beside the budget.
constexpr std::uint64_t kIdleBufferBytes = 4u << 20;
constexpr std::uint64_t kIdleBufferShare = 16;

// A chunk is the natural unit of a frame, within what tools use as a buffer.
blksize_t shown_block_size(std::uint64_t chunksize) {
  constexpr std::uint64_t kLeast = 4u << 10;
  constexpr std::uint64_t kMost = 1u << 20;
  return static_cast<blksize_t>(std::clamp(chunksize, kLeast, kMost));
}

std::string directory_part(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string name_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Result<std::unique_ptr<Filesystem>> Filesystem::open(const MountOptions& options, Log& log) {
  FRAMEFS_TRY(auto root, SourceRoot::open(options.source));
  FRAMEFS_TRY(const auto directory, root.open(".", O_PATH | O_DIRECTORY));
  FrameProbe probe;
  FRAMEFS_TRY(const auto file, probe.probe(directory.get(), root.path()));
  if (!root.is_directory() && !file.summary.is_frame) {
    return system_error_of(ENOTDIR, "SOURCE is neither a directory nor a frame");
  }
  const auto key = key_of(file.stat, file.summary.is_frame);
  return std::unique_ptr<Filesystem>(new Filesystem(options, log, std::move(root), key));
}

Filesystem::Filesystem(const MountOptions& options, Log& log, SourceRoot root,
                       const NodeKey& root_key)
    : options_(options),
      root_(std::move(root)),
      source_name_(options.source.string()),
      log_(log),
      workers_(options.threads),
      buffers_(std::min(kIdleBufferBytes, options.cache_bytes / kIdleBufferShare)),
      cache_(options.cache_bytes),
      blocks_(cache_, buffers_, workers_),
      directory_(probe_, workers_, options.keep_suffix),
      inodes_(root_key.device),
      nodes_(root_key, root_.path()) {}

Result<UniqueFd> Filesystem::open_node(const Node& node, int flags) const {
  FRAMEFS_TRY(auto fd, root_.open(nodes_.path_of(node), flags));
  // Another file may have taken the place since; the kernel then has to look the name up anew.
  FRAMEFS_TRY(const auto st, stat_of(fd.get()));
  if (key_of(st, node.key.is_frame) != node.key) return system_error_of(ESTALE, "open");
  return fd;
}

struct stat Filesystem::shown(const ProbedFile& file) {
  struct stat st = file.stat;
  st.st_ino = inodes_.shown(st.st_dev, st.st_ino);
  if (file.summary.is_frame) {
    st.st_size = static_cast<off_t>(file.summary.nbytes);
    st.st_blksize = shown_block_size(file.summary.chunksize);
  }
  return st;
}

Filesystem::Entry Filesystem::enter(const std::shared_ptr<Node>& parent, const std::string& name,
                                    const ProbedFile& file) {
  const auto node = nodes_.look_up(parent, name, key_of(file.stat, file.summary.is_frame));
  return {node->id, shown(file)};
}

Result<Filesystem::Entry> Filesystem::look_up(NodeId parent, const std::string& name) {
  FRAMEFS_TRY(const auto node, nodes_.find(parent));
  FRAMEFS_TRY(const auto directory, open_node(*node, O_PATH | O_DIRECTORY));
  FRAMEFS_TRY(const auto found, directory_.find(directory.get(), name));
  return enter(node, found.source_name, found.file);
}

Result<Filesystem::Entry> Filesystem::look_up(const OpenDirectory& directory,
                                              const DirectoryEntry& entry) {
  if (entry.file) return enter(directory.node, entry.source_name, *entry.file);
  FRAMEFS_TRY(const auto file, probe_.probe(directory.fd.get(), entry.source_name));
  return enter(directory.node, entry.source_name, file);
}

Result<ProbedFile> Filesystem::probe_node(const Node& node) {
  const auto path = nodes_.path_of(node);
  FRAMEFS_TRY(const auto directory, root_.open(directory_part(path), O_PATH | O_DIRECTORY));
  FRAMEFS_TRY(const auto file, probe_.probe(directory.get(), name_part(path)));
  if (key_of(file.stat, file.summary.is_frame) != node.key) return system_error_of(ESTALE, "stat");
  return file;
}

Result<struct stat> Filesystem::stat_node(NodeId id) {
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  FRAMEFS_TRY(const auto file, probe_node(*node));
  return shown(file);
}

Result<struct stat> Filesystem::stat_file(const OpenFile& file) {
  FRAMEFS_TRY(const auto st, stat_of(file.source->fd()));
  if (!file.node->key.is_frame) return shown({.stat = st, .summary = {}});
  return shown({.stat = st, .summary = probe_.probe_open(file.source->fd(), identity_of(st))});
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
  if ((mask & W_OK) != 0) return system_error_of(EROFS, "access");
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  FRAMEFS_TRY(const auto file, open_node(*node, O_PATH | O_NOFOLLOW));
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

Result<Filesystem::Opened> Filesystem::open_file(NodeId id) {
  FRAMEFS_TRY(auto node, nodes_.find(id));
  FRAMEFS_TRY(auto fd, open_node(*node, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  FRAMEFS_TRY(const auto st, stat_of(fd.get()));
  const auto identity = identity_of(st);
  Opened opened;
  opened.file = std::make_unique<OpenFile>(
      OpenFile{std::move(node), std::make_shared<const FileSource>(std::move(fd))});
  auto& state = opened.file->node->frame;
  opened.keep_pages = state.with([&](Node::FrameState& frame) {
    ++frame.open_handles;
    return std::exchange(frame.kernel_pages, identity) == identity;
  });
  if (!opened.file->node->key.is_frame) return opened;
  const auto view = current_view(*opened.file);
  if (!view) {
    close_file(*opened.file);
    return std::unexpected(view.error());
  }
  opened.bypass_pages = !(*view)->is_readable();
  return opened;
}

void Filesystem::close_file(const OpenFile& file) {
  // The view goes with the last handle, and its descriptor with it; what the cache holds stays
  // good.
  std::shared_ptr<const FrameView> dropped;
  file.node->frame.with([&](Node::FrameState& frame) {
    if (--frame.open_handles == 0) dropped = std::move(frame.view);
  });
}

// The view of the file as it is now.  Frames are changed under a mount, by appending or in place: a
// look at the file's times before each read is cheap beside serving bytes of two states.
Result<std::shared_ptr<const FrameView>> Filesystem::current_view(const OpenFile& file) {
  FRAMEFS_TRY(const auto st, stat_of(file.source->fd()));
  const auto identity = identity_of(st);
  std::uint64_t state_id = 0;
  auto view = file.node->frame.with([&](Node::FrameState& frame) {
    if (frame.state_id == 0 || frame.identity != identity) {
      frame.identity = identity;
      frame.state_id = next_state_.fetch_add(1, std::memory_order_relaxed);
      frame.view.reset();
    }
    state_id = frame.state_id;
    return frame.view;
  });
  if (view) return view;
  const ReadServices services{options_.limits, buffers_, cache_, blocks_, log_};
  const auto name = source_name_ + (root_.is_directory() ? "/" + nodes_.path_of(*file.node) : "");
  auto made = std::make_shared<const FrameView>(file.source, state_id, name, services);
  return file.node->frame.with([&](Node::FrameState& frame) {
    if (frame.state_id == state_id) {
      // Somebody else may have been as quick.
      if (frame.view) return frame.view;
      frame.view = made;
    }
    return std::shared_ptr<const FrameView>(std::move(made));
  });
}

Result<ReadResult> Filesystem::read_frame(const OpenFile& file, std::uint64_t offset,
                                          std::uint64_t size) {
  FRAMEFS_TRY(const auto view, current_view(file));
  return view->read(offset, size);
}

Result<std::unique_ptr<OpenDirectory>> Filesystem::open_directory(NodeId id) {
  FRAMEFS_TRY(auto node, nodes_.find(id));
  FRAMEFS_TRY(auto fd, open_node(*node, O_RDONLY | O_DIRECTORY));
  return std::make_unique<OpenDirectory>(OpenDirectory{std::move(node), std::move(fd)});
}

Result<std::vector<DirectoryEntry>> Filesystem::list(const OpenDirectory& directory) {
  return directory_.list(directory.fd.get());
}

std::uint64_t Filesystem::shown_inode(const OpenDirectory& directory, const DirectoryEntry& entry) {
  return inodes_.shown(directory.node->key.device, entry.inode);
}

}  // namespace framefs::fs
