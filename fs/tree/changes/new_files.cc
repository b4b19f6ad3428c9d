#include "fs/tree/changes/new_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "codec/frame/frame_writer.h"
#include "fs/core/files/file_attributes.h"
#include "fs/core/files/file_sink.h"
#include "fs/source/acl_access.h"
#include "fs/source/directory_changes.h"

namespace framefs::fs {
namespace {

Result<std::vector<std::byte>> empty_frame(const NewFrame& frame) {
  return codec::encode_empty_frame(
      {.encode = frame.encode, .chunksize = frame.chunksize, .checksums = frame.checksums});
}

// The state with which a file got its name.  A change of its content since would show in its size
// or its time of modification; the name itself, a new owner and other rights change only ctime.
struct stat stat_at_link(struct stat before, const struct stat& after) {
  const auto was = identity_of(before);
  const auto is = identity_of(after);
  if (was.size == is.size && was.mtime_ns == is.mtime_ns) return after;
  before.st_nlink = 1;
  return before;
}

}  // namespace

FrameSummary NewFiles::summary_of(const NewFrame& frame) {
  return {.content = Content::frame, .chunksize = frame.chunksize};
}

// A list that the entry inherits from its directory takes the place of the umask.  The kernel does
// not know whether there is one, so it leaves the umask to a mount with access control lists.
mode_t NewFiles::mode_of(const ParentFolder& parent, mode_t mode, const Caller& caller) const {
  if (!has_acls_ || has_default_acl(parent.fd())) return mode;
  return mode & ~caller.umask;
}

// The file is plain if no frame's name would be shown as asked, or if such a name would be too
// long: a plain file is better than an error.
Result<NewFile> NewFiles::plan(const ParentFolder& parent, const Folder& folder,
                               const std::string& name, std::vector<std::string> leaving) const {
  const auto path = parts_.parents.path_of(parent, name);
  NewFile plan{.source_name = name, .frame = parts_.policy.frame_for(path)};
  if (parts_.as_is.covers(path)) plan.frame.reset();
  if (!plan.frame) return plan;
  auto placed = parts_.names.for_frame(folder, name, summary_of(*plan.frame), std::move(leaving));
  if (placed) {
    plan.source_name = std::move(*placed);
    FRAMEFS_TRY(plan.bytes, empty_frame(*plan.frame));
  } else {
    plan.frame.reset();
  }
  return plan;
}

Result<BackingFile> NewFiles::make(const ParentFolder& parent, NewFile& plan, mode_t mode,
                                   const Caller& caller) const {
  const auto* const name = plan.source_name.c_str();
  UniqueFd fd;
  // If SOURCE supports files without names, a frame gets its name after its content.  A daemon that
  // is killed in between then leaves no empty file under a frame's name, which the mount would show
  // as an empty file.
  if (plan.frame) {
    fd = open_quietly(parent.fd(), ".", O_RDWR | O_TMPFILE, mode & kModeBits);
  }
  const bool has_name = !fd;
  if (has_name) {
    fd = UniqueFd(::openat(parent.fd(), name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           mode & kModeBits));
    if (fd) stop_access_times(fd.get());
  }
  if (!fd) return system_error("create");
  const auto fill = [&]() -> Status {
    if (plan.original) FRAMEFS_CHECK(copy_attributes(plan.original.get(), fd.get()));
    FRAMEFS_CHECK(write_fully(fd.get(), 0, plan.bytes));
    FRAMEFS_TRY(const auto st, stat_of(fd.get()));
    if (!plan.original) {
      FRAMEFS_CHECK(give_new_entry(fd.get(), st, parent.stat, caller.user, caller.group));
    }
    FRAMEFS_CHECK(set_special_bits(fd.get(), mode));
    if (!has_name) FRAMEFS_CHECK(link_file(fd.get(), parent.fd(), plan.source_name));
    FRAMEFS_TRY(plan.stat, parts_.probe.stat_open(fd.get()));
    if (!has_name) plan.stat_at_link = stat_at_link(st, plan.stat);
    return {};
  };
  if (const auto filled = fill(); !filled) {
    if (has_name) ::unlinkat(parent.fd(), name, 0);
    return std::unexpected(filled.error());
  }
  plan.generation = parts_.probe.generation_of(fd.get(), plan.stat);
  return BackingFile::adopt_file(std::move(fd));
}

}  // namespace framefs::fs
