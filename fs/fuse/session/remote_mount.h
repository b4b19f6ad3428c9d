#pragma once

#include <fcntl.h>

#include <cstdint>
#include <memory>
#include <variant>

#include <fuse_lowlevel.h>

#include "fs/core/diagnostics/log.h"
#include "fs/fuse/ops/answer.h"
#include "fs/fuse/ops/handles.h"
#include "fs/fuse/ops/immutable.h"
#include "fs/remote/remote_tree.h"

namespace framefs::fuse {

struct RemoteOpenAnswer {
  fs::RemoteTree::Opened opened;
  fs::NodeId node;
  fuse_file_info info;
};
using RemoteAnswer =
    std::variant<Done, EntryAnswer, AttrAnswer, StatfsAnswer, RemoteOpenAnswer, OpendirAnswer,
                 BytesAnswer, BufferAnswer, OffsetAnswer, SizeAnswer>;

// As Mount, for a remote SOURCE. Lifetime: the session's.
struct RemoteMount {
  using Answer = RemoteAnswer;
  [[nodiscard]] fs::RemoteTree& tree() const { return source; }
  [[nodiscard]] fs::RemoteTree& attributes() const { return source; }
  [[nodiscard]] std::string stats() const {
    return stats_json(counters, source.activity(), options, source.network_counters());
  }

  // Opens a file for reads without a handle.
  [[nodiscard]] Result<std::shared_ptr<const fs::RemoteOpenFile>> open_file(fs::NodeId id) const {
    return source.open_reader(id);
  }
  // Whether a file that can be opened can also be read.
  [[nodiscard]] bool is_readable(fs::NodeId id) const {
    const auto opened = source.open_file(id, O_RDONLY);
    if (!opened) return true;
    source.close(*opened->file);
    return !opened->bypass_pages;
  }

  fs::RemoteTree& source;
  fs::Log& log;
  double attr_timeout_s;  // how long the kernel may trust names and attributes
  HandleTable<const fs::RemoteOpenFile> files;
  HandleTable<FolderHandle> directories;
  fs::MountOptions options;
  RequestCounters counters{};
  OpenByNode<const fs::RemoteOpenFile> by_node{};
  fuse_session* session = nullptr;  // set before the first request
  std::uint32_t generation = new_generation();
};

// As send() for Mount.
void send(fuse_req_t req, RemoteMount& mount, RemoteAnswer answer);

}  // namespace framefs::fuse
