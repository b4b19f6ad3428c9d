#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "codec/core/byte_source.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/mount_options.h"
#include "fs/net/cache/disk_cache.h"
#include "fs/net/cache/range_scheduler.h"
#include "fs/net/credentials/aws_environment.h"
#include "fs/net/credentials/credential_access.h"
#include "fs/net/credentials/credential_keeper.h"
#include "fs/net/http/network_thread.h"
#include "fs/net/http/request_queue.h"
#include "fs/net/http/server_clock.h"
#include "fs/net/store/object_store.h"
#include "fs/remote/remote_listing.h"

namespace framefs::fs {

// The first bytes of an object, and the version that they belong to.
struct KnownHead {
  net::ObjectVersion version;
  net::Part part;
};

// The objects of a SOURCE that is a URL, with the parts that fetch them: network thread,
// credentials, scheduler, disk cache.
// Threads: any number.
class RemoteStore {
 public:
  // Reads the files that say how to reach the objects, and opens the disk cache.  Starts no thread
  // and sends no request, so that the daemon can enter its sandbox afterwards.
  // Lifetime: `access` outlives the store.
  // Errors: bad_field for an invalid URL; those of the profile and of the disk cache.
  static Result<std::unique_ptr<RemoteStore>> open(const MountOptions& options,
                                                   const net::AwsEnvironment& environment,
                                                   net::CredentialAccess& access, Log& log);
  // Starts the threads.  Must be called before all members below.  The process must be the daemon
  // already.
  void start();
  // Fetches credentials, if the store needs some; must succeed before other requests.
  // Errors: those of credentials.
  Status fetch_credentials();
  RemoteStore(const RemoteStore&) = delete;
  RemoteStore& operator=(const RemoteStore&) = delete;
  ~RemoteStore();
  // Ends the network thread: from now on it calls nothing back, and every call fails.  No thread
  // may be waiting for a read.
  void stop();

  // The folder of the disk cache; empty without one.
  [[nodiscard]] std::optional<int> cache_folder() const {
    return disk_ ? std::optional(disk_->folder()) : std::nullopt;
  }
  [[nodiscard]] net::ObjectStore& objects() { return *objects_; }
  // Servers of S3 have ranges.
  [[nodiscard]] bool may_lack_ranges() const { return keeper_ == nullptr; }
  [[nodiscard]] std::uint64_t whole_object_bytes() const { return scheduler_.whole_object_bytes(); }
  // The URL of an object for messages: without the query of SOURCE, which may hold a signature.
  [[nodiscard]] std::string name_of(const std::string& path) const;
  // Opens a frame, which needs the beginning and the end of its object.  The request fetches the
  // end if `head` is the beginning and the object still has this version.
  Result<net::RemoteOpened> open_frame(const std::string& path,
                                       const std::optional<KnownHead>& head);
  // The bytes of an opened object.  Lifetime: the store outlives them.
  std::shared_ptr<const codec::ByteSource> bytes_of(
      const net::RemoteOpened& opened, net::FetchAhead ahead = net::FetchAhead::in_stored_order);
  [[nodiscard]] net::NetStats::Counts counts() const {
    auto counts = stats_.counts();
    queue_.add_to(counts);
    return counts;
  }
  [[nodiscard]] net::NetStats& stats() { return stats_; }
  // Waits until the disk cache, if there is one, has written what it has taken.
  void flush_disk_cache() {
    if (disk_) disk_->flush();
  }
  // The memory for listings.
  [[nodiscard]] net::ListingBudget& listing_budget() { return listing_budget_; }
  [[nodiscard]] RemoteListing::Server listing_server() {
    return {*objects_, listing_budget_, has_unsorted_listings_};
  }

 private:
  RemoteStore(std::string source_name, std::unique_ptr<net::NetworkThread> network,
              std::unique_ptr<net::DiskCache> disk, const net::RangeScheduler::Options& memory,
              Log& log);
  Status open_s3(const MountOptions& options, const net::AwsEnvironment& environment,
                 net::CredentialAccess& access, const std::string& bucket,
                 const std::string& prefix);

  const std::string source_name_;  // the URL of SOURCE for messages
  net::NetStats stats_;
  net::ListingBudget listing_budget_;
  std::atomic<bool> has_unsorted_listings_ = false;
  net::ServerHealth health_;
  net::ServerClock clock_;
  const std::unique_ptr<net::NetworkThread> network_;
  const std::unique_ptr<net::DiskCache> disk_;
  net::RequestQueue queue_;
  net::RangeScheduler scheduler_;
  std::unique_ptr<net::CredentialKeeper> keeper_;  // null unless the store is of S3
  std::unique_ptr<net::ObjectStore> objects_;
};

}  // namespace framefs::fs
