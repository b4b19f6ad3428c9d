#include "fs/tree/nodes/node_key.h"

#include <functional>
#include <string_view>

namespace framefs::fs {

std::size_t NodeKeyHash::operator()(const NodeKey& key) const noexcept {
  const std::hash<std::uint64_t> hash;
  const auto place = hash(key.inode * 0x9e3779b97f4a7c15ULL + key.device * 16 +
                          static_cast<std::uint64_t>(key.shown_as) * 2 +
                          static_cast<std::uint64_t>(key.by_full_name));
  return place ^ std::hash<std::string_view>{}(key.member.view());
}

}  // namespace framefs::fs
