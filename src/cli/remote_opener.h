#pragma once

#include <memory>
#include <string>

#include "fs/core/diagnostics/log.h"
#include "fs/core/mount_options.h"
#include "fs/net/credentials/aws_environment.h"
#include "fs/net/credentials/credential_access.h"
#include "fs/remote/remote_store.h"
#include "fs/remote/remote_tree.h"

namespace framefs {

// Opens SOURCEs that are URLs for a command, without a mount.
// Lifetime: it outlives all that it opens.
class RemoteOpener {
 public:
  // Takes the environment of the process, as AwsEnvironment::take() does.
  // Threads: only while the process has a single thread.
  explicit RemoteOpener(fs::RemoteOptions options)
      : options_(std::move(options)), environment_(net::AwsEnvironment::take()) {}
  RemoteOpener(const RemoteOpener&) = delete;
  RemoteOpener& operator=(const RemoteOpener&) = delete;

  // The objects of a URL; the store has started.
  // Errors: those of RemoteStore.
  codec::Result<std::unique_ptr<fs::RemoteStore>> store(const std::string& url, fs::Log& log);
  // The tree that a mount of `options.source` with these options would show.
  // Errors: those of RemoteTree::open().
  codec::Result<std::unique_ptr<fs::RemoteTree>> tree(fs::MountOptions options, fs::Log& log);

 private:
  codec::Result<std::unique_ptr<fs::RemoteStore>> stopped_store(const fs::MountOptions& options,
                                                                fs::Log& log);

  const fs::RemoteOptions options_;
  const net::AwsEnvironment environment_;
  net::DirectAccess access_;
};

}  // namespace framefs
