#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "codec/core/limits.h"
#include "fs/core/threads/guarded.h"
#include "fs/net/cache/content_key.h"
#include "fs/net/store/object_store.h"
#include "fs/remote/remote_store.h"
#include "fs/source/folder.h"

namespace framefs::fs {

// The facts that the first bytes of an entry give.
struct RemoteProbe {
  FrameSummary summary;
  std::optional<struct stat> index_stat;  // of the index file of a sparse frame
  // The version that these bytes belong to, as version_text() gives it; "" if it is not known.
  std::string version;
};

// Whether two states of the entry differ in the listing.  Those of a directory, which may be a
// sparse frame, and of a link on a page do not.
bool has_version(const net::RemoteEntry& entry);
std::string version_text(const net::ObjectVersion& version);

// The probes of entries, each for as long as the listing shows the entry in the same state; and the
// first bytes of frames, with which they are opened.
// Threads: any number.
class RemoteProbes {
 public:
  // The maximum number of remembered probes.  At the maximum all are forgotten.
  static constexpr std::size_t kMaxProbes = 1U << 17;

  explicit RemoteProbes(const codec::Limits& limits) : limits_(limits) {}

  // The state of an entry in a listing of the time `taken`, probed for `expected`.
  static net::ContentKey state_of(std::chrono::steady_clock::time_point taken,
                                  const net::RemoteEntry& entry, Expected expected);
  [[nodiscard]] std::optional<RemoteProbe> find(const std::string& path,
                                                const net::ContentKey& state) const;
  // Returns whether the probes before were forgotten, because there were too many.
  bool remember(const std::string& path, const net::ContentKey& state, const RemoteProbe& probe);
  // Remembers the probe of an entry with a head and a version, if there is room for it.
  void learn(const std::string& path, const net::RemoteEntry& entry);
  // Forgets the probe of the entry if it is of another version.  Returns whether it was.
  bool forget_other(const std::string& path, const net::ObjectVersion& version);

  // The first bytes of the frame at `path`, if it was probed lately.  The frame may have changed
  // since.
  [[nodiscard]] std::optional<KnownHead> head(const std::string& path) const;
  void remember_head(const std::string& path, const FrameSummary& summary,
                     const net::RemoteOpened& opened);

 private:
  struct KnownProbe {
    net::ContentKey state;
    RemoteProbe probe;
  };

  // As many heads take 8 MiB.  At the maximum all are forgotten.
  static constexpr std::size_t kMaxHeads = 2048;

  const codec::Limits limits_;
  // By the hash of the path.
  Guarded<std::unordered_map<net::ContentKey, KnownProbe, net::ContentKeyHash>> probes_;
  Guarded<std::unordered_map<std::string, KnownHead>> heads_;  // by path
};

}  // namespace framefs::fs
