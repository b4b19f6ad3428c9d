#include "src/warm/warm_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/file.h"
#include "src/cli/path_lookup.h"
#include "src/cli/remote_walk.h"

namespace framefs {
namespace {

using codec::Status;

constexpr std::uint64_t kPieceBytes = 1 << 20;

// Reads a file of a tree.  The disk cache drops what it cannot write in time, so that the reader
// waits for it.
Status read_node(fs::RemoteTree& tree, fs::NodeId node, std::atomic<std::uint64_t>& total) {
  FRAMEFS_TRY(const auto file, tree.open_reader(node));
  tree.forget(node, 1);  // the open file keeps it
  for (std::uint64_t at = 0;;) {
    FRAMEFS_TRY(const auto piece, tree.read(*file, at, kPieceBytes));
    std::uint64_t bytes = 0;
    for (const auto& span : piece.spans) bytes += span.size();
    if (bytes == 0) return {};
    at += bytes;
    total.fetch_add(bytes, std::memory_order_relaxed);
    tree.flush_disk_cache();
  }
}

Status read_file(const std::string& path, std::atomic<std::uint64_t>& total) {
  const fs::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return fs::system_error("open");
  std::vector<std::byte> piece(kPieceBytes);
  while (true) {
    const auto bytes = ::read(fd.get(), piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return fs::system_error("read");
    if (bytes == 0) return {};
    total.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
  }
}

}  // namespace

Status FarWalk::add(const std::string& path, FileReaders& readers, const WarmTick& tick) {
  FRAMEFS_TRY(const auto root, tree_.stat_node(fs::kRootNode));
  FRAMEFS_TRY(const auto found, find_path({.id = fs::kRootNode, .stat = root}, path,
                                          [this](fs::NodeId node, const std::string& name) {
                                            return tree_.lookup(node, name);
                                          }));
  if (!S_ISDIR(found.stat.st_mode)) {
    add_file(path, found.id, readers, tick);
    return {};
  }
  RemoteWalk walk(tree_);
  FRAMEFS_CHECK(walk.enter(found.id, path));
  while (const auto next = walk.next()) {
    const auto node = tree_.lookup(*next->folder, next->entry);
    if (!node) {
      readers.fail(next->path, node.error());
    } else if (S_ISDIR(node->stat.st_mode)) {
      const auto entered = walk.enter(node->id, next->path);
      if (!entered) readers.fail(next->path, entered.error());
      tree_.forget(node->id, 1);
    } else {
      add_file(next->path, node->id, readers, tick);
    }
  }
  return {};
}

void FarWalk::add_file(const std::string& path, fs::NodeId node, FileReaders& readers,
                       const WarmTick& tick) {
  readers.add(
      {.path = path,
       .read = [this,
                node](std::atomic<std::uint64_t>& bytes) { return read_node(tree_, node, bytes); }},
      tick);
}

Status MountWalk::add(const std::string& path, FileReaders& readers, const WarmTick& tick) {
  namespace stdfs = std::filesystem;
  const auto top = path.empty() ? mountpoint_ : mountpoint_ / stdfs::path(path).relative_path();
  const auto add_file = [&](const stdfs::path& file) {
    readers.add({.path = file.string(),
                 .read = [text = file.string()](
                             std::atomic<std::uint64_t>& bytes) { return read_file(text, bytes); }},
                tick);
  };
  std::error_code error;
  const auto status = stdfs::symlink_status(top, error);
  if (error) return fs::system_error_of(error.value(), "stat");
  if (!stdfs::is_directory(status)) {
    add_file(top);
    return {};
  }
  stdfs::recursive_directory_iterator next(top, error);
  while (!error && next != stdfs::recursive_directory_iterator()) {
    const auto& entry = *next;
    std::error_code none;
    if (entry.symlink_status(none).type() == stdfs::file_type::regular) add_file(entry.path());
    next.increment(error);
  }
  if (error) return fs::system_error_of(error.value(), "readdir");
  return {};
}

}  // namespace framefs
