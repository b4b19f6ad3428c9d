#include "fs/tree/changes/entry_changes.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fs/core/cases.h"
#include "fs/source/directory_changes.h"
#include "fs/source/sparse_frame.h"

namespace framefs::fs {
namespace {

bool is_sparse(const NameMap::Found& found) { return found.entry.index_stat.has_value(); }

// Frames and containers may have a lock file beside them.  A sparse frame has it in its directory.
bool may_have_lock_file(const NameMap::Found& found) {
  return found.shown_as != ShownAs::itself && !is_sparse(found);
}

void remove_lock_file_of(const NameMap::Found& found, int directory) {
  if (may_have_lock_file(found)) remove_lock_file(directory, found.source_name);
}

}  // namespace

bool is_shown_directory(const NameMap::Found& found) {
  return found.shown_as == ShownAs::container ||
         (found.shown_as == ShownAs::itself && S_ISDIR(found.entry.stat.st_mode));
}

// Runs `remove`, () -> Status, which takes its name from an entry.  Keeps a descriptor for
// processes that have the entry open or as their working directory.
template <class Remove>
Status EntryChanges::removing(const NamedEntry& entry, const Remove& remove) {
  const auto& [parent, found] = entry;
  UniqueFd fd(::openat(parent.fd(), found.source_name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return system_error("open");
  const auto key = file_key(found.entry);
  const NodeTable::Place place{parent.node, found.source_name};
  auto& nodes = parts_.locator.nodes();
  const auto object = std::make_shared<const UniqueFd>(std::move(fd));
  nodes.begin_removal(key, place, object);
  // A session that begins after this line sees the descriptor.
  if (const auto session = parts_.writers.table().find(key)) session->expect_removal();
  const auto removed = remove();
  const auto st = stat_of(object->get());
  const bool has_names = st && st->st_nlink > 0 && !S_ISDIR(st->st_mode);
  const auto lost = has_names ? NodeTable::Lost::one_name : NodeTable::Lost::all_names;
  nodes.end_removal(key, place, removed ? lost : NodeTable::Lost::nothing);
  if (removed && !has_names) parts_.writers.table().forget_loss(key);
  return removed;
}

// Removes the entry that is now called `source_name`.  Meanwhile no commit may restore parts of a
// sparse frame.  Programs that have the frame open go on with the session, which keeps its files
// open; a session of any other file continues with the file that has lost its name.
Status EntryChanges::remove_source(int parent, const std::string& source_name,
                                   const NameMap::Found& what) {
  if (!is_sparse(what)) {
    return remove_entry(parent, source_name, S_ISDIR(what.entry.stat.st_mode));
  }
  const auto remove = [&] { return remove_sparse_frame(parent, source_name); };
  const auto session = parts_.writers.table().find(file_key(what.entry));
  return session ? session->remove(remove) : remove();
}

// Joins the session of a sparse frame that is open, so that there is one when its files are
// removed.  Returns an object that leaves the session; null for other files, and for a frame that
// cannot be written.
std::shared_ptr<const void> EntryChanges::session_for_readers(const NameMap::Found& found) const {
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

Status EntryChanges::remove(const NamedEntry& entry) {
  const auto& [parent, found] = entry;
  const auto session = session_for_readers(found);
  FRAMEFS_CHECK(
      removing(entry, [&] { return remove_source(parent.fd(), found.source_name, found); }));
  remove_lock_file_of(found, parent.fd());
  parts_.writers.note_attributes(file_key(found.entry));
  return {};
}

Status EntryChanges::move(const NamedEntry& moved, const ParentFolder& to,
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

Status EntryChanges::rename(const NamedEntry& moved, const ParentFolder& to,
                            const std::string& new_name) {
  FRAMEFS_TRY(const auto source_name, parts_.names.for_moved(moved, to, new_name, nullptr));
  FRAMEFS_CHECK(move(moved, to, source_name, RENAME_NOREPLACE));
  parts_.candidates.note(file_key(moved.found.entry));
  return {};
}

// Makes the last commit of a frame durable, which may be too recent to be on disk.
Status EntryChanges::sync_committed(const NamedEntry& entry) {
  const auto& [parent, found] = entry;
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
Status EntryChanges::make_durable(const NamedEntry& moved) {
  using Session = WriteSessionTable::Session;
  return std::visit(Cases{[](const Session& session) { return session->commit(true); },
                          [](LostBytes lost) { return lost.status(); },
                          [&](SavedBytes) { return sync_committed(moved); }},
                    parts_.writers.table().written_bytes(file_key(moved.found.entry)));
}

// No other program is in the middle of a change of a frame while it is replaced.
Result<EntryChanges::Owned> EntryChanges::own(const NamedEntry& target,
                                              std::chrono::milliseconds patience) const {
  const auto& [parent, found] = target;
  Owned owned;
  const bool is_frame = found.shown_as != ShownAs::itself && found.shown_as != ShownAs::container;
  if (!is_frame) return owned;
  owned.session = parts_.writers.table().find(file_key(found.entry));
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

Result<EntryChanges::Owned> EntryChanges::own_now(const NamedEntry& entry) const {
  auto owned = own(entry, std::chrono::milliseconds(0));
  if (!owned && owned.error().sys == EBUSY) return system_error_of(EAGAIN, "frame of an owner");
  return owned;
}

// Removes the name of an array whose place a frame has taken.  The node table does not learn of it,
// as if another program had removed the array: open handles stay valid, and any other request for
// its node gets ESTALE, after which the kernel looks the name up again.
Status EntryChanges::unlink_replaced(const NamedEntry& entry) {
  const auto& [parent, found] = entry;
  if (const auto session = parts_.writers.table().find(file_key(found.entry))) {
    session->expect_removal();
  }
  FRAMEFS_CHECK(remove_entry(parent.fd(), found.source_name, false));
  remove_lock_file(parent.fd(), found.source_name);
  return {};
}

Result<std::string> EntryChanges::link(const Node& node, const ParentFolder& to,
                                       const std::string& new_name) {
  FRAMEFS_TRY(const auto object, parts_.locator.open(node, O_PATH | O_NOFOLLOW));
  FRAMEFS_TRY(const auto st, stat_of(object.get()));
  // Sparse frames are directories, which can have only one name.
  if (S_ISDIR(st.st_mode)) return system_error_of(EPERM, "link");
  const auto name = parts_.locator.nodes().place_of(node).name;
  FRAMEFS_TRY(auto source_name,
              parts_.names.for_link(*to.folder, {new_name, node.key.shown_as}, object.get(), name));
  FRAMEFS_CHECK(link_file(object.get(), to.fd(), source_name));
  parts_.writers.note_attributes(file_key(node));
  return source_name;
}

Status EntryChanges::replace(const NamedEntry& moved, const NamedEntry& target,
                             const std::string& new_name) {
  const auto& there = target.found;
  const bool is_directory = is_shown_directory(moved.found);
  if (is_shown_directory(there) != is_directory) {
    return system_error_of(is_directory ? ENOTDIR : EISDIR, "rename");
  }
  if (there.shown_as == ShownAs::container) return system_error_of(EPERM, "rename");
  FRAMEFS_TRY(const auto source_name,
              parts_.names.for_moved(moved, target.parent, new_name, &there));
  FRAMEFS_CHECK(make_durable(moved));
  const auto session = session_for_readers(there);
  FRAMEFS_TRY(const auto owned, own(target));
  const auto replaced = removing(target, [&] {
    if (source_name != there.source_name) return replace_elsewhere(moved, target, source_name);
    if (S_ISDIR(there.entry.stat.st_mode) == S_ISDIR(moved.found.entry.stat.st_mode) &&
        !is_sparse(there)) {
      return move(moved, target.parent, source_name, 0);
    }
    return replace_by_exchange(moved, target);
  });
  if (replaced) parts_.candidates.note(file_key(moved.found.entry));
  return replaced;
}

// For two entries with different names in SOURCE.  For a moment both exist, and the mount shows the
// name for one of them.
Status EntryChanges::replace_elsewhere(const NamedEntry& moved, const NamedEntry& target,
                                       const std::string& source_name) {
  const auto& to = target.parent;
  FRAMEFS_CHECK(move(moved, to, source_name, RENAME_NOREPLACE));
  if (auto removed = remove_source(to.fd(), target.found.source_name, target.found); !removed) {
    auto back = moved.found;
    back.source_name = source_name;
    FRAMEFS_CHECK(
        move({to, std::move(back)}, moved.parent, moved.found.source_name, RENAME_NOREPLACE));
    return removed;
  }
  remove_lock_file_of(target.found, to.fd());
  return {};
}

// For the case that one of the two is a directory in SOURCE, or that the other is a non-empty
// directory, as sparse frames are.  The two are exchanged first, so the name is never missing.
Status EntryChanges::replace_by_exchange(const NamedEntry& moved, const NamedEntry& target) {
  const auto& [from, found] = moved;
  const auto& [to, there] = target;
  FRAMEFS_CHECK(move(moved, to, there.source_name, RENAME_EXCHANGE));
  if (auto removed = remove_source(from.fd(), found.source_name, there); !removed) {
    auto back = found;
    back.source_name = there.source_name;
    FRAMEFS_CHECK(move({to, std::move(back)}, from, found.source_name, RENAME_EXCHANGE));
    return removed;
  }
  return {};
}

Status EntryChanges::exchange_in_one_step(const NamedEntry& one, const NamedEntry& other) {
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

Status EntryChanges::exchange(const NamedEntry& one, const std::string& one_name,
                              const NamedEntry& other, const std::string& other_name) {
  FRAMEFS_CHECK(make_durable(one));
  FRAMEFS_CHECK(make_durable(other));
  FRAMEFS_CHECK(exchange_names(one, one_name, other, other_name));
  for (const auto* entry : {&one, &other}) parts_.candidates.note(file_key(entry->found.entry));
  return {};
}

// Exchanges in one step if each can have the other's name in SOURCE; otherwise one after the other.
Status EntryChanges::exchange_names(const NamedEntry& one, const std::string& one_name,
                                    const NamedEntry& other, const std::string& other_name) {
  FRAMEFS_TRY(const auto one_source,
              parts_.names.for_moved(one, other.parent, other_name, &other.found));
  FRAMEFS_TRY(const auto other_source,
              parts_.names.for_moved(other, one.parent, one_name, &one.found));
  if (one_source == other.found.source_name && other_source == one.found.source_name) {
    return exchange_in_one_step(one, other);
  }
  FRAMEFS_CHECK(move(one, other.parent, one_source, RENAME_NOREPLACE));
  if (auto second = move(other, one.parent, other_source, RENAME_NOREPLACE); !second) {
    auto back = one.found;
    back.source_name = one_source;
    FRAMEFS_CHECK(
        move({other.parent, std::move(back)}, one.parent, one.found.source_name, RENAME_NOREPLACE));
    return second;
  }
  return {};
}

}  // namespace framefs::fs
