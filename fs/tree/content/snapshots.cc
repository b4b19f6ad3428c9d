#include "fs/tree/content/snapshots.h"

#include <cerrno>
#include <utility>

#include "fs/core/retries.h"

namespace framefs::fs {
namespace {

// The entry, and what the session of its file, if any, has for it.
Snapshot with_session(const SourceEntry& entry, const WriteSessionTable::Session& session) {
  Snapshot taken{.entry = entry};
  if (session && session->check()) {
    taken.written = session->shown();
    taken.session_id = session->id();
  }
  return taken;
}

}  // namespace

Result<Snapshot> Snapshots::take(FileKey guess, const Probe& probe) const {
  const auto attempt = [&](const WriteSessionTable::Session& session) -> Result<Snapshot> {
    const auto since = nodes_.now();
    FRAMEFS_TRY(const auto entry, probe());
    auto taken = with_session(entry, session);
    taken.since = since;
    return taken;
  };
  for (Retries retries;;) {
    FRAMEFS_TRY(auto taken, sessions_.snapshot(guess, attempt));
    const auto key = file_key(taken.entry);
    if (key == guess) return taken;
    guess = key;  // another file has taken the place
    if (!retries.are_left()) return system_error_of(ESTALE, "lookup");
  }
}

// The session of a frame that is being written here knows the content of the file, which is then
// not read.
Result<Snapshot> Snapshots::of(Node& node, int fd) const {
  const auto attempt = [&](const WriteSessionTable::Session& session) -> Result<Snapshot> {
    if (session && session->is_removed()) {
      FRAMEFS_TRY(const auto entry, probe_.entry_of(*session, node));
      return with_session(entry, session);
    }
    if (session && node.key.shown_as == ShownAs::frame) {
      const FrameSummary known{.content = Content::frame, .chunksize = session->chunksize()};
      FRAMEFS_TRY(const auto entry,
                  fd < 0 ? probe_.entry(node, &known) : probe_.entry_at(fd, node, known));
      auto taken = with_session(entry, session);
      if (taken.written) return taken;
    }
    const bool is_open = fd >= 0 && !node.key.has_view();
    FRAMEFS_TRY(const auto entry, is_open ? probe_.entry_at(fd, node, {}) : probe_.entry(node));
    return with_session(entry, session);
  };
  if (!node.key.is_member()) return sessions_.snapshot(file_key(node), attempt);
  // Containers are never written.
  FRAMEFS_TRY(auto opened, containers_.open(node));
  FRAMEFS_TRY(const auto entry, containers_.probe(std::move(opened), node.key.member.str()));
  return Snapshot{.entry = entry};
}

Result<Snapshot> Snapshots::of(const OpenFile& file) const {
  auto& node = *file.node;
  if (node.key.is_member()) {
    FRAMEFS_TRY(auto container, containers_.read(node, file.source));
    FRAMEFS_TRY(const auto entry, containers_.probe(std::move(container), node.key.member.str()));
    return Snapshot{.entry = entry};
  }
  return take(file_key(node), [&] {
    const auto session = sessions_.find(file_key(node));
    const bool is_removed = session && session->is_removed();
    return is_removed ? probe_.entry_of(*session, node) : probe_.entry_of(file.source, node);
  });
}

}  // namespace framefs::fs
