#pragma once

#include <memory>
#include <string>

#include "codec/core/byte_source.h"
#include "fs/core/log.h"
#include "fs/core/mount_options.h"
#include "fs/net/aws_environment.h"
#include "fs/net/credential_keeper.h"
#include "fs/net/disk_cache.h"
#include "fs/net/network_thread.h"
#include "fs/net/object_store.h"
#include "fs/net/range_scheduler.h"
#include "fs/net/request_queue.h"
#include "fs/net/server_clock.h"

namespace framefs::fs {

// The objects of a SOURCE that is a URL, with the parts that fetch them: network thread,
// credentials, scheduler, disk cache.
// Threads: any number.
class RemoteStore {
 public:
  // Starts threads, so the process must be the daemon already.
  // Errors: bad_field for an invalid URL; those of credentials and of the disk cache.
  static Result<std::unique_ptr<RemoteStore>> open(const MountOptions& options,
                                                   const net::AwsEnvironment& environment,
                                                   Log& log);
  RemoteStore(const RemoteStore&) = delete;
  RemoteStore& operator=(const RemoteStore&) = delete;
  ~RemoteStore();
  // Ends the network thread: from now on it calls nothing back, and every call fails.  No thread
  // may be waiting for a read.
  void stop();

  [[nodiscard]] net::ObjectStore& objects() { return *objects_; }
  // The bytes of an opened object.  Lifetime: the store outlives them.
  std::shared_ptr<const codec::ByteSource> bytes_of(const net::RemoteOpened& opened);
  [[nodiscard]] net::NetStats::Counts counts() const { return stats_.counts(); }

 private:
  RemoteStore(std::unique_ptr<net::NetworkThread> network, std::unique_ptr<net::DiskCache> disk,
              std::uint64_t memory_bytes);
  Status open_s3(const MountOptions& options, const net::AwsEnvironment& environment,
                 const std::string& bucket, const std::string& prefix);

  net::NetStats stats_;
  net::ServerClock clock_;
  const std::unique_ptr<net::NetworkThread> network_;
  const std::unique_ptr<net::DiskCache> disk_;
  net::RequestQueue queue_;
  net::RangeScheduler scheduler_;
  std::unique_ptr<net::CredentialKeeper> keeper_;
  std::unique_ptr<net::ObjectStore> objects_;
};

}  // namespace framefs::fs
