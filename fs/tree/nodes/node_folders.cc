#include "fs/tree/nodes/node_folders.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "fs/source/container_folder.h"

namespace framefs::fs {

Result<std::unique_ptr<Folder>> NodeFolders::open(Node& node, int access) const {
  if (node.key.shown_as == ShownAs::container) {
    FRAMEFS_TRY(auto opened, containers_.open(node));
    return std::make_unique<ContainerFolder>(std::move(opened), node.key.member.str(), limits_);
  }
  if (node.key.shown_as == ShownAs::single_entry) {
    FRAMEFS_TRY(auto fd, locator_.open_path(".", O_PATH | O_DIRECTORY));
    return std::make_unique<SingleEntryFolder>(std::move(fd), locator_.root().path(), expected_,
                                               probe_);
  }
  FRAMEFS_TRY(auto opened, open_on_disk(node, access));
  return std::move(opened.folder);
}

Result<NodeFolders::OnDisk> NodeFolders::open_on_disk(const Node& node, int access) const {
  // The directory of a sparse frame is shown as a file.
  if (node.key.shown_as != ShownAs::itself) return system_error_of(ENOTDIR, "opendir");
  FRAMEFS_TRY(auto opened, locator_.open_with_stat(node, access | O_DIRECTORY));
  auto folder =
      std::make_unique<DiskFolder>(std::move(opened.fd), probe_, file_key(node), &directory_names_);
  folder->show_as_is(as_is_, locator_.nodes().path_of(node));
  return OnDisk{.folder = std::move(folder), .stat = opened.stat};
}

}  // namespace framefs::fs
