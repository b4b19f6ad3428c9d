#include "fs/source/directory_items.h"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

namespace framefs::fs {
namespace {

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

bool is_dot(std::string_view name) { return name == "." || name == ".."; }

}  // namespace

Status for_each_item(int directory, const std::function<bool(SourceItem)>& body) {
  // A separate open file description, so that two listings of one directory do not share a
  // position.
  auto own = open_quietly(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!own) return system_error("opendir");
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(own.get()));
  if (!stream) return system_error("opendir");
  [[maybe_unused]] const int moved = own.release();
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) return system_error("readdir");
      return {};
    }
    if (is_dot(entry->d_name)) continue;
    if (!body({entry->d_name, entry->d_ino, entry->d_type})) return {};
  }
}

Result<std::vector<SourceItem>> directory_items(int directory) {
  std::vector<SourceItem> items;
  FRAMEFS_CHECK(for_each_item(directory, [&](SourceItem item) {
    items.push_back(std::move(item));
    return true;
  }));
  return items;
}

}  // namespace framefs::fs
