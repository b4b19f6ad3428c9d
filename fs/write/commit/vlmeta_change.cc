#include "fs/write/commit/vlmeta_change.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace framefs::fs {

Result<std::vector<codec::NamedContent>> change_vlmeta(std::vector<codec::NamedContent> layers,
                                                       std::string_view name,
                                                       std::optional<std::vector<std::byte>> stored,
                                                       ExistingVlmeta existing, std::size_t most) {
  const auto at = std::ranges::find(layers, name, &codec::NamedContent::name);
  const bool is_there = at != layers.end();
  if (!stored && !is_there) return system_error_of(ENODATA, "removexattr");
  if (!is_there && existing == ExistingVlmeta::must) return system_error_of(ENODATA, "setxattr");
  if (is_there && existing == ExistingVlmeta::must_not) return system_error_of(EEXIST, "setxattr");
  if (!stored) {
    layers.erase(at);
  } else if (is_there) {
    at->content = std::move(*stored);
  } else if (layers.size() >= most) {
    return system_error_of(ENOSPC, "setxattr");
  } else {
    layers.push_back({std::string(name), std::move(*stored)});
  }
  return layers;
}

}  // namespace framefs::fs
