#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "fs/core/threads/guarded.h"
#include "fs/core/threads/interrupt.h"
#include "fs/tree/changes/array_candidates.h"
#include "fs/tree/changes/new_names.h"
#include "fs/tree/changes/parent_folders.h"
#include "fs/tree/content/frame_writers.h"
#include "fs/tree/content/lock_files.h"
#include "fs/tree/names/name_map.h"
#include "fs/tree/nodes/node_locator.h"
#include "fs/write/ownership/frame_ownership.h"

namespace framefs::fs {

// Whether the entry is shown as a directory.
bool is_shown_directory(const NameMap::Found& found);

// Links, moves, removes and exchanges entries of SOURCE.  The table of nodes, the write sessions,
// the lock files and the candidates for arrays follow.
// Errors of all members: system; those of NewNames.
// Threads: any number.
class EntryChanges {
 public:
  // Lifetime: all referenced objects outlive the `EntryChanges`.
  struct Parts {
    NodeLocator& locator;
    const NewNames& names;
    const LockFiles& lock_files;
    const FrameWriters& writers;
    ArrayCandidates& candidates;
  };
  explicit EntryChanges(const Parts& parts) : parts_(parts) {}

  // Runs body(), which changes names.  No file takes the place of another without a request for it
  // meanwhile.
  template <class Body>
  auto changing(const Body& body) const {
    return changes_.read([&](const Changes&) { return body(); });
  }
  // Runs body(), () -> Status, which puts one file in the place of another without a request for
  // it, while no other thread changes names.  Runs it again while it fails with EAGAIN because
  // others use the frame.  Other changes of names wait for the body, which must therefore not wait
  // for them.  No thread waits while this function waits.
  // Errors: EBUSY if others use it for too long; EINTR if the caller gives up; those of the body.
  template <class Body>
  Status alone(const Body& body);
  // The same, while `file` has no write session and none can begin.
  // Errors: also those of WriteSessionTable::without_session().
  template <class Body>
  Status alone_without_session(const FileKey& file, const Body& body) {
    return alone([&] { return parts_.writers.table().without_session(file, body); });
  }

  // Gives the file of a node another name, which is shown as `new_name`.  Returns the name in
  // SOURCE.  Errors: EPERM for a sparse frame.
  Result<std::string> link(const Node& node, const ParentFolder& to, const std::string& new_name);
  Status remove(const NamedEntry& entry);
  // Renames an entry to a name that is free.
  Status rename(const NamedEntry& moved, const ParentFolder& to, const std::string& new_name);
  // Puts an entry in the place of another one, which is shown as `new_name`.
  Status replace(const NamedEntry& moved, const NamedEntry& target, const std::string& new_name);
  // Exchanges two entries, which are shown under these names.
  Status exchange(const NamedEntry& one, const std::string& one_name, const NamedEntry& other,
                  const std::string& other_name);
  // Removes the name of an array whose place a frame has taken.
  Status unlink_replaced(const NamedEntry& array);

  // The ownership of a frame, by the session that writes it or without one.
  struct Owned {
    WriteSessionTable::Session session;
    std::optional<FrameWriteSession::Change> change;
    std::unique_ptr<FrameOwnership> ownership;
  };
  // The ownership of a frame, without waiting for other programs.
  // Errors: EAGAIN if another program owns it now.
  [[nodiscard]] Result<Owned> own_now(const NamedEntry& entry) const;

 private:
  [[nodiscard]] Result<Owned> own(const NamedEntry& target, std::chrono::milliseconds patience =
                                                                FrameWriteSession::kPatience) const;
  template <class Remove>
  Status removing(const NamedEntry& entry, const Remove& remove);
  Status remove_source(int parent, const std::string& source_name, const NameMap::Found& what);
  [[nodiscard]] std::shared_ptr<const void> session_for_readers(const NameMap::Found& found) const;
  Status move(const NamedEntry& moved, const ParentFolder& to, const std::string& source_name,
              unsigned flags);
  static Status sync_committed(const NamedEntry& entry);
  Status make_durable(const NamedEntry& moved);
  Status replace_elsewhere(const NamedEntry& moved, const NamedEntry& target,
                           const std::string& source_name);
  Status replace_by_exchange(const NamedEntry& moved, const NamedEntry& target);
  Status exchange_names(const NamedEntry& one, const std::string& one_name, const NamedEntry& other,
                        const std::string& other_name);
  Status exchange_in_one_step(const NamedEntry& one, const NamedEntry& other);

  const Parts parts_;
  struct Changes {};
  Shared<Changes> changes_{std::in_place};
};

template <class Body>
Status EntryChanges::alone(const Body& body) {
  constexpr std::chrono::milliseconds kBetweenAttempts{5};
  const auto end = std::chrono::steady_clock::now() + FrameWriteSession::kPatience;
  while (true) {
    const auto done = changes_.try_write([&](const Changes&) { return body(); });
    if (done && (*done || done->error().sys != EAGAIN)) return *done;
    if (std::chrono::steady_clock::now() >= end) return system_error_of(EBUSY, "frame in use");
    if (interrupted()) return system_error_of(EINTR, "frame in use");
    std::this_thread::sleep_for(kBetweenAttempts);
  }
}

}  // namespace framefs::fs
