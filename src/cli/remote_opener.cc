#include "src/cli/remote_opener.h"

#include <utility>

namespace framefs {

codec::Result<std::unique_ptr<fs::RemoteStore>> RemoteOpener::stopped_store(
    const fs::MountOptions& options, fs::Log& log) {
  return fs::RemoteStore::open(options, environment_, access_, log);
}

codec::Result<std::unique_ptr<fs::RemoteStore>> RemoteOpener::store(const std::string& url,
                                                                    fs::Log& log) {
  fs::MountOptions options;
  options.source = url;
  options.remote = options_;
  FRAMEFS_TRY(auto opened, stopped_store(options, log));
  opened->start();
  FRAMEFS_CHECK(opened->fetch_credentials());
  return opened;
}

codec::Result<std::unique_ptr<fs::RemoteTree>> RemoteOpener::tree(fs::MountOptions options,
                                                                  fs::Log& log) {
  options.read_only = true;
  options.remote = options_;
  FRAMEFS_TRY(auto opened, stopped_store(options, log));
  return fs::RemoteTree::open(options, std::move(opened), log);
}

}  // namespace framefs
