#include "fs/source/known_summaries.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
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
  range_bits_ = std::max(2U, static_cast<unsigned>(std::bit_width(files_.size()))) - 1;
  begins_.resize((std::size_t{1} << range_bits_) + 1);
  for (const auto& file : files_) ++begins_[range_of(file.path_hash) + 1];
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
}

std::optional<FrameSummary> KnownSummaries::find(std::string_view path,
                                                 const struct stat& st) const {
  if (files_.empty()) return std::nullopt;
  const auto hash = hash_of_path(path);
  const auto end = files_.begin() + begins_[range_of(hash) + 1];
  const auto found = std::ranges::lower_bound(files_.begin() + begins_[range_of(hash)], end, hash,
                                              {}, &File::path_hash);
  if (found == end || found->path_hash != hash) return std::nullopt;
  const auto identity = identity_of(st);
  const bool is_same = found->size == static_cast<std::uint64_t>(identity.size) &&
                       found->mtime_ns == identity.mtime_ns;
  return is_same ? std::optional(found->summary) : std::nullopt;
}

}  // namespace framefs::fs
