#include "fs/tree/nodes/node_locator.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace framefs::fs {

bool names_source(const NodeKey& key, const struct stat& st) noexcept {
  // The directory around a single entry stays the same if another file replaces the entry.
  if (key.shown_as == ShownAs::single_entry) return true;
  return st.st_dev == key.device && st.st_ino == key.inode;
}

NodeLocator::NodeLocator(SourceRoot root, const NodeKey& root_key, std::string source_name,
                         Log& log, const SourceHandles* handles)
    : root_(std::move(root)),
      source_name_(std::move(source_name)),
      log_(log),
      handles_(handles),
      nodes_(root_key, root_.path()) {}

std::string NodeLocator::name_for_log(const Node& node) const {
  std::string name = source_name_;
  // In a mount of one entry, SOURCE is the path of that entry.
  if (root_.path() == ".") name += "/" + nodes_.path_of(node);
  if (node.key.is_member()) name += "/" + node.key.member.str();
  return name;
}

bool NodeLocator::is_elsewhere(const Error& error) noexcept {
  return error.kind == Errc::system &&
         (error.sys == ENOENT || error.sys == ENOTDIR || error.sys == ESTALE);
}

std::unexpected<Error> NodeLocator::missing(const Error& error) {
  return system_error_of(error.sys == ENOTDIR ? ENOTDIR : ESTALE, error.field);
}

Result<UniqueFd> NodeLocator::open_path(const std::string& path, int flags) const {
  auto fd = root_.open(path, flags);
  const bool may_be_removed = fd ? path == "." : fd.error().sys == ENOENT;
  if (!may_be_removed || !root_.is_removed()) return fd;
  return tell_removed();
}

std::unexpected<Error> NodeLocator::tell_removed() const {
  auto gone = refusal(ESTALE, "SOURCE was removed; unmount the mount");
  log_.failure(source_name_, gone.error());
  return gone;
}

Result<UniqueFd> NodeLocator::open_at(const std::string& path, const Node& node, int flags,
                                      struct stat& st) const {
  auto fd = root_.open(path, flags);
  if (!fd && fd.error().sys == ENOENT && root_.is_removed()) return tell_removed();
  if (!fd) return fd;
  FRAMEFS_TRY(st, stat_of(fd->get()));
  if (st.st_nlink == 0 && path == "." && root_.is_removed()) return tell_removed();
  // Another file may have taken the place; the kernel then has to look the name up again.
  if (!names_source(node.key, st)) return system_error_of(ESTALE, "open");
  if (handles_ != nullptr && node.is_exported() &&
      handles_->generation_of(fd->get(), st) != node.generation) {
    return system_error_of(ESTALE, "open");
  }
  return fd;
}

Result<UniqueFd> NodeLocator::open(const Node& node, int flags) const {
  FRAMEFS_TRY(auto opened, open_with_stat(node, flags));
  return std::move(opened.fd);
}

Result<NodeLocator::Opened> NodeLocator::open_with_stat(const Node& node, int flags) const {
  Opened opened;
  const auto by_path = [&](const std::string& path) {
    return open_at(path, node, flags, opened.stat);
  };
  const auto stat_too = [&](Result<UniqueFd> fd) -> Result<UniqueFd> {
    if (!fd) return fd;
    FRAMEFS_TRY(opened.stat, stat_of(fd->get()));
    return fd;
  };
  const auto by_descriptor = [&](int held) { return stat_too(reopen(held, flags)); };
  auto fd = where_it_is(node, by_path, by_descriptor);
  if (!fd && is_elsewhere(fd.error())) {
    if (!node.is_exported()) return missing(fd.error());
    fd = stat_too(open_by_handle(node, flags));
  }
  if (!fd) return std::unexpected(fd.error());
  opened.fd = std::move(*fd);
  return opened;
}

Result<UniqueFd> NodeLocator::open_by_handle(const Node& node, int flags) const {
  if (handles_ == nullptr || !node.is_exported()) return system_error_of(ESTALE, "open");
  return handles_->open(node.key.inode, node.generation, flags);
}

Result<BackingFile> NodeLocator::open_file(const Node& node, int access) const {
  // O_RDONLY suffices for a container and for the directory of a sparse frame.
  const auto container = node.key.is_member() ? nodes_.container_of(node) : nullptr;
  FRAMEFS_TRY(auto fd, open(container ? *container : node, access | O_NOFOLLOW | O_NONBLOCK));
  return BackingFile::adopt(std::move(fd));
}

}  // namespace framefs::fs
