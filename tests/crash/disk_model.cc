#include "tests/crash/disk_model.h"

#include <stdio.h>

#include <fstream>
#include <iterator>
#include <utility>

namespace framefs::test {

namespace stdfs = std::filesystem;

namespace {

// The suffix that /proc appends to the path of a file without a name.
constexpr const char* kUnlinkedSuffix = " (deleted)";

}  // namespace

DiskModel::DiskModel(const stdfs::path& folder, bool journal) : names_(journal) {
  add_node(Kind::directory);
  load(folder, DiskNames::kRoot);
}

DiskModel::Node DiskModel::add_node(Kind kind, Bytes bytes) {
  nodes_.push_back({kind, DiskFile(std::move(bytes))});
  const auto node = static_cast<Node>(nodes_.size() - 1);
  if (kind == Kind::directory) names_.add_directory(node);
  return node;
}

void DiskModel::load(const stdfs::path& folder, Node directory) {
  for (const auto& entry : stdfs::directory_iterator(folder)) {
    const bool is_symlink = entry.is_symlink();
    Bytes bytes;
    if (!is_symlink && entry.is_regular_file()) {
      std::ifstream in(entry.path(), std::ios::binary);
      bytes.resize(entry.file_size());
      in.read(as_chars(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
    const auto kind = is_symlink             ? Kind::other
                      : entry.is_directory() ? Kind::directory
                                             : Kind::file;
    const auto node = add_node(kind, std::move(bytes));
    names_.add_durable({directory, entry.path().filename()}, node);
    if (kind == Kind::directory) load(entry.path(), node);
  }
}

// Inode numbers are reused: creating a file records its number.  Older files are first found by
// path.
std::optional<DiskModel::Node> DiskModel::file_of(std::uint64_t inode, const std::string& path) {
  const auto known = by_inode_.find(inode);
  if (known != by_inode_.end()) return known->second;
  const auto found = names_.find(path);
  if (!found || !is_file(*found)) return std::nullopt;
  by_inode_[inode] = *found;
  return found;
}

bool DiskModel::change_file(const RecordHead& head, const std::string& path,
                            std::span<const std::byte> data) {
  const auto node = file_of(head.inode, path);
  // A file that lost its name before it was first written cannot be found any more.
  if (!node) return path.ends_with(kUnlinkedSuffix);
  nodes_[*node].file.add({.moment = now_,
                          .kind = head.kind,
                          .offset = head.offset,
                          .size = head.size,
                          .mode = head.flags,
                          .data = data});
  return true;
}

bool DiskModel::create(const RecordHead& head, const std::string& path, Kind kind) {
  if (kind == Kind::file && names_.find(path)) return true;  // it already existed
  const auto place = names_.place_of(path);
  if (!place) return false;
  const auto node = add_node(kind);
  if (kind == Kind::file) by_inode_[head.inode] = node;
  names_.change(now_, {{.place = *place, .node = node, .only_if = {}}});
  return true;
}

bool DiskModel::rename(const RecordHead& head, const std::string& path, const std::string& path2) {
  const auto from = names_.place_of(path);
  const auto to = names_.place_of(path2);
  const auto node = names_.find(path);
  if (!from || !to || !node) return false;
  if ((head.flags & RENAME_EXCHANGE) != 0) {
    const auto other = names_.find(path2);
    if (!other) return false;
    names_.change(now_, {{.place = *from, .node = other, .only_if = node},
                         {.place = *to, .node = node, .only_if = other}});
    return true;
  }
  if (*from == *to || names_.find(path2) == node) return true;  // as rename(2) requires
  names_.change(now_, {{.place = *to, .node = node, .only_if = {}},
                       {.place = *from, .node = {}, .only_if = node}});
  return true;
}

bool DiskModel::link(const RecordHead& head, const std::string& path, const std::string& path2) {
  const auto place = names_.place_of(path2);
  const auto node = file_of(head.inode, path);
  if (!place || !node) return false;
  names_.change(now_, {{.place = *place, .node = node, .only_if = {}}});
  return true;
}

bool DiskModel::unlink(const std::string& path) {
  const auto place = names_.place_of(path);
  const auto node = names_.find(path);
  if (!place || !node) return false;
  names_.change(now_, {{.place = *place, .node = {}, .only_if = node}});
  return true;
}

bool DiskModel::begin_sync(const RecordHead& head, const std::string& path) {
  Sync sync{.moment = now_, .node = {}};
  if (head.kind == RecordKind::sync_begin) {
    const auto found = names_.find(path);
    sync.node = found && is_directory(*found) ? found : file_of(head.inode, path);
    if (!sync.node && path.ends_with(kUnlinkedSuffix)) return true;
    if (!sync.node) return false;
  }
  return syncs_.try_emplace(head.size, sync).second;
}

bool DiskModel::end_sync(std::uint64_t number, const std::string& path) {
  const auto sync = syncs_.extract(number);
  if (!sync) return path.ends_with(kUnlinkedSuffix);
  const auto [moment, node] = sync.mapped();
  if (!node) {
    for (auto& state : nodes_) state.file.sync(moment);
    names_.sync_all(moment);
  } else if (is_directory(*node)) {
    names_.sync_directory(*node, moment);
  } else {
    nodes_[*node].file.sync(moment);
    names_.sync_node(*node, moment);
  }
  return true;
}

bool DiskModel::apply(const RecordHead& head, const std::string& path, const std::string& path2,
                      std::span<const std::byte> data) {
  ++now_;
  switch (head.kind) {
    case RecordKind::create:
      return create(head, path, Kind::file);
    case RecordKind::open_unnamed:
      by_inode_[head.inode] = add_node(Kind::file);
      return true;
    case RecordKind::write:
    case RecordKind::truncate:
    case RecordKind::allocate:
      return change_file(head, path, data);
    case RecordKind::sync_begin:
    case RecordKind::sync_all_begin:
      return begin_sync(head, path);
    case RecordKind::sync_end:
      return end_sync(head.size, path);
    case RecordKind::rename:
      return rename(head, path, path2);
    case RecordKind::link:
      return link(head, path, path2);
    case RecordKind::unlink:
      return unlink(path);
    case RecordKind::make_directory:
      return create(head, path, Kind::directory);
    case RecordKind::make_symlink:
      return create(head, path, Kind::other);
    case RecordKind::mark:
      return true;
  }
  return false;
}

}  // namespace framefs::test
