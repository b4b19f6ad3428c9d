#include "fs/source/known_summaries.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "fs/core/files/file.h"

namespace framefs::fs {
namespace {

std::uint64_t hash_of_path(std::string_view path) { return std::hash<std::string_view>{}(path); }

}  // namespace

KnownSummaries::File KnownSummaries::file(std::string_view path, std::uint64_t size,
                                          std::int64_t mtime_ns, const FrameSummary& summary) {
  return {.path_hash = hash_of_path(path), .size = size, .mtime_ns = mtime_ns, .summary = summary};
}

KnownSummaries::KnownSummaries(std::vector<File> files) : files_(std::move(files)) {
  std::ranges::sort(files_, {}, &File::path_hash);
}

std::optional<FrameSummary> KnownSummaries::find(std::string_view path,
                                                 const struct stat& st) const {
  if (files_.empty()) return std::nullopt;
  const auto found = std::ranges::lower_bound(files_, hash_of_path(path), {}, &File::path_hash);
  if (found == files_.end() || found->path_hash != hash_of_path(path)) return std::nullopt;
  const auto identity = identity_of(st);
  const bool is_same = found->size == static_cast<std::uint64_t>(identity.size) &&
                       found->mtime_ns == identity.mtime_ns;
  return is_same ? std::optional(found->summary) : std::nullopt;
}

}  // namespace framefs::fs
