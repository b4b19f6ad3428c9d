#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/limits.h"
#include "fs/remote/remote_listing.h"
#include "fs/remote/remote_listings.h"
#include "fs/remote/remote_manifest.h"
#include "fs/remote/remote_probes.h"
#include "fs/remote/remote_store.h"
#include "fs/source/folder.h"

namespace framefs::fs {

// The directories of a remote SOURCE: their listings, and what the first bytes of their entries
// say.  A probe that fails concerns its entry only; the log says why it failed.
// Errors of all members: those of net::ObjectStore.
// Threads: any number.
class RemoteDirectories {
 public:
  // Lifetime: store and log outlive it.
  RemoteDirectories(RemoteStore& store, const MountOptions& options, Log& log);

  [[nodiscard]] RemoteListings& listings() noexcept { return listings_; }

  // Compares the object of the entry `path`, as it was opened, with its probe.  If the object has
  // another version, forgets the probe and the listing of the directory, and returns true.
  bool notice_version(const std::string& path, const net::ObjectVersion& version);

  // An entry of a listing; `path` is the entry's own.
  // Errors: also system, ENOENT.
  Result<SourceEntry> probe(RemoteListing& listing, const std::string& name,
                            const std::string& path, Expected expected);
  // The part of this that decides how the entry is shown, which may cost less.
  Result<FrameSummary> summary(RemoteListing& listing, const std::string& name,
                               const std::string& path, Expected expected);

  // RemoteProbes::head().
  [[nodiscard]] std::optional<KnownHead> head(const std::string& path) const {
    return probes_->head(path);
  }

  // Probes all entries of a page that may be frames or containers concurrently, so that probe() and
  // summary() need not wait for each of them.  `directory` is the path of the directory.  The
  // manifest of SOURCE saves the probes of the entries whose version it has.
  Status prepare(RemoteListing& listing, const RemotePage& page, const std::string& directory);

  // The inode number of an entry: a hash of its path and type.
  static std::uint64_t inode_of(const std::string& path, bool is_directory);
  // The attributes of an entry before the mount changes them.
  static struct stat stat_of(const std::string& path, const net::RemoteEntry& entry);

  // The size of a probe.
  static constexpr std::uint64_t kProbeBytes = 4096;

 private:
  struct Probing;
  struct Probed;
  // Remembers the probes that the manifest has, if SOURCE has one.
  void learn_from_manifest();
  // An entry that must be probed.
  struct Unknown {
    std::string path;
    net::RemoteEntry entry;
    Expected expected = Expected::nothing;
  };
  std::vector<Unknown> unknown(const RemoteListing& listing, const RemotePage& page,
                               const std::string& directory) const;
  // The result of a probe that was made before.
  [[nodiscard]] std::optional<Result<RemoteProbe>> known(const RemoteListing& listing,
                                                         const net::RemoteEntry& entry,
                                                         const std::string& path,
                                                         Expected expected) const;
  // The same; makes the probe if there was none.
  Result<RemoteProbe> probe_entry(RemoteListing& listing, const Unknown& one);
  static std::string object_of(const std::string& path, bool is_directory);
  static RemoteProbe probe_of(const std::string& object, bool is_directory,
                              const FrameSummary& summary, const net::RemoteOpened& opened);
  void start_probe(const std::shared_ptr<Probing>& probing, const RemoteListing& listing,
                   const Unknown& one);
  // Returns the probes in the order in which they have ended.
  Result<std::vector<Probed>> wait_for(Probing& probing, RemoteListing& listing);
  static bool may_be_special(bool is_directory, Expected expected);

  // A manifest is loaded for this number of probes: it can be large.
  static constexpr std::size_t kMinForManifest = 8;

  RemoteStore& store_;
  const codec::Limits limits_;
  Log& log_;
  // Shared with the answers to probes, which may come after the caller has stopped waiting.
  const std::shared_ptr<RemoteProbes> probes_;
  RemoteListings listings_;
  RemoteManifest manifest_;
};

}  // namespace framefs::fs
