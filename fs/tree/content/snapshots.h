#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "fs/source/folder.h"
#include "fs/tree/content/open_file.h"
#include "fs/tree/nodes/node_probe.h"
#include "fs/tree/nodes/open_containers.h"
#include "fs/write/write_session_table.h"

namespace framefs::fs {

// An entry of SOURCE and, if it is being written, the state of its session, at one moment.
struct Snapshot {
  SourceEntry entry;
  std::optional<FrameWriteSession::Shown> written{};
  std::uint64_t session_id = 0;                      // 0 if it is not being written
  NodeTable::Moment since = NodeTable::kLastMoment;  // before SOURCE was asked for a name
};

// Takes the snapshots from which every size, time and state in an answer comes.
//
// Invariant: a snapshot shows one moment.  Each member first looks for the write session of the
// file, then probes SOURCE, then takes the state of the session.  It starts again if a session of
// the file began or ended meanwhile.  An entry that was probed earlier serves only to find names.
//
// Errors of all members: those of NodeProbe; ESTALE for a file that other programs keep replacing.
// Threads: any number.
class Snapshots {
 public:
  // Lifetime: all referenced objects outlive the `Snapshots`.
  Snapshots(const NodeTable& nodes, const NodeProbe& probe, const OpenContainers& containers,
            const WriteSessionTable& sessions)
      : nodes_(nodes), probe_(probe), containers_(containers), sessions_(sessions) {}

  // Of the entry that `probe` reads from SOURCE; `guess` is the file that it will probably find.
  using Probe = std::function<Result<SourceEntry>()>;
  [[nodiscard]] Result<Snapshot> take(FileKey guess, const Probe& probe) const;
  // Of a node.  `fd` is an open descriptor of its file, or -1; it may be an O_PATH descriptor.
  [[nodiscard]] Result<Snapshot> of(Node& node, int fd = -1) const;
  [[nodiscard]] Result<Snapshot> of(const OpenFile& file) const;

 private:
  const NodeTable& nodes_;
  const NodeProbe& probe_;
  const OpenContainers& containers_;
  const WriteSessionTable& sessions_;
};

}  // namespace framefs::fs
