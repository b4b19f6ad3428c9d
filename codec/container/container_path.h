#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace framefs::codec {

// Whether a name inside a container, of a member of an archive or of an embedded node, can be shown as a
// path below a directory.  It has components between single slashes, none of them empty, "." or "..",
// and no zero byte; no component and no path is longer than Linux allows.  Any other byte will do.
[[nodiscard]] bool is_container_path(std::string_view path) noexcept;

// Source: Linux, NAME_MAX and PATH_MAX (which counts the final zero).
inline constexpr std::size_t kMaxContainerNameBytes = 255;
inline constexpr std::size_t kMaxContainerPathBytes = 4095;

// Of the items whose `name` is the same keeps the last; the order stays.  By sorting: names that are
// made to collide in a hash table cost no more than others.
template <class Item, class Name>
void keep_last_of_each(std::vector<Item>& items, Name name) {
  std::vector<bool> is_last(items.size());
  {
    std::vector<std::pair<std::string_view, std::size_t>> sorted;  // gone before anything is moved
    sorted.reserve(items.size());
    for (const auto& item : items) sorted.emplace_back(std::invoke(name, item), sorted.size());
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const bool same_follows = i + 1 < sorted.size() && sorted[i + 1].first == sorted[i].first;
      is_last[sorted[i].second] = !same_follows;
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!is_last[i]) continue;
    if (kept != i) items[kept] = std::move(items[i]);
    ++kept;
  }
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(kept), items.end());
}

}  // namespace framefs::codec
