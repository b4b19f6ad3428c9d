#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fs/core/threads/guarded.h"
#include "fs/core/threads/single_flight.h"
#include "fs/remote/listing_age.h"
#include "fs/remote/remote_listing.h"
#include "fs/remote/remote_probes.h"
#include "fs/remote/remote_store.h"

namespace framefs::fs {

// The listings of a remote SOURCE, and the names that were looked up in directories that are too
// large to be listed for them.  Each is kept for a short time.  Callers that need the same listing
// at once share its requests.  Paths are relative to SOURCE; "" is SOURCE itself.
// Errors of all members: those of net::ObjectStore.
// Threads: any number.
class RemoteListings {
 public:
  using Listing = std::shared_ptr<RemoteListing>;

  // Heads that arrive with a listing go to `probes`.  Lifetime: store, probes and log outlive it.
  RemoteListings(RemoteStore& store, const MountOptions& options, RemoteProbes& probes, Log& log);

  // A listing of the directory, of which the first page has arrived.
  Result<Listing> open(const std::string& path) {
    return open(path, [] {});
  }
  // A listing of the directory that knows these names.  Waits for one round trip.  It has these
  // names only, at a cost that does not depend on the directory's size, if they are the first that
  // somebody looks up there, or if the first page of the listing does not have them all.
  Result<Listing> list_for(const std::string& path, const std::vector<std::string>& names);
  // A listing with the object that SOURCE is as its only entry, under the name `name`.
  Result<Listing> list_single(const std::string& name);
  // The listing of the directory that is kept, of any age; null if there is none.  That of SOURCE
  // itself, which leads to the manifest, is kept when it is too old to be used.
  [[nodiscard]] Listing kept(const std::string& path) const;
  // Call this if an entry of the directory differs from its listing.
  void forget(const std::string& path);

 private:
  using ListingCalls = SingleFlight<Listing>;  // by path
  using Listings = Guarded<std::map<std::string, Listing>>;

  // A name that was looked up.
  struct KnownName {
    std::optional<net::RemoteEntry> entry;  // nothing if there is none
    std::chrono::steady_clock::time_point taken;
    std::chrono::steady_clock::time_point fresh_until;
  };
  // A directory of which names were looked up.
  struct LookedUp {
    std::chrono::steady_clock::time_point fresh_until;  // the answer to the last look-up
    bool is_large = false;                              // its listing takes more than one request
  };
  // The names of a directory that are known, out of those that were asked for.
  struct Recalled {
    std::vector<net::RemoteEntry> entries;
    std::vector<std::string> unknown;
    std::chrono::steady_clock::time_point taken;
  };

  // A listing that is fresh and has not failed; null if there is none.
  [[nodiscard]] Listing recent(const std::string& path) const;
  // The same; `meanwhile` runs while the first page is under way, if no other thread has asked for
  // it already.
  using Meanwhile = std::function<void()>;
  Result<Listing> open(const std::string& path, const Meanwhile& meanwhile);
  Result<Listing> begin_listing(const std::string& path, const Meanwhile& meanwhile,
                                const ListingCalls::Call& call);
  [[nodiscard]] Recalled recall(const std::string& path,
                                const std::vector<std::string>& names) const;
  // Whether names that nothing knows are worth a page of the directory's listing.  Notes that they
  // are looked up.
  bool is_worth_listing(const std::string& path);
  Result<Listing> look_up(const std::string& path, Recalled recalled);
  // Counts and logs the entries of a directory that are not shown, once for each directory.
  void note_left_out(const std::string& path, const net::LeftOut& unnameable,
                     const net::LeftOut& covered);
  // Drops listings that are too old to be used: a walk through SOURCE leaves many behind.  Looks at
  // a few that come after `path`, which is being listed.
  void drop_old(const std::string& path);
  static bool drop_oldest(Listings& listings);

  static constexpr std::size_t kMaxListings = 1024;
  static constexpr std::size_t kMaxNames = 1U << 15;

  RemoteStore& store_;
  RemoteProbes& probes_;
  Log& log_;
  const ListingAge age_;
  const std::shared_ptr<Listings> listings_ = std::make_shared<Listings>();  // by path
  ListingCalls listing_calls_;
  Guarded<std::unordered_map<std::string, LookedUp>> looked_up_;  // by path
  // The directories that were listed.
  Guarded<std::unordered_set<std::string>> listed_;
  // The directories of which some entries are not shown, and which the log has named.
  Guarded<std::unordered_set<std::string>> noted_;
  Guarded<std::unordered_map<std::string, KnownName>> names_;  // by path
};

}  // namespace framefs::fs
