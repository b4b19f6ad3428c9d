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
#include "fs/remote/remote_listing.h"
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

// The listings and probes of a remote SOURCE.  A listing is kept for a short time, the probe of an
// object for as long as the object has the same version.  Callers that need the same listing at
// once share its requests.  A probe that fails concerns its entry only; the log says why it failed.
// Errors of all members: those of net::ObjectStore.
// Threads: any number.
class RemoteDirectories {
 public:
  using Listing = std::shared_ptr<RemoteListing>;

  // Lifetime: store and log outlive it.
  RemoteDirectories(RemoteStore& store, const MountOptions& options, Log& log);

  // A listing of the directory, of which the first page has arrived.  `path` is the directory's; ""
  // for SOURCE itself.
  Result<Listing> open(const std::string& path);
  // A listing of the directory that knows these names.  If the first page of the listing does not
  // have them all, it has these names only, at a cost that does not depend on the directory's size.
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
  // The part of this that decides how the entry is shown, which may cost less.
  Result<FrameSummary> summary(RemoteListing& listing, const std::string& name,
                               const std::string& path, Expected expected);

  // The first bytes of the frame at `path`, if it was probed lately.  The frame may have changed
  // since.
  [[nodiscard]] std::optional<KnownHead> head(const std::string& path) const;

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

  // A listing that is fresh and has not failed; null if there is none.
  [[nodiscard]] Listing recent(const std::string& path) const;
  Result<Listing> begin_listing(const std::string& path, const ListingCalls::Call& call);
  Result<Listing> look_up(const std::string& path, const std::vector<std::string>& names);
  // Counts and logs the entries of a directory that are not shown, once for each directory.
  void note_left_out(const std::string& path, const net::LeftOut& unnameable,
                     const net::LeftOut& covered);
  // `taken` is the time of the listing.
  static net::ContentKey state_of(std::chrono::steady_clock::time_point taken,
                                  const net::RemoteEntry& entry, Expected expected);
  [[nodiscard]] std::optional<RemoteProbe> recall(const std::string& path,
                                                  const net::ContentKey& state) const;
  void remember(const std::string& path, const net::ContentKey& state, const RemoteProbe& probe);
  // Remembers the probe of an entry with a head and a version, if there is room for it.
  void learn(const std::string& path, const net::RemoteEntry& entry);
  // Does this for the files of the manifest, if SOURCE has one.
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

  // The maximum number of remembered probes.  At the maximum all are forgotten.
  static constexpr std::size_t kMaxProbes = 1U << 17;
  static constexpr std::size_t kMaxListings = 1024;
  static constexpr std::size_t kMaxNames = 1U << 15;
  // As many heads take 8 MiB.  At the maximum all are forgotten.
  static constexpr std::size_t kMaxHeads = 2048;
  // A manifest is loaded for this number of probes: it can be large.
  static constexpr std::size_t kMinForManifest = 8;

  RemoteStore& store_;
  const codec::Limits limits_;
  Log& log_;
  const ListingAge age_;
  // The listings that are kept, by path.
  using Listings = Guarded<std::map<std::string, Listing>>;
  static bool drop_oldest(Listings& listings);
  const std::shared_ptr<Listings> listings_ = std::make_shared<Listings>();
  ListingCalls listing_calls_;
  // The directories whose listing takes more than one request.
  Guarded<std::unordered_set<std::string>> large_;
  // The directories of which some entries are not shown, and which the log has named.
  Guarded<std::unordered_set<std::string>> noted_;
  Guarded<std::unordered_map<std::string, KnownName>> names_;  // by path
  const std::shared_ptr<Memory> memory_;
  RemoteManifest manifest_;
};

}  // namespace framefs::fs
