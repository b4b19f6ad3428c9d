#include "fs/tree/nodes/exported_nodes.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "fs/tree/nodes/exported_number.h"

namespace framefs::fs {
namespace {

constexpr int kExamine = O_PATH | O_NOFOLLOW;

// The path that the kernel knows for a descriptor.
std::string known_path(int fd) {
  std::error_code error;
  auto path = std::filesystem::read_symlink(path_of_fd(fd), error).string();
  return error ? std::string() : path;
}

}  // namespace

// The steps from SOURCE down to the file; none if the kernel knows no path of it.  The kernel never
// searches directories for the name of a file.
ExportedNodes::Steps ExportedNodes::steps_to(const SourceHandles& handles, int file,
                                             const struct stat& st) const {
  const auto& root = locator_.root();
  const auto top = root.open(".", O_PATH | O_DIRECTORY);
  if (!top) return {};
  auto above = known_path(top->get());
  if (!above.ends_with('/')) above += '/';
  const auto path = known_path(file);
  if (!path.starts_with(above)) return {};
  const auto rest = path.substr(above.size());
  Steps steps;
  struct stat last{};
  for (std::size_t end = 0; end != rest.npos && !rest.empty();) {
    const auto begin = end == 0 ? 0 : end + 1;
    end = rest.find('/', begin);
    const auto opened = root.open(rest.substr(0, end), kExamine);
    if (!opened) return {};
    const auto found = stat_of(opened->get());
    if (!found) return {};
    const auto generation = handles.generation_of(opened->get(), *found);
    if (!generation) return {};
    last = *found;
    auto& step = steps.emplace_back();
    step.key = {last.st_dev, last.st_ino, ShownAs::itself};
    step.generation = *generation;
    step.name = rest.substr(begin, end - begin);
  }
  // The path may lead elsewhere by now, or may never have been one below SOURCE.
  if (file_key(last) != file_key(st)) return {};
  return steps;
}

Result<std::shared_ptr<Node>> ExportedNodes::find(NodeId number) {
  const auto* const handles = locator_.handles();
  const auto named = exported_file(number);
  if (handles == nullptr || !named) return system_error_of(ESTALE, "lookup");
  FRAMEFS_TRY(const auto file, handles->open(named->inode, std::nullopt, kExamine));
  FRAMEFS_TRY(const auto st, stat_of(file.get()));
  const auto generation = handles->generation_of(file.get(), st);
  if (!generation || st.st_ino != named->inode) return system_error_of(ESTALE, "lookup");
  const auto steps = steps_to(*handles, file.get(), st);
  // The entries of a directory are found by its path.
  if (S_ISDIR(st.st_mode) && steps.empty()) return system_error_of(ESTALE, "lookup");
  const NodeKey key{st.st_dev, st.st_ino, named->shown_as};
  return locator_.nodes().adopt(key, *generation, steps);
}

}  // namespace framefs::fs
