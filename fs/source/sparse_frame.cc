#include "fs/source/sparse_frame.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "fs/source/directory_items.h"
#include "fs/source/suffixes.h"

namespace framefs::fs {
namespace {

// Source: frame format, "Sparse frames".
bool is_chunk_file(std::string_view name) {
  constexpr std::string_view kSuffix = ".chunk";
  constexpr std::size_t kDigits = 8;
  constexpr std::string_view kHex = "0123456789ABCDEF";
  return name.size() == kDigits + kSuffix.size() && name.ends_with(kSuffix) &&
         name.find_first_not_of(kHex) >= kDigits;
}

Status unlink_at(int folder, const std::string& name, int flags) {
  if (::unlinkat(folder, name.c_str(), flags) != 0) return system_error("unlink");
  return {};
}

// A writer adds and removes chunk files meanwhile; the frame lacks its index only for a short time.
constexpr int kMaxRemovals = 100;

}  // namespace

Result<UniqueFd> open_sparse_index(int folder, int flags) {
  auto fd = open_quietly(folder, kSparseIndexName, flags | O_NOFOLLOW);
  if (!fd) return system_error("open");
  return fd;
}

Result<struct stat> stat_sparse_index(int folder) {
  struct stat st{};
  if (::fstatat(folder, kSparseIndexName, &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return system_error("stat");
  }
  return st;
}

Result<SparseParts> sparse_parts(int folder) {
  FRAMEFS_TRY(const auto items, directory_items(folder));
  SparseParts parts;
  for (const auto& item : items) {
    if (item.name == kSparseIndexName) continue;
    if (is_chunk_file(item.name) || is_hidden(item.name) || item.name == kNextSparseIndexName) {
      parts.names.push_back(item.name);
    } else {
      parts.has_others = true;
    }
  }
  return parts;
}

Status for_each_part(int folder, const std::function<Status(int fd, bool is_folder)>& change) {
  FRAMEFS_TRY(const auto parts, sparse_parts(folder));
  for (const auto& name : parts.names) {
    const UniqueFd part(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!part && errno == ENOENT) continue;  // a writer has just replaced the chunk
    if (!part) return system_error("open");
    FRAMEFS_CHECK(change(part.get(), false));
  }
  return change(folder, true);
}

Status sync_sparse_frame(int folder) {
  FRAMEFS_TRY(const auto items, directory_items(folder));
  for (const auto& item : items) {
    if (!is_chunk_file(item.name) && item.name != kSparseIndexName) continue;
    const auto part = open_quietly(folder, item.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!part && errno == ENOENT) continue;  // a writer has just replaced the chunk
    if (!part) return system_error("open");
    if (::fsync(part.get()) != 0) return system_error("fsync");
  }
  if (::fsync(folder) != 0) return system_error("fsync");
  return {};
}

mode_t sparse_folder_mode(mode_t mode) {
  const mode_t readable = mode & (S_IRUSR | S_IRGRP | S_IROTH);
  const mode_t allowed =
      mode & (S_IRWXU | S_IRWXG | S_IRWXO) & ~mode_t{S_IXUSR | S_IXGRP | S_IXOTH};
  return allowed | (readable >> 2U);
}

Status remove_sparse_frame(int parent, const std::string& name) {
  const UniqueFd folder(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return system_error("open");
  FRAMEFS_TRY(const auto parts, sparse_parts(folder.get()));
  if (parts.has_others) return system_error_of(ENOTEMPTY, "unlink");
  FRAMEFS_CHECK(unlink_at(folder.get(), kSparseIndexName, 0));
  Status removed;
  for (int round = 0; round < kMaxRemovals; ++round) {
    FRAMEFS_TRY(const auto left, sparse_parts(folder.get()));
    for (const auto& part : left.names) {
      const auto gone = unlink_at(folder.get(), part, 0);
      if (!gone && gone.error().sys != ENOENT) return gone;
    }
    removed = unlink_at(parent, name, AT_REMOVEDIR);
    if (removed || removed.error().sys != ENOTEMPTY) break;
  }
  return removed;
}

}  // namespace framefs::fs
