#include "fs/source/known_summaries.h"

#include <functional>

#include "fs/core/files/file.h"

namespace framefs::fs {
namespace {

std::uint64_t hash_of_path(std::string_view path) { return std::hash<std::string_view>{}(path); }

}  // namespace

void KnownSummaries::add(std::string_view path, const File& file) {
  files_[hash_of_path(path)] = file;
}

std::optional<FrameSummary> KnownSummaries::find(std::string_view path,
                                                 const struct stat& st) const {
  if (files_.empty()) return std::nullopt;
  const auto found = files_.find(hash_of_path(path));
  if (found == files_.end()) return std::nullopt;
  const auto& file = found->second;
  const auto identity = identity_of(st);
  const bool is_same =
      file.size == static_cast<std::uint64_t>(identity.size) && file.mtime_ns == identity.mtime_ns;
  return is_same ? std::optional(file.summary) : std::nullopt;
}

}  // namespace framefs::fs
