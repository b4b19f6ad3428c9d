#pragma once

#include <string>

#include "fs/core/diagnostics/log.h"
#include "fs/core/mount_options.h"
#include "fs/remote/remote_directories.h"
#include "fs/remote/remote_store.h"
#include "fs/source/suffixes.h"
#include "fs/tree/nodes/node_key.h"

namespace framefs::fs {

// The root of a remote SOURCE: a directory, or one object.
struct RemoteRoot {
  NodeKey key;
  std::string single_name;                // of that object; "" for a directory
  Expected expected = Expected::nothing;  // the content to look for in that object

  [[nodiscard]] bool is_single() const noexcept { return !single_name.empty(); }
};

// Asks the server of a store that was started.  Waits for one that does not answer as long as the
// options say.
// Errors: those of RemoteStore::fetch_credentials(); ENOENT if there is nothing at the URL; ENOTDIR
//   if MOUNTPOINT is a file and SOURCE is shown as a directory.
Result<RemoteRoot> find_remote_root(const MountOptions& options, RemoteStore& store, Log& log);

// Logs that a web server does not list the root, or lacks ranges, by the answer for one object of
// the root.  Waits a few seconds at most.
void warn_of_missing_abilities(const RemoteRoot& root, RemoteStore& store,
                               RemoteDirectories& directories, Log& log);

}  // namespace framefs::fs
