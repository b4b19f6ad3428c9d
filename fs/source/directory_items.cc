#include "fs/source/directory_items.h"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <string_view>

namespace framefs::fs {
namespace {

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

bool is_dot(std::string_view name) { return name == "." || name == ".."; }

}  // namespace

Result<std::vector<SourceItem>> directory_items(int directory) {
  // A separate open file description, so that two listings of one directory do not share a
  // position.
  auto own = open_quietly(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!own) return system_error("opendir");
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(own.get()));
  if (!stream) return system_error("opendir");
  [[maybe_unused]] const int moved = own.release();
  std::vector<SourceItem> items;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) return system_error("readdir");
      return items;
    }
    if (!is_dot(entry->d_name)) items.push_back({entry->d_name, entry->d_ino, entry->d_type});
  }
}

}  // namespace framefs::fs
