// The part of the filesystem that takes names away, and gives others.

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fs/source/sparse_folder.h"
#include "fs/tree/filesystem.h"

namespace framefs::fs {
namespace {

bool is_shown_directory(const NameMap::Found& found) {
  return found.shown_as == ShownAs::container ||
         (found.shown_as == ShownAs::itself && S_ISDIR(found.entry.stat.st_mode));
}

bool is_sparse(const NameMap::Found& found) { return found.entry.index_stat.has_value(); }

NodeTable::SourceId source_id(const NameMap::Found& found) {
  return {found.entry.stat.st_dev, found.entry.stat.st_ino};
}

bool is_same(const NameMap::Found& one, const NameMap::Found& other) {
  return one.entry.stat.st_dev == other.entry.stat.st_dev &&
         one.entry.stat.st_ino == other.entry.stat.st_ino;
}

// Frames and stores may have a lock file beside them; that of a sparse frame is in its directory.
// Source: file locks.
bool may_have_lock_file(const NameMap::Found& found) {
  return found.shown_as != ShownAs::itself && !is_sparse(found);
}
std::string lock_file_of(const std::string& source_name) { return source_name + ".b2lock"; }

void rename_lock_file(const NameMap::Found& of, int from, int to, const std::string& new_name) {
  if (!may_have_lock_file(of)) return;
  // Mostly there is none.
  ::renameat(from, lock_file_of(of.source_name).c_str(), to, lock_file_of(new_name).c_str());
}

void exchange_lock_files(int one, const NameMap::Found& first, int other,
                         const NameMap::Found& second) {
  const auto first_lock = lock_file_of(first.source_name);
  const auto second_lock = lock_file_of(second.source_name);
  // Mostly there is none; else both are there, or either.
  if (::renameat2(one, first_lock.c_str(), other, second_lock.c_str(), RENAME_EXCHANGE) != 0 &&
      ::renameat2(one, first_lock.c_str(), other, second_lock.c_str(), RENAME_NOREPLACE) != 0) {
    ::renameat2(other, second_lock.c_str(), one, first_lock.c_str(), RENAME_NOREPLACE);
  }
}

void remove_lock_file(int directory, const NameMap::Found& of) {
  if (may_have_lock_file(of)) {
    ::unlinkat(directory, lock_file_of(of.source_name).c_str(), 0);
  }
}

// Whether a directory that looks empty is made so: what is not shown goes with it.
Result<bool> remove_hidden_entries(int parent, const std::string& name) {
  const UniqueFd folder(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return system_error("open");
  FRAMEFS_TRY(const auto items, items_of(folder.get()));
  for (const auto& item : items) {
    if (!is_hidden(item.name)) return false;
  }
  for (const auto& item : items) {
    if (::unlinkat(folder.get(), item.name.c_str(), 0) != 0) return system_error("unlink");
  }
  return !items.empty();
}

Status remove_directory_at(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return {};
  if (errno != ENOTEMPTY && errno != EEXIST) return system_error("rmdir");
  FRAMEFS_TRY(const auto again, remove_hidden_entries(parent, name));
  if (!again) return system_error_of(ENOTEMPTY, "rmdir");
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0) return system_error("rmdir");
  return {};
}

Status remove_at(int parent, const std::string& source_name, const NameMap::Found& what) {
  if (is_sparse(what)) return remove_sparse_frame(parent, source_name);
  if (S_ISDIR(what.entry.stat.st_mode)) return remove_directory_at(parent, source_name);
  if (::unlinkat(parent, source_name.c_str(), 0) != 0) return system_error("unlink");
  return {};
}

Status rename_at(int from, const std::string& name, int to, const std::string& new_name,
                 unsigned flags) {
  if (::renameat2(from, name.c_str(), to, new_name.c_str(), flags) == 0) return {};
  // Not every filesystem knows flags; nobody was there a moment ago.
  const bool is_unknown = flags == RENAME_NOREPLACE && errno == EINVAL;
  if (is_unknown && ::renameat(from, name.c_str(), to, new_name.c_str()) == 0) return {};
  return system_error("rename");
}

}  // namespace

// Who has it open, or as their working directory, goes on.
Status Filesystem::hold(const Member& member) {
  const auto& [parent, found] = member;
  UniqueFd fd(::openat(parent.fd(), found.source_name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return system_error("open");
  nodes_.hold(source_id(found), {parent.node, found.source_name},
              std::make_shared<const UniqueFd>(std::move(fd)));
  return {};
}

void Filesystem::release_hold(const Member& member) {
  const auto& [parent, found] = member;
  nodes_.hold(source_id(found), {parent.node, found.source_name}, nullptr);
}

// What is called `source_name` by now.  No commit may bring parts of a sparse frame back meanwhile; of
// other files, a session goes on with what has no name.
Status Filesystem::remove_source(int parent, const std::string& source_name,
                                 const NameMap::Found& what) {
  const auto remove = [&] { return remove_at(parent, source_name, what); };
  const auto [device, inode] = source_id(what);
  const auto session = is_sparse(what) ? sessions_.find({device, inode}) : nullptr;
  return session ? session->remove(remove) : remove();
}

Status Filesystem::remove_entry(const Member& member) {
  const auto& [parent, found] = member;
  FRAMEFS_CHECK(hold(member));
  if (auto removed = remove_source(parent.fd(), found.source_name, found); !removed) {
    release_hold(member);
    return removed;
  }
  remove_lock_file(parent.fd(), found);
  return {};
}

Status Filesystem::remove_file(NodeId parent, const std::string& name) {
  FRAMEFS_TRY(const auto in, open_parent(parent));
  FRAMEFS_TRY(auto found, directory_.find(*in.folder, name));
  if (is_shown_directory(found)) return system_error_of(EISDIR, "unlink");
  return remove_entry({in, std::move(found)});
}

Status Filesystem::remove_directory(NodeId parent, const std::string& name) {
  FRAMEFS_TRY(const auto in, open_parent(parent));
  FRAMEFS_TRY(auto found, directory_.find(*in.folder, name));
  if (!is_shown_directory(found)) return system_error_of(ENOTDIR, "rmdir");
  // It is full of what cannot be removed one by one.
  if (found.shown_as == ShownAs::container) return system_error_of(EPERM, "rmdir");
  return remove_entry({in, std::move(found)});
}

// The name that `moved` gets in SOURCE to be shown as `new_name` in `to`.
Result<std::string> Filesystem::place_of(const Member& moved, const Parent& to,
                                         const std::string& new_name,
                                         const NameMap::Found* replaced) {
  const auto& [from, found] = moved;
  NameMap::Newcomer newcomer{.asked = {new_name, found.shown_as},
                             .source_name = found.source_name,
                             .summary = {},
                             .leaving = {},
                             .replaced = {}};
  newcomer.summary = [&](Expected expected) {
    const auto entry = probe_.probe_as(from.fd(), found.source_name, expected);
    return entry ? entry->summary : FrameSummary{};
  };
  if (from.node == to.node) newcomer.leaving.push_back(found.source_name);
  if (replaced != nullptr) {
    newcomer.leaving.push_back(replaced->source_name);
    newcomer.replaced = replaced->source_name;
  }
  return directory_.place(*to.folder, newcomer);
}

Status Filesystem::rename_source(const Member& moved, const Parent& to,
                                 const std::string& source_name, unsigned flags) {
  const auto& [from, found] = moved;
  const auto renamed = renaming_.with([&](Renaming&) {
    auto status = rename_at(from.fd(), found.source_name, to.fd(), source_name, flags);
    if (status) {
      nodes_.move(source_id(found), {from.node, found.source_name}, {to.node, source_name});
    }
    return status;
  });
  FRAMEFS_CHECK(renamed);
  rename_lock_file(found, from.fd(), to.fd(), source_name);
  return {};
}

Status Filesystem::rename(NodeId parent, const std::string& name, NodeId new_parent,
                          const std::string& new_name, unsigned flags) {
  const bool unknown = (flags & ~unsigned{RENAME_NOREPLACE | RENAME_EXCHANGE}) != 0;
  if (unknown || flags == (RENAME_NOREPLACE | RENAME_EXCHANGE)) {
    return system_error_of(EINVAL, "rename");
  }
  FRAMEFS_TRY(const auto from, open_parent(parent));
  FRAMEFS_TRY(const auto to, open_parent(new_parent));
  FRAMEFS_TRY(auto found, directory_.find(*from.folder, name));
  const Member moved{from, std::move(found)};
  FRAMEFS_TRY(auto there, find_in(*to.folder, new_name));
  if (!there) {
    if ((flags & RENAME_EXCHANGE) != 0) return system_error_of(ENOENT, "rename");
    FRAMEFS_CHECK(check_new_name(new_name, moved.found.shown_as));
    FRAMEFS_TRY(const auto source_name, place_of(moved, to, new_name, nullptr));
    return rename_source(moved, to, source_name, RENAME_NOREPLACE);
  }
  if ((flags & RENAME_NOREPLACE) != 0) return system_error_of(EEXIST, "rename");
  if (is_same(moved.found, *there)) return {};  // two names of one file
  const Member target{to, std::move(*there)};
  if ((flags & RENAME_EXCHANGE) != 0) return exchange(moved, name, target, new_name);
  return replace(moved, target, new_name);
}

// Programs write a file anew, close it and give it the name of the old one.  Whatever ends the daemon or
// the machine then, the name must lead to the old content or to the new.
Status Filesystem::make_durable(const Member& moved) {
  const auto& [parent, found] = moved;
  const auto [device, inode] = source_id(found);
  const auto session = live_session({device, inode});
  if (session) return session->commit(true);
  if (found.shown_as == ShownAs::itself || is_sparse(found)) return {};
  // Its last commit may have been moments ago.
  const UniqueFd fd(::openat(parent.fd(), found.source_name.c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return errno == EACCES ? Status{} : system_error("open");
  if (::fdatasync(fd.get()) != 0) return system_error("fdatasync");
  return {};
}

Status Filesystem::replace(const Member& moved, const Member& target, const std::string& new_name) {
  const auto& there = target.found;
  const bool is_directory = is_shown_directory(moved.found);
  if (is_shown_directory(there) != is_directory) {
    return system_error_of(is_directory ? ENOTDIR : EISDIR, "rename");
  }
  if (there.shown_as == ShownAs::container) return system_error_of(EPERM, "rename");
  FRAMEFS_TRY(const auto source_name, place_of(moved, target.parent, new_name, &there));
  FRAMEFS_CHECK(make_durable(moved));
  FRAMEFS_CHECK(hold(target));
  Status done;
  if (source_name != there.source_name) {
    done = replace_elsewhere(moved, target, source_name);
  } else if (S_ISDIR(there.entry.stat.st_mode) == S_ISDIR(moved.found.entry.stat.st_mode) &&
             !is_sparse(there)) {
    done = rename_source(moved, target.parent, source_name, 0);
  } else {
    done = replace_by_exchange(moved, target);
  }
  if (!done) release_hold(target);
  return done;
}

// Where the two are called differently in SOURCE: in between, both are there, and the name is shown of
// one of them.
Status Filesystem::replace_elsewhere(const Member& moved, const Member& target,
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
  remove_lock_file(to.fd(), target.found);
  return {};
}

// Where one is a directory in SOURCE, or the other a full one, as sparse frames are, they change
// places first: so the name is never missing.
Status Filesystem::replace_by_exchange(const Member& moved, const Member& target) {
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

// In one step where each can have the other's name in SOURCE; else one after the other.
Status Filesystem::exchange(const Member& one, const std::string& one_name, const Member& other,
                            const std::string& other_name) {
  FRAMEFS_TRY(const auto one_source, place_of(one, other.parent, other_name, &other.found));
  FRAMEFS_TRY(const auto other_source, place_of(other, one.parent, one_name, &one.found));
  if (one_source == other.found.source_name && other_source == one.found.source_name) {
    const auto exchanged = renaming_.with([&](Renaming&) -> Status {
      FRAMEFS_CHECK(
          rename_at(one.parent.fd(), other_source, other.parent.fd(), one_source, RENAME_EXCHANGE));
      const NodeTable::Place one_place{one.parent.node, other_source};
      const NodeTable::Place other_place{other.parent.node, one_source};
      nodes_.move(source_id(one.found), one_place, other_place);
      nodes_.move(source_id(other.found), other_place, one_place);
      return {};
    });
    if (exchanged && (may_have_lock_file(one.found) || may_have_lock_file(other.found))) {
      exchange_lock_files(one.parent.fd(), one.found, other.parent.fd(), other.found);
    }
    return exchanged;
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
