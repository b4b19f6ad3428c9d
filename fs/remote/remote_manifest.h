#pragma once

#include <functional>
#include <string>

#include "fs/core/diagnostics/log.h"
#include "fs/core/threads/guarded.h"
#include "fs/core/threads/single_flight.h"
#include "fs/net/store/manifest.h"
#include "fs/remote/remote_store.h"

namespace framefs::fs {

// Loads the manifest of a remote SOURCE, whose heads save a request for each frame.
// Threads: any number.
class RemoteManifest {
 public:
  // Called for each file of the manifest that has a head.
  using Learn = std::function<void(const net::ManifestFile& file)>;

  // Lifetime: both outlive it.
  RemoteManifest(RemoteStore& store, Log& log) : store_(store), log_(log) {}

  // Loads the manifest, unless this version of it was loaded before.  `entry` is the manifest in
  // the listing of SOURCE.  Returns when this or another thread has loaded it.  A manifest that
  // cannot be read changes nothing; the log says why, once for each version.
  void load(const net::RemoteEntry& entry, const Learn& learn);
  // The next load() loads the manifest again.
  void forget();

 private:
  Status read(const Learn& learn);

  RemoteStore& store_;
  Log& log_;
  SingleFlight<void> calls_;     // by version
  Guarded<std::string> loaded_;  // the version that was loaded last
};

}  // namespace framefs::fs
