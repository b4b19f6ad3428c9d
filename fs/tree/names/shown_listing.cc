#include "fs/tree/names/shown_listing.h"

#include <dirent.h>

namespace framefs::fs {
namespace {

unsigned char type_of(ShownAs shown_as, unsigned char source_type) {
  switch (shown_as) {
    case ShownAs::itself:
      return source_type;
    case ShownAs::frame:
    case ShownAs::array:
    case ShownAs::npy:
      return DT_REG;
    case ShownAs::container:
    case ShownAs::single_entry:
      return DT_DIR;
  }
  return DT_UNKNOWN;
}

}  // namespace

DirectoryEntry shown_entry(ShownName shown, Folder::Item item) {
  item.type = type_of(shown.shown_as, item.type);
  return {std::move(shown), std::move(item)};
}

Result<bool> CompleteListing::read(std::uint64_t from, const Take& take) const {
  for (auto at = from; at < entries_.size(); ++at) {
    if (!take(entries_[at], at + 1)) return false;
  }
  return true;
}

}  // namespace framefs::fs
