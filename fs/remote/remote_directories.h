#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codec/core/limits.h"
#include "fs/core/guarded.h"
#include "fs/core/single_flight.h"
#include "fs/net/cache/content_key.h"
#include "fs/remote/listing_age.h"
#include "fs/remote/remote_manifest.h"
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

// A directory of a remote SOURCE, as it was at one moment.
// Threads: any number.
struct RemoteListing {
  std::map<std::string, net::RemoteEntry> entries;  // by name
  std::chrono::steady_clock::time_point taken;
  std::chrono::steady_clock::time_point fresh_until;
  std::uint64_t bytes = 0;  // that it takes, about
  // The probes that were made for this listing, by name.  An entry whose probe failed cannot be
  // opened now.
  Guarded<std::map<std::string, Result<RemoteProbe>>> probed;
  // The number of entries that were probed one by one.
  std::atomic<std::size_t> probed_alone = 0;
};

// The listings and probes of a remote SOURCE.  A listing is kept for a short time, the probe of an
// object for as long as the object has the same version.  Callers that need the same listing at
// once share its requests.  A probe that fails concerns its entry only; the log says why it failed.
// Errors of all members: those of net::ObjectStore.
// Threads: any number.
class RemoteDirectories {
 public:
  using Listing = std::shared_ptr<RemoteListing>;

  // Lifetime: store and log outlive it.
  RemoteDirectories(RemoteStore& store, const MountOptions& options, Log& log)
      : store_(store),
        limits_(options.limits),
        log_(log),
        age_(options),
        memory_(std::make_shared<Memory>()),
        manifest_(store, log) {}

  // `path` is the directory's; "" for SOURCE itself.
  Result<Listing> list(const std::string& path);
  // A listing of the directory that is complete for these names.  If one request lists the
  // directory, it has all names; otherwise these only, at a cost that does not depend on its size.
  Result<Listing> list_for(const std::string& path, const std::vector<std::string>& names);
  // Compares the object of the entry `path`, as it was opened, with its probe.  If the object has
  // another version, forgets the probe and the listing of the directory, and returns true.
  bool notice_version(const std::string& path, const net::ObjectVersion& version);
  // Call this if an entry of the directory differs from its listing.
  void forget(const std::string& path);
  // A listing with the object that SOURCE is as its only entry, under the name `name`.
  Result<Listing> list_single(const std::string& name);

  // An entry of a listing; `path` is the entry's own.
  // Errors: also system, ENOENT.
  Result<SourceEntry> probe(RemoteListing& listing, const std::string& name,
                            const std::string& path, Expected expected);

  // The first bytes of the frame at `path`, if it was probed lately.  The frame may have changed
  // since.
  [[nodiscard]] std::optional<KnownHead> head(const std::string& path) const;

  // Probes all entries that may be frames or containers concurrently, so that probe() need not wait
  // for each of them.  `directory` is the path of the directory.  The manifest of SOURCE saves the
  // probes of the entries whose version it has.
  Status prepare(RemoteListing& listing, const std::string& directory);

  // The attributes of an entry before the mount changes them.  The inode number is a hash of the
  // path and the type.
  static struct stat stat_of(const std::string& path, const net::RemoteEntry& entry);

  // The size of a probe.
  static constexpr std::uint64_t kProbeBytes = 4096;

 private:
  struct Probing;
  using ListingCalls = SingleFlight<Listing>;  // by path

  // A probe counts while the listing shows the entry in the same state.
  struct KnownProbe {
    net::ContentKey state;
    RemoteProbe probe;
  };

  // A name that was looked up.
  struct KnownName {
    std::optional<net::RemoteEntry> entry;  // nothing if there is none
    std::chrono::steady_clock::time_point taken;
    std::chrono::steady_clock::time_point fresh_until;
  };

  // The probes and heads that are remembered.  Answers to probes may come after the caller has
  // stopped waiting, so they hold the memory itself.
  struct Memory {
    // Returns whether the probes before were forgotten, because there were too many.
    bool remember(const std::string& path, const net::ContentKey& state, const RemoteProbe& probe);
    void remember_head(const std::string& path, const FrameSummary& summary,
                       const net::RemoteOpened& opened);

    // By the hash of the path.
    Guarded<std::unordered_map<net::ContentKey, KnownProbe, net::ContentKeyHash>> probes;
    Guarded<std::unordered_map<std::string, KnownHead>> heads;  // by path
  };

  [[nodiscard]] Listing recent(const std::string& path) const;
  // The listing, unless it takes more than one request: null.
  Result<Listing> fetch_if_small(const std::string& path, const ListingCalls::Call& call);
  Listing publish(const std::string& path, net::FolderEntries listed,
                  std::chrono::steady_clock::time_point begin, const ListingCalls::Call& call);
  Result<Listing> look_up(const std::string& path, const std::vector<std::string>& names);
  Result<Listing> fetch_listing(const std::string& path, const ListingCalls::Call& call);
  // Counts and logs the entries of a directory that are not shown, once for each directory.
  void note_left_out(const std::string& path, const net::FolderEntries& listed);
  static net::ContentKey state_of(const RemoteListing& listing, const net::RemoteEntry& entry,
                                  Expected expected);
  [[nodiscard]] std::optional<RemoteProbe> recall(const std::string& path,
                                                  const net::ContentKey& state) const;
  void remember(const std::string& path, const net::ContentKey& state, const RemoteProbe& probe);
  // Remembers the probe of an entry with a head and a version, if there is room for it.
  void learn(const std::string& path, const net::RemoteEntry& entry);
  // Does this for the files of the manifest, if SOURCE has one.
  void learn_from_manifest();
  // The names of the entries that must be probed.
  std::vector<std::string> unknown(RemoteListing& listing, const std::string& directory);
  [[nodiscard]] std::optional<Result<RemoteProbe>> known(const RemoteListing& listing,
                                                         const std::string& name,
                                                         const std::string& path,
                                                         Expected expected) const;
  static std::string object_of(const std::string& path, bool is_directory);
  static RemoteProbe probe_of(const std::string& object, bool is_directory,
                              const FrameSummary& summary, const net::RemoteOpened& opened);
  void start_probe(const std::shared_ptr<Probing>& probing, RemoteListing& listing,
                   const std::string& name, const std::string& path, Expected expected);
  Status wait_for(Probing& probing, RemoteListing& listing);
  static bool may_be_special(const net::RemoteEntry& entry, Expected expected);

  // The maximum number of remembered probes.  At the maximum all are forgotten.
  static constexpr std::size_t kMaxProbes = 1U << 17;
  static constexpr std::size_t kMaxListings = 1024;
  static constexpr std::uint64_t kMaxListingsBytes = 128 << 20;
  static constexpr std::size_t kMaxNames = 1U << 15;
  // As many heads take 8 MiB.  At the maximum all are forgotten.
  static constexpr std::size_t kMaxHeads = 2048;
  // A manifest is loaded for this number of probes: it can be large.
  static constexpr std::size_t kMinForManifest = 8;

  RemoteStore& store_;
  const codec::Limits limits_;
  Log& log_;
  const ListingAge age_;
  // The listings that are kept, and the bytes that they take.
  struct Listings {
    std::map<std::string, Listing> by_path;
    std::uint64_t bytes = 0;

    void keep(const std::string& path, const Listing& listing);
    void drop(const std::string& path);
  };
  Guarded<Listings> listings_;
  ListingCalls listing_calls_;
  ListingCalls small_calls_;
  // The directories whose listing takes more than one request.
  Guarded<std::unordered_set<std::string>> large_;
  // The directories of which some entries are not shown, and which the log has named.
  Guarded<std::unordered_set<std::string>> noted_;
  Guarded<std::unordered_map<std::string, KnownName>> names_;  // by path
  const std::shared_ptr<Memory> memory_;
  RemoteManifest manifest_;
};

}  // namespace framefs::fs
