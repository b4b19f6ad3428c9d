#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace framefs::codec {

// Whether the name of an archive member or of an embedded node can be shown as a path below a
// directory.  Such a path has components between single slashes, none of them empty, "." or "..",
// and no zero byte.  No component and no path is longer than Linux allows.  All other bytes are
// allowed.
[[nodiscard]] bool is_container_path(std::string_view path) noexcept;

// The path without the components "." that precede a slash: some programs write "./a" for "a".
[[nodiscard]] std::string without_dots(std::string_view path);

// Source: Linux, NAME_MAX and PATH_MAX (PATH_MAX counts the final zero).
inline constexpr std::size_t kMaxContainerNameBytes = 255;
inline constexpr std::size_t kMaxContainerPathBytes = 4095;

// Keeps the last of all items with the same `name`, in their order.  The function sorts instead of
// hashing, so that names chosen to collide in a hash table cost no more than others.
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
