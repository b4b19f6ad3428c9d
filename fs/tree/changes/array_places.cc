#include "fs/tree/changes/array_places.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fs/core/threads/may_wait.h"
#include "fs/source/directory_changes.h"

namespace framefs::fs {
namespace {

Result<UniqueFd> open_member(int parent, const std::string& name, int flags) {
  UniqueFd fd(::openat(parent, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return system_error("open");
  return fd;
}

}  // namespace

Status ArrayPlaces::put(const Node& node, const std::string& name, int array,
                        const FileIdentity& from, bool has_ended) {
  FRAMEFS_TRY(const auto in, parts_.parents.open_of(node));
  const auto put_now = [&]() -> Status {
    FRAMEFS_TRY(const auto entry, parts_.parents.entry_of(in, node, name));
    FRAMEFS_TRY(const auto array_name, parts_.new_files.array_name(*in.folder, name));
    // No other program is in the middle of a change.
    FRAMEFS_TRY(const auto owned, parts_.entries.own_now(entry));
    return parts_.locator.renaming([&]() -> Status {
      const auto known = parts_.locator.nodes().find(node.key);
      if (!known) return system_error_of(ESTALE, "convert");
      const bool is_open = known->state.with([&](Node::State& state) {
        if (!state.handles.want_none() && !has_ended) return true;
        state.handles.retire();
        return false;
      });
      if (is_open) return system_error_of(EBUSY, "frame that is open");
      const auto done = exchange(node, entry, {array, array_name}, from);
      if (!done) known->state.with([](Node::State& state) { state.handles.restore(); });
      return done;
    });
  };
  return parts_.entries.alone_without_session(file_key(node), put_now);
}

// The node's number leads to the array before there is an array: a lookup that finds the array must
// not enter another node for it.  If the old node were left without a file, the kernel would get
// ESTALE and repeat the call, but only once.  numpy.save() over a frame that has just become an
// array would get it twice: from open(2), and from the O_TRUNC of the array.
Status ArrayPlaces::exchange(const Node& node, const NamedEntry& entry, const NewArray& array,
                             const FileIdentity& from) {
  const auto& [in, found] = entry;
  struct stat st{};
  if (::fstatat(in.fd(), found.source_name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return system_error("stat");
  }
  if (identity_of(st) != from || st.st_nlink != 1) return system_error_of(ESTALE, "convert");
  FRAMEFS_TRY(const auto array_stat, stat_of(array.fd));
  const NodeKey key{array_stat.st_dev, array_stat.st_ino, ShownAs::npy};
  auto& nodes = parts_.locator.nodes();
  nodes.replace(node.key, key, {in.node, array.name});
  const auto exchange_files = [&]() -> Status {
    FRAMEFS_CHECK(link_file(array.fd, in.fd(), array.name));
    auto removed = remove_entry(in.fd(), found.source_name, false);
    if (!removed) ::unlinkat(in.fd(), array.name.c_str(), 0);
    return removed;
  };
  auto done = exchange_files();
  if (!done) {
    nodes.replace(key, node.key, {in.node, found.source_name});
    return done;
  }
  remove_lock_file(in.fd(), found.source_name);
  return {};
}

Status ArrayPlaces::replace_truncated(const Node& node) {
  if (node.key.shown_as != ShownAs::npy || node.key.is_member()) return {};
  const auto rule = parts_.candidates.rule_for(node);
  if (!rule) return {};
  if (!may_wait()) return would_wait();
  FRAMEFS_TRY(const auto in, parts_.parents.open_of(node));
  const auto replace = [&]() -> Status {
    FRAMEFS_TRY(const auto entry, parts_.parents.entry_of(in, node, rule->shown_name));
    const auto& st = entry.found.entry.stat;
    // The other names of the array, or the files of a sparse one, would keep the old items.
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1) return system_error_of(EPERM, "truncate");
    FRAMEFS_TRY(auto plan,
                parts_.new_files.plan(in, *in.folder, rule->shown_name, {entry.found.source_name}));
    if (!plan.frame) return system_error_of(EPERM, "truncate");
    FRAMEFS_TRY(plan.original,
                open_member(in.fd(), entry.found.source_name, O_RDONLY | O_NONBLOCK));
    FRAMEFS_TRY(const auto owned, parts_.entries.own_now(entry));
    return parts_.locator.renaming([&]() -> Status {
      FRAMEFS_CHECK(
          parts_.new_files.make(in, plan, st.st_mode, {.user = st.st_uid, .group = st.st_gid}));
      auto removed = parts_.entries.unlink_replaced(entry);
      if (!removed) ::unlinkat(in.fd(), plan.source_name.c_str(), 0);
      return removed;
    });
  };
  FRAMEFS_CHECK(parts_.entries.alone(replace));
  // After a crash, the array must not take the name again from the frame that is written now.
  FRAMEFS_TRY(const auto folder, reopen(in.fd(), O_RDONLY | O_DIRECTORY));
  if (::fsync(folder.get()) != 0) return system_error("fsync");
  return system_error_of(ESTALE, "array that a new file has replaced");
}

}  // namespace framefs::fs
