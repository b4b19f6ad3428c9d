#include "fs/source/sparse_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "fs/source/folder.h"
#include "fs/source/name_policy.h"

namespace framefs::fs {
namespace {

// Source: sparse frames, "Chunk files".
bool is_chunk_file(std::string_view name) {
  constexpr std::string_view kSuffix = ".chunk";
  constexpr std::size_t kDigits = 8;
  constexpr std::string_view kHex = "0123456789ABCDEF";
  return name.size() == kDigits + kSuffix.size() && name.ends_with(kSuffix) &&
         name.find_first_not_of(kHex) >= kDigits;
}

Status unlink_at(int directory, const std::string& name, int flags) {
  if (::unlinkat(directory, name.c_str(), flags) != 0) return system_error("unlink");
  return {};
}

// A frame that is being written gets files and loses some meanwhile; without its index, not for long.
constexpr int kMaxRounds = 100;

}  // namespace

Result<SparseParts> sparse_parts(int directory) {
  FRAMEFS_TRY(const auto items, items_of(directory));
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

Status remove_sparse_frame(int parent, const std::string& name) {
  const UniqueFd folder(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return system_error("open");
  FRAMEFS_TRY(const auto parts, sparse_parts(folder.get()));
  if (parts.has_others) return system_error_of(ENOTEMPTY, "unlink");
  FRAMEFS_CHECK(unlink_at(folder.get(), std::string(kSparseIndexName), 0));
  Status removed;
  for (int round = 0; round < kMaxRounds; ++round) {
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
