#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include <fuse_lowlevel.h>

#include "fs/core/resources/heap.h"
#include "fs/fuse/confine/sandbox.h"
#include "fs/fuse/confine/watchdog_access.h"
#include "fs/fuse/ops/operations.h"
#include "fs/fuse/session/inherited_mount.h"
#include "fs/fuse/session/raw_requests.h"
#include "fs/fuse/session/remote_mount.h"
#include "fs/fuse/session/request_loop.h"
#include "fs/fuse/session/session.h"
#include "fs/fuse/session/session_parts.h"
#include "fs/fuse/session/signal_listener.h"
#include "fs/remote/remote_store.h"
#include "fs/remote/remote_tree.h"

namespace framefs::fuse {
namespace {

// Many operations run concurrently, because they wait for the network rather than for a processor.
constexpr std::size_t kMaxServing = 128;
constexpr unsigned kMaxBackground = 128;

// The kernel's read-ahead.  Around a page fault, and behind a small read, the kernel requests as
// much as this, and the daemon fetches all blocks that it touches.  A sequential reader needs no
// more, because the daemon fetches ahead of it.
constexpr unsigned kKernelReadAheadBytes = 16 << 10;

void op_init(void* data, fuse_conn_info* connection) {
  auto& mount = *static_cast<RemoteMount*>(data);
  if (mount.options.immutable) open_by_node(mount, *connection);
  connection->want |= connection->capable &
                      (FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_READ | FUSE_CAP_EXPORT_SUPPORT);
  allow_parallel_lookups();
  limit_background(*connection, kMaxBackground);
  limit_request_size(*connection);
  connection->max_readahead = std::min(connection->max_readahead, kKernelReadAheadBytes);
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops table{};
  table.init = op_init;
  add_remote_node_operations(table);
  add_remote_directory_operations(table);
  add_remote_file_operations(table);
  add_remote_xattr_operations(table);
  return table;
}

// `watchdog` is null if the daemon is not confined.
std::unique_ptr<net::CredentialAccess> credential_access(const Watchdog* watchdog) {
  if (watchdog == nullptr) return std::make_unique<net::DirectAccess>();
  return std::make_unique<WatchdogAccess>(*watchdog);
}

}  // namespace

Status serve_remote_mount(const fs::MountOptions& options, const net::AwsEnvironment& environment,
                          fs::Log& log, const std::function<void()>& on_ready,
                          const LogFile* log_file) {
  fs::keep_heap_small();
  const auto watchdog = start_watchdog(options, log);
  const auto* const dog = watchdog ? &*watchdog : nullptr;
  std::function<void()> report;
  FRAMEFS_TRY(const auto signals, SignalListener::open(signal_actions(report, log_file, dog, log)));
  const bool is_confined = can_confine(options, dog, log);
  const auto access = credential_access(is_confined ? dog : nullptr);
  FRAMEFS_TRY(auto store, fs::RemoteStore::open(options, environment, *access, log));
  const auto words = mount_options_text(options, true);
  if (is_confined) {
    FRAMEFS_TRY(const auto needs, remote_sandbox_needs(store->cache_folder()));
    dog->keep_mount(words);
    // Must come before any thread starts.
    log.info(enter_sandbox(needs, *dog));
  }
  FRAMEFS_TRY(const auto tree, fs::RemoteTree::open(options, std::move(store), log));
  tree->warn_of_missing_abilities();
  RemoteMount mount{*tree, log, trust_s(options), {}, {}, options};
  mount.options.mountpoint = path_of_mount(options.mountpoint);
  report = [&] { log.info("statistics: " + mount.stats()); };
  const MountPlan plan{options, words, operations(), &mount, dog, is_confined};
  return with_mount(plan, [&](fuse_session* session) {
    mount.session = session;
    auto idle = unmount_when_idle(options, dog, log,
                                  {.requests = [&mount] { return mount.counters.requests(); },
                                   .has_written_data = [] { return false; }});
    const auto served = RequestLoop(session, signals, kMaxServing).run(on_ready);
    idle.reset();
    unmount_session(session, dog, is_confined);
    return served;
  });
}

}  // namespace framefs::fuse
