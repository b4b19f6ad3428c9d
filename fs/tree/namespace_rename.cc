// Removal and renaming.

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fs/core/cases.h"
#include "fs/source/directory_changes.h"
#include "fs/source/sparse_frame.h"
#include "fs/tree/namespace.h"

namespace framefs::fs {
namespace {

bool is_shown_directory(const NameMap::Found& found) {
  return found.shown_as == ShownAs::container ||
         (found.shown_as == ShownAs::itself && S_ISDIR(found.entry.stat.st_mode));
}

bool is_sparse(const NameMap::Found& found) { return found.entry.index_stat.has_value(); }

// Frames and containers may have a lock file beside them.  A sparse frame has it in its directory.
bool may_have_lock_file(const NameMap::Found& found) {
  return found.shown_as != ShownAs::itself && !is_sparse(found);
}

void remove_lock_file_of(const NameMap::Found& found, int directory) {
  if (may_have_lock_file(found)) remove_lock_file(directory, found.source_name);
}

}  // namespace

// Runs `remove`, () -> Status, which takes its name from an entry.  Keeps a descriptor for
// processes that have the entry open or as their working directory.
template <class Remove>
Status Namespace::removing(const Member& member, const Remove& remove) {
  const auto& [parent, found] = member;
  UniqueFd fd(::openat(parent.fd(), found.source_name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return system_error("open");
  const auto key = file_key(found.entry);
  const NodeTable::Place place{parent.node, found.source_name};
  auto& nodes = parts_.locator.nodes();
  const auto object = std::make_shared<const UniqueFd>(std::move(fd));
  nodes.begin_removal(key, place, object);
  // A session that begins after this line sees the descriptor.
  if (const auto session = parts_.writers.sessions().find(key)) session->expect_removal();
  const auto removed = remove();
  const auto st = stat_of(object->get());
  const bool has_names = st && st->st_nlink > 0 && !S_ISDIR(st->st_mode);
  const auto lost = has_names ? NodeTable::Lost::one_name : NodeTable::Lost::all_names;
  nodes.end_removal(key, place, removed ? lost : NodeTable::Lost::nothing);
  if (removed && !has_names) parts_.writers.sessions().forget_loss(key);
  return removed;
}

// Removes the entry that is now called `source_name`.  Meanwhile no commit may restore parts of a
// sparse frame.  Programs that have the frame open go on with the session, which keeps its files
// open; a session of any other file continues with the file that has lost its name.
Status Namespace::remove_source(int parent, const std::string& source_name,
                                const NameMap::Found& what) {
  if (!is_sparse(what)) {
    return remove_entry(parent, source_name, S_ISDIR(what.entry.stat.st_mode));
  }
  const auto remove = [&] { return remove_sparse_frame(parent, source_name); };
  const auto session = parts_.writers.sessions().find(file_key(what.entry));
  return session ? session->remove(remove) : remove();
}

// Joins the session of a sparse frame that is open, so that there is one when its files are
// removed.  Returns an object that leaves the session; null for other files, and for a frame that
// cannot be written.
std::shared_ptr<const void> Namespace::session_for_readers(const NameMap::Found& found) const {
  const auto node =
      is_sparse(found) ? parts_.locator.nodes().find_open(file_key(found.entry)) : nullptr;
  if (!node) return nullptr;
  const auto source = parts_.writers.open(*node, O_RDWR);
  if (!source) return nullptr;
  const auto joined = parts_.writers.join(*node, *source, nullptr);
  if (!joined) return nullptr;
  return {joined->get(),
          [this, node, session = *joined](const void*) { parts_.writers.leave(*node, session); }};
}

Status Namespace::remove_member(const Member& member) {
  const auto& [parent, found] = member;
  const auto session = session_for_readers(found);
  FRAMEFS_CHECK(
      removing(member, [&] { return remove_source(parent.fd(), found.source_name, found); }));
  remove_lock_file_of(found, parent.fd());
  parts_.writers.note_attributes(file_key(found.entry));
  return {};
}

Status Namespace::remove_file(NodeId parent, const std::string& name) {
  return changing([&]() -> Status {
    FRAMEFS_TRY(const auto in, open_parent(parent));
    FRAMEFS_TRY(auto found, parts_.names.find(*in.folder, name));
    FRAMEFS_CHECK(parts_.rules.check_listed(name, found));
    if (is_shown_directory(found)) return system_error_of(EISDIR, "unlink");
    return remove_member({in, std::move(found)});
  });
}

Status Namespace::remove_directory(NodeId parent, const std::string& name) {
  return changing([&]() -> Status {
    FRAMEFS_TRY(const auto in, open_parent(parent));
    FRAMEFS_TRY(auto found, parts_.names.find(*in.folder, name));
    if (!is_shown_directory(found)) return system_error_of(ENOTDIR, "rmdir");
    // The members of a container cannot be removed one by one, so its directory is never empty.
    if (found.shown_as == ShownAs::container) return system_error_of(EPERM, "rmdir");
    return remove_member({in, std::move(found)});
  });
}

// The name in SOURCE under which `moved` is shown as `new_name` in `to`.
Result<std::string> Namespace::place_of(const Member& moved, const Parent& to,
                                        const std::string& new_name,
                                        const NameMap::Found* replaced) const {
  const auto& [from, found] = moved;
  NameMap::Newcomer newcomer{.asked = {new_name, found.shown_as},
                             .source_name = found.source_name,
                             .summary = {},
                             .leaving = {},
                             .replaced = {}};
  newcomer.summary = [&](Expected expected) {
    const auto entry = parts_.probe.probe_as(from.fd(), found.source_name, expected);
    return entry ? entry->summary : FrameSummary{};
  };
  if (from.node == to.node) newcomer.leaving.push_back(found.source_name);
  if (replaced != nullptr) {
    newcomer.leaving.push_back(replaced->source_name);
    newcomer.replaced = replaced->source_name;
  }
  return parts_.names.place(*to.folder, newcomer);
}

Status Namespace::rename_source(const Member& moved, const Parent& to,
                                const std::string& source_name, unsigned flags) {
  const auto& [from, found] = moved;
  const auto renamed = parts_.locator.renaming([&]() -> Status {
    FRAMEFS_CHECK(rename_entry(from.fd(), found.source_name, to.fd(), source_name, flags));
    parts_.locator.nodes().move(file_key(found.entry), {from.node, found.source_name},
                                {to.node, source_name});
    return {};
  });
  FRAMEFS_CHECK(renamed);
  parts_.writers.note_attributes(file_key(found.entry));
  if (may_have_lock_file(found)) {
    rename_lock_file(from.fd(), found.source_name, to.fd(), source_name);
  }
  return {};
}

Status Namespace::rename(NodeId parent, const std::string& name, NodeId new_parent,
                         const std::string& new_name, unsigned flags) {
  return changing([&]() -> Status {
    const bool is_unknown = (flags & ~unsigned{RENAME_NOREPLACE | RENAME_EXCHANGE}) != 0;
    if (is_unknown || flags == (RENAME_NOREPLACE | RENAME_EXCHANGE)) {
      return system_error_of(EINVAL, "rename");
    }
    FRAMEFS_TRY(const auto from, open_parent(parent));
    FRAMEFS_TRY(const auto to, open_parent(new_parent));
    FRAMEFS_TRY(auto found, parts_.names.find(*from.folder, name));
    FRAMEFS_CHECK(parts_.rules.check_listed(name, found));
    const Member moved{from, std::move(found)};
    FRAMEFS_CHECK(rename(moved, name, to, new_name, flags));
    parts_.arrays.note(file_key(moved.found.entry));
    return {};
  });
}

Status Namespace::rename(const Member& moved, const std::string& name, const Parent& to,
                         const std::string& new_name, unsigned flags) {
  FRAMEFS_TRY(auto there, find_in(*to.folder, new_name));
  const bool is_directory =
      is_shown_directory(moved.found) || (there && is_shown_directory(*there));
  FRAMEFS_CHECK(parts_.rules.check_kept_as_is(path_of(moved.parent, moved.found.source_name),
                                              path_of(to, new_name), is_directory));
  if (!there) {
    if ((flags & RENAME_EXCHANGE) != 0) return system_error_of(ENOENT, "rename");
    FRAMEFS_CHECK(check_new_name(to, new_name, moved.found.shown_as));
    FRAMEFS_TRY(const auto source_name, place_of(moved, to, new_name, nullptr));
    return rename_source(moved, to, source_name, RENAME_NOREPLACE);
  }
  if ((flags & RENAME_NOREPLACE) != 0) return system_error_of(EEXIST, "rename");
  FRAMEFS_CHECK(parts_.rules.check_listed(new_name, *there));
  if (file_key(moved.found.entry) == file_key(there->entry)) return {};  // two names of one file
  const Member target{to, std::move(*there)};
  if ((flags & RENAME_EXCHANGE) != 0) return exchange(moved, name, target, new_name);
  return replace(moved, target, new_name);
}

// Makes the last commit of a frame durable, which may be too recent to be on disk.
Status Namespace::sync_committed(const Member& member) {
  const auto& [parent, found] = member;
  if (found.shown_as == ShownAs::itself) return {};
  const int kind = is_sparse(found) ? O_DIRECTORY : O_NONBLOCK;
  const UniqueFd fd(
      ::openat(parent.fd(), found.source_name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind));
  if (!fd) return errno == EACCES ? Status{} : system_error("open");
  if (is_sparse(found)) return sync_sparse_frame(fd.get());
  if (::fdatasync(fd.get()) != 0) return system_error("fdatasync");
  return {};
}

// Programs replace a file by writing a new one, closing it and renaming it over the old one, or by
// an exchange.  If the daemon or the machine stops at any point, the name must lead to the old
// content or to the new.  Bytes of the new file that are lost must not destroy the old one.
// Errors: EIO if bytes of the file are lost; those of the commit.
Status Namespace::make_durable(const Member& moved) {
  using Session = WriteSessionTable::Session;
  return std::visit(Cases{[](const Session& session) { return session->commit(true); },
                          [](LostBytes lost) { return lost.status(); },
                          [&](SavedBytes) { return sync_committed(moved); }},
                    parts_.writers.sessions().written_bytes(file_key(moved.found.entry)));
}

// No other program is in the middle of a change of a frame while it is replaced.
Result<Namespace::Owned> Namespace::own_replaced(const Member& target,
                                                 std::chrono::milliseconds patience) const {
  const auto& [parent, found] = target;
  Owned owned;
  const bool is_frame = found.shown_as != ShownAs::itself && found.shown_as != ShownAs::container;
  if (!is_frame) return owned;
  owned.session = parts_.writers.sessions().find(file_key(found.entry));
  if (owned.session) {
    auto change = owned.session->begin_change(patience);
    if (change) {
      owned.change.emplace(std::move(*change));
      return owned;
    }
    if (!owned.session->is_lost()) return std::unexpected(change.error());
  }
  const int flags = is_sparse(found) ? O_RDONLY | O_DIRECTORY : O_RDWR | O_NONBLOCK;
  auto file = std::make_shared<const UniqueFd>(
      ::openat(parent.fd(), found.source_name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (!*file) return owned;  // a file that may not be changed can still be replaced
  FRAMEFS_TRY(const auto st, stat_of(file->get()));
  auto lock_file = is_sparse(found)
                       ? parts_.lock_files.in(file->get(), kSparseLockFile, st)
                       : parts_.lock_files.in(parent.fd(), lock_file_of(found.source_name), st);
  const int fd = file->get();
  const auto kind = is_sparse(found) ? FrameLock::Kind::directory : FrameLock::Kind::file;
  owned.ownership = std::make_unique<FrameOwnership>(
      FrameOwnership::Frame{.fd = fd, .kind = kind, .keeper = std::move(file)},
      std::move(lock_file));
  FRAMEFS_CHECK(owned.ownership->take(patience));
  return owned;
}

Status Namespace::replace(const Member& moved, const Member& target, const std::string& new_name) {
  const auto& there = target.found;
  const bool is_directory = is_shown_directory(moved.found);
  if (is_shown_directory(there) != is_directory) {
    return system_error_of(is_directory ? ENOTDIR : EISDIR, "rename");
  }
  if (there.shown_as == ShownAs::container) return system_error_of(EPERM, "rename");
  FRAMEFS_TRY(const auto source_name, place_of(moved, target.parent, new_name, &there));
  FRAMEFS_CHECK(make_durable(moved));
  const auto session = session_for_readers(there);
  FRAMEFS_TRY(const auto owned, own_replaced(target));
  return removing(target, [&] {
    if (source_name != there.source_name) return replace_elsewhere(moved, target, source_name);
    if (S_ISDIR(there.entry.stat.st_mode) == S_ISDIR(moved.found.entry.stat.st_mode) &&
        !is_sparse(there)) {
      return rename_source(moved, target.parent, source_name, 0);
    }
    return replace_by_exchange(moved, target);
  });
}

// For two entries with different names in SOURCE.  For a moment both exist, and the mount shows the
// name for one of them.
Status Namespace::replace_elsewhere(const Member& moved, const Member& target,
                                    const std::string& source_name) {
  const auto& to = target.parent;
  FRAMEFS_CHECK(rename_source(moved, to, source_name, RENAME_NOREPLACE));
  if (auto removed = remove_source(to.fd(), target.found.source_name, target.found); !removed) {
    auto back = moved.found;
    back.source_name = source_name;
    FRAMEFS_CHECK(rename_source({to, std::move(back)}, moved.parent, moved.found.source_name,
                                RENAME_NOREPLACE));
    return removed;
  }
  remove_lock_file_of(target.found, to.fd());
  return {};
}

// For the case that one of the two is a directory in SOURCE, or that the other is a non-empty
// directory, as sparse frames are.  The two are exchanged first, so the name is never missing.
Status Namespace::replace_by_exchange(const Member& moved, const Member& target) {
  const auto& [from, found] = moved;
  const auto& [to, there] = target;
  FRAMEFS_CHECK(rename_source(moved, to, there.source_name, RENAME_EXCHANGE));
  if (auto removed = remove_source(from.fd(), found.source_name, there); !removed) {
    auto back = found;
    back.source_name = there.source_name;
    FRAMEFS_CHECK(rename_source({to, std::move(back)}, from, found.source_name, RENAME_EXCHANGE));
    return removed;
  }
  return {};
}

Status Namespace::exchange_in_one_step(const Member& one, const Member& other) {
  const auto& one_name = one.found.source_name;
  const auto& other_name = other.found.source_name;
  const auto exchanged = parts_.locator.renaming([&]() -> Status {
    FRAMEFS_CHECK(
        rename_entry(one.parent.fd(), one_name, other.parent.fd(), other_name, RENAME_EXCHANGE));
    const NodeTable::Place one_place{one.parent.node, one_name};
    const NodeTable::Place other_place{other.parent.node, other_name};
    parts_.locator.nodes().move(file_key(one.found.entry), one_place, other_place);
    parts_.locator.nodes().move(file_key(other.found.entry), other_place, one_place);
    return {};
  });
  FRAMEFS_CHECK(exchanged);
  parts_.writers.note_attributes(file_key(one.found.entry));
  parts_.writers.note_attributes(file_key(other.found.entry));
  if (may_have_lock_file(one.found) || may_have_lock_file(other.found)) {
    exchange_lock_files(one.parent.fd(), one_name, other.parent.fd(), other_name);
  }
  return {};
}

// Exchanges in one step if each can have the other's name in SOURCE; otherwise one after the other.
Status Namespace::exchange(const Member& one, const std::string& one_name, const Member& other,
                           const std::string& other_name) {
  FRAMEFS_CHECK(make_durable(one));
  FRAMEFS_CHECK(make_durable(other));
  FRAMEFS_TRY(const auto one_source, place_of(one, other.parent, other_name, &other.found));
  FRAMEFS_TRY(const auto other_source, place_of(other, one.parent, one_name, &one.found));
  if (one_source == other.found.source_name && other_source == one.found.source_name) {
    return exchange_in_one_step(one, other);
  }
  FRAMEFS_CHECK(rename_source(one, other.parent, one_source, RENAME_NOREPLACE));
  if (auto second = rename_source(other, one.parent, other_source, RENAME_NOREPLACE); !second) {
    auto back = one.found;
    back.source_name = one_source;
    FRAMEFS_CHECK(rename_source({other.parent, std::move(back)}, one.parent, one.found.source_name,
                                RENAME_NOREPLACE));
    return second;
  }
  return {};
}

}  // namespace framefs::fs
