#include "fs/tree/mount_root.h"

#include <fcntl.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <utility>

#include "fs/source/suffixes.h"

namespace framefs::fs {
namespace {

// The content to look for in a SOURCE that is named on the command line: any frame, unless the
// suffix says otherwise.
Expected expected_source(const std::string& name) {
  const auto expected = expected_content(name);
  return expected == Expected::nothing ? Expected::array : expected;
}

Result<MountRoot> directory_root(const MountOptions& options) {
  if (options.onto_file) {
    return refusal(ENOTDIR, "MOUNTPOINT must be a directory, as SOURCE is one");
  }
  if (options.source_offset > 0) {
    return refusal(EISDIR, "an offset needs a SOURCE that is one file");
  }
  FRAMEFS_TRY(auto root, SourceRoot::open_directory(options.source));
  FRAMEFS_TRY(const auto fd, root.open(root.path(), O_PATH | O_DIRECTORY));
  SourceEntry entry;
  FRAMEFS_TRY(entry.stat, stat_of(fd.get()));
  return MountRoot{.root = std::move(root), .entry = entry};
}

}  // namespace

Result<MountRoot> find_mount_root(const MountOptions& options) {
  FRAMEFS_TRY(auto root, SourceRoot::open_entry(options.source));
  return find_mount_root(options, std::move(root));
}

Result<MountRoot> find_mount_root(const MountOptions& options, SourceRoot root) {
  // "/" is the only directory that is not an entry of another directory.
  if (root.path() == ".") return directory_root(options);
  FRAMEFS_TRY(const auto folder, root.open(".", O_PATH | O_DIRECTORY));
  const auto expected = expected_source(root.path());
  SourceProbe probe(options.limits, options.source_offset);
  FRAMEFS_TRY(auto entry, probe.probe_as(folder.get(), root.path(), expected));
  const bool is_directory = S_ISDIR(entry.stat.st_mode);
  switch (entry.summary.content) {
    case Content::other:
      if (is_directory) return directory_root(options);
      if (options.source_offset > 0) return refusal(ENOTDIR, "SOURCE has no frame at --offset");
      return refusal(ENOTDIR, "SOURCE is neither a directory nor a frame");
    case Content::embed_container:
    case Content::zip_container:
      if (options.onto_file) {
        return refusal(
            ENOTDIR, "MOUNTPOINT must be a directory: SOURCE is a container with several members");
      }
      return MountRoot{std::move(root), entry, ShownAs::container, expected};
    case Content::frame:
    case Content::array:
      break;
  }
  if (!options.onto_file) return MountRoot{std::move(root), entry, ShownAs::single_entry, expected};
  const auto shown_as = full_names(root.path(), entry.summary, options.arrays).front().shown_as;
  return MountRoot{std::move(root), entry, shown_as, expected};
}

const char* why_read_only(const MountOptions& options, const MountRoot& found) {
  if (options.read_only) return "--ro is given";
  if (options.source_offset > 0) return "--offset is given";
  if (found.shown_as == ShownAs::container) return "SOURCE is a container";
  const auto fd = found.root.open(found.root.path(), O_PATH);
  struct statvfs st{};
  const bool is_fixed = fd && ::fstatvfs(fd->get(), &st) == 0 && (st.f_flag & ST_RDONLY) != 0;
  return is_fixed ? "SOURCE lies on a filesystem that is mounted read-only" : nullptr;
}

MountOptions options_for(const MountRoot& found, const MountOptions& options) {
  auto effective = options;
  effective.read_only = why_read_only(options, found) != nullptr;
  return effective;
}

}  // namespace framefs::fs
