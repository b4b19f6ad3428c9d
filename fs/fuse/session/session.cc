#include "fs/fuse/session/session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fuse_lowlevel.h>

#include "fs/core/resources/heap.h"
#include "fs/fuse/confine/own_namespace.h"
#include "fs/fuse/confine/sandbox.h"
#include "fs/fuse/confine/watchdog.h"
#include "fs/fuse/ops/answer.h"
#include "fs/fuse/ops/operations.h"
#include "fs/fuse/ops/passthrough.h"
#include "fs/fuse/session/inherited_mount.h"
#include "fs/fuse/session/local_manifest.h"
#include "fs/fuse/session/raw_requests.h"
#include "fs/fuse/session/request_loop.h"
#include "fs/fuse/session/session_parts.h"
#include "fs/fuse/session/signal_listener.h"
#include "fs/source/source_claim.h"
#include "fs/tree/filesystem.h"
#include "fs/tree/mount_root.h"

namespace framefs::fuse {
namespace {

constexpr unsigned kMaxBackground = 64;

// A directory's default list takes the place of the umask, which is therefore left to the daemon.
// A kernel that does not check lists would take the mask of a list for the rights of the group.
void show_access_lists(fuse_conn_info& connection, const Mount& mount) {
  constexpr unsigned kNeeded = FUSE_CAP_POSIX_ACL | FUSE_CAP_DONT_MASK;
  connection.want |= kNeeded & connection.capable;
  if ((connection.capable & kNeeded) == kNeeded) return;
  mount.log.warn("--acl: the kernel does not check access control lists of FUSE; unmounting");
  fuse_session_exit(mount.session);
}

void op_init(void* data, fuse_conn_info* connection) {
  auto& mount = *static_cast<Mount*>(data);
  if (mount.options.immutable) open_by_node(mount, *connection);
  unsigned wanted = FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_PARALLEL_DIROPS |
                    FUSE_CAP_EXPORT_SUPPORT;
  if (mount.writeback) wanted |= FUSE_CAP_WRITEBACK_CACHE;
  connection->want |= wanted & connection->capable;
  if (mount.options.acl) show_access_lists(*connection, mount);
  // With HANDLE_KILLPRIV, the kernel would not tell which callers may keep the setuid and setgid
  // bits of a file that they write.  Without ATOMIC_O_TRUNC, the kernel truncates by setattr()
  // alone.
  connection->want &= ~unsigned{FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_ATOMIC_O_TRUNC};
  // Without this flag, the kernel requests every listing with attributes, and the daemon decides
  // whether to fill them in (ops_directory).
  connection->want &= ~unsigned{FUSE_CAP_READDIRPLUS_AUTO};
  mount.passthrough.negotiate(*connection, mount.writeback);
  // The daemon does not see the marks of writes that the kernel passes through, for which the
  // sandbox leaves no right.
  const bool passes_through = mount.passthrough.is_on() && !mount.is_sandboxed;
  if (!passes_through) promise_to_clear_setid_bits();
  limit_background(*connection, kMaxBackground);
  limit_request_size(*connection);
}

fuse_lowlevel_ops operations(const fs::MountOptions& options) {
  fuse_lowlevel_ops table{};
  table.init = op_init;
  add_node_operations(table);
  add_file_operations(table);
  add_directory_operations(table);
  add_xattr_operations(table);
  // The kernel sends what it has no answer for, such as FLUSH and FSYNC, once.
  if (options.immutable) return table;
  add_write_operations(table);
  add_name_operations(table);
  return table;
}

bool lies_below(const std::filesystem::path& path, const std::filesystem::path& root) {
  const auto [end, unused] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return end == root.end() && path != root;
}

// With writeback, the kernel may have newer bytes than the daemon.
void start_page_pusher(Mount& mount) {
  if (mount.writeback) return;
  auto* const session = mount.session;
  // An error is harmless: the kernel has forgotten the file meanwhile, or has no memory to spare.
  const auto store = [session](fs::NodeId node, std::uint64_t offset,
                               std::span<const std::byte> bytes) {
    fuse_bufvec pages{};
    pages.count = 1;
    pages.buf[0].size = bytes.size();
    // libfuse only reads the bytes.
    pages.buf[0].mem = const_cast<std::byte*>(bytes.data());
    fuse_lowlevel_notify_store(session, node, static_cast<off_t>(offset), &pages,
                               FUSE_BUF_NO_SPLICE);
  };
  const auto drop = [session](fs::NodeId node, std::uint64_t offset, std::uint64_t size) {
    fuse_lowlevel_notify_inval_inode(session, node, static_cast<off_t>(offset),
                                     static_cast<off_t>(size));
  };
  mount.filesystem.pages().start({.store = store, .drop = drop});
}

// Pages become wrong only by writes through the mount.
void start_dropping_pages(Mount& mount) {
  auto* const session = mount.session;
  mount.stale_pages.start([session](fs::NodeId node, StalePages::Range range) {
    // The size 0 means the end of the file.
    const auto size = range.end == StalePages::Range::kEndOfFile ? 0 : range.end - range.begin;
    // An error is harmless: the kernel has forgotten the file meanwhile.
    fuse_lowlevel_notify_inval_inode(session, node, static_cast<off_t>(range.begin),
                                     static_cast<off_t>(size));
  });
}

// Serves inside the sandbox; `watchdog` then unmounts. `needs` is empty if there is no sandbox.
Status serve(Mount& mount, const fs::MountOptions& options,
             const std::optional<SandboxNeeds>& needs, const Watchdog* watchdog,
             const SignalListener& signals, const std::function<void()>& on_ready) {
  auto* const session = mount.session;
  // Must come before any thread starts.
  if (needs) mount.log.info(enter_sandbox(*needs, *watchdog));
  std::jthread announcer;
  if (options.immutable) {
    mount.filesystem.know(
        read_local_manifest(mount.filesystem.source(), options.limits, mount.log));
  }
  if (!mount.filesystem.is_read_only()) start_dropping_pages(mount);
  start_page_pusher(mount);
  auto idle = unmount_when_idle(
      options, watchdog, mount.log,
      {.requests = [&mount] { return mount.counters.requests(); },
       .has_written_data = [&mount] { return mount.filesystem.has_write_sessions(); }});
  RequestLoop loop(session, signals);
  const auto served = loop.run(
      [&] { announcer = start_announcer(options, watchdog, mount.readahead, mount.log, on_ready); },
      [&mount] {
        mount.stale_pages.stop();
        mount.filesystem.pages().stop();
      });
  idle.reset();
  unmount_session(session, watchdog, needs.has_value());
  return served;
}

constexpr const char* kNoDirectory = "SOURCE is one file; --export needs a directory";

Result<fs::UniqueFd> open_root(const std::filesystem::path& source) {
  fs::UniqueFd root(::open(source.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fs::system_error("SOURCE cannot be opened");
  return root;
}

// The handles of SOURCE's files, which the watchdog opens; empty without --export.
Result<std::optional<fs::SourceHandles>> source_handles(const fs::MountOptions& options,
                                                        const Result<Watchdog>& watchdog) {
  if (!options.export_handles) return std::nullopt;
  if (!watchdog) return std::unexpected(watchdog.error());
  FRAMEFS_TRY(const auto root, open_root(options.source));
  FRAMEFS_TRY(const auto format, fs::HandleFormat::of(root.get()));
  FRAMEFS_CHECK(watchdog->keep_source(root.get(), options.read_only));
  FRAMEFS_TRY(const auto st, fs::stat_of(root.get()));
  return fs::SourceHandles(
      format, st.st_dev,
      [&dog = *watchdog](std::uint64_t inode, std::optional<std::uint32_t> generation, int flags) {
        return dog.open_by_handle(inode, generation, flags);
      });
}

// Leaves the system's mounts, if this process may.  The watchdog stays, and keeps SOURCE: the
// filesystem of SOURCE is busy as long as it is used.  `claim` holds directories of the system's
// mounts, which the watchdog gets.
Result<Surroundings> leave_mounts(const fs::MountOptions& options, bool read_only,
                                  std::optional<fs::SourceClaim>& claim, const Watchdog& watchdog) {
  if (::geteuid() != 0) return Surroundings{options.source, {}};
  const fs::UniqueFd original(::open(options.source.c_str(), O_PATH | O_CLOEXEC));
  auto own = OwnNamespace::enter(options.source, read_only, [&] {
    watchdog.hold(original);
    if (!claim) return;
    for (const auto& directory : claim->directories()) watchdog.hold(directory);
    claim.reset();
  });
  if (own) return Surroundings{own->source(), Status{}};
  if (own.error().sys == ENOTRECOVERABLE) return std::unexpected(own.error());
  return Surroundings{options.source, std::unexpected(own.error())};
}

Result<bool> is_read_only(const fs::MountOptions& options) {
  FRAMEFS_TRY(const auto root, fs::find_mount_root(options));
  return fs::why_read_only(options, root) != nullptr;
}

Result<std::optional<fs::SourceClaim>> claim_source(const fs::MountOptions& options,
                                                    bool read_only) {
  if (read_only) return std::nullopt;
  return fs::SourceClaim::take(options.source, options.writeback);
}

}  // namespace

Result<std::filesystem::path> usable_mountpoint(const std::filesystem::path& path) {
  struct stat at{};
  if (::stat(path.c_str(), &at) != 0) {
    if (errno == ENOTCONN) {
      return fs::refusal(
          ENOTCONN, "MOUNTPOINT holds a mount whose daemon is gone; --replace-stale removes it");
    }
    return fs::system_error("MOUNTPOINT cannot be used");
  }
  std::error_code error;
  auto canonical = std::filesystem::canonical(path, error);
  if (error) return fs::system_error_of(error.value(), "MOUNTPOINT cannot be used");
  return canonical;
}

LibfuseSupport libfuse_support() {
  return {.version = ::fuse_pkgversion(), .passthrough = Passthrough::is_built_in()};
}

Result<const char*> check_mount(const fs::MountOptions& options) {
  // Compared as text, because a path in the mount cannot be accessed before the daemon serves.
  const bool is_inherited = inherited_descriptor(options.mountpoint).has_value();
  auto mountpoint = path_of_mount(options.mountpoint);
  const auto given = options.source.lexically_normal();
  if (is_inherited && (given == mountpoint || lies_below(given, mountpoint))) {
    return fs::refusal(ELOOP, "SOURCE lies in the mount");
  }
  std::error_code error;
  const auto source = std::filesystem::canonical(options.source, error);
  if (error) return fs::system_error_of(error.value(), "SOURCE cannot be opened");
  if (!is_inherited) {
    FRAMEFS_TRY(mountpoint, usable_mountpoint(mountpoint));
  }
  if (lies_below(mountpoint, source)) {
    return fs::refusal(ELOOP, "MOUNTPOINT lies inside SOURCE");
  }
  if (mountpoint == source && options.onto_file) {
    return fs::refusal(ELOOP, "MOUNTPOINT is SOURCE itself");
  }
  FRAMEFS_TRY(const auto root, fs::find_mount_root(options));
  if (options.acl && root.shown_as != fs::ShownAs::itself) {
    return fs::refusal(EINVAL, "SOURCE must be a directory for --acl");
  }
  if (options.export_handles) {
    if (root.shown_as != fs::ShownAs::itself) return fs::refusal(ENOTDIR, kNoDirectory);
    FRAMEFS_TRY(const auto directory, open_root(options.source));
    FRAMEFS_TRY([[maybe_unused]] const auto format, fs::HandleFormat::of(directory.get()));
  }
  return fs::why_read_only(options, root);
}

Result<fs::Losses> serve_mount(const fs::MountOptions& options, fs::Log& log,
                               const std::function<void()>& on_ready, const LogFile* log_file) {
  fs::keep_heap_small();
  const auto watchdog = start_watchdog(options, log);
  const auto* const dog = watchdog ? &*watchdog : nullptr;
  std::function<void()> report;
  FRAMEFS_TRY(const auto signals, SignalListener::open(signal_actions(report, log_file, dog, log)));
  const bool is_confined = can_confine(options, dog, log);
  const auto shown_mountpoint = path_of_mount(options.mountpoint);
  FRAMEFS_TRY(const bool read_only, is_read_only(options));
  FRAMEFS_TRY(auto claim, claim_source(options, read_only));
  Surroundings surroundings{options.source, {}};
  if (is_confined) {
    FRAMEFS_TRY(surroundings, leave_mounts(options, read_only, claim, *dog));
  }
  auto inside = options;
  inside.source = surroundings.source;
  FRAMEFS_TRY(auto handles, source_handles(inside, watchdog));
  FRAMEFS_TRY(const auto filesystem,
              fs::Filesystem::open(inside, log, nullptr, std::move(handles)));
  std::optional<SandboxNeeds> needs;
  if (is_confined) {
    FRAMEFS_TRY(needs, sandbox_needs(surroundings, filesystem->is_read_only(), options.devices));
  }
  Mount mount{*filesystem,
              log,
              options.writeback,
              trust_s(options),
              fs::DescriptorShares(options.allow_other),
              {},
              {},
              {},
              {}};
  mount.options = options;
  mount.options.mountpoint = shown_mountpoint;
  // The kernel has already applied the caller's umask.
  ::umask(0);
  report = [&] { log.info("statistics: " + mount.stats()); };
  const MountPlan plan{.options = options,
                       .words = mount_options_text(options, filesystem->is_read_only()),
                       .operations = operations(options),
                       .user_data = &mount,
                       .watchdog = dog,
                       .is_apart = surroundings.is_apart()};
  if (plan.is_apart) dog->keep_mount(plan.words);
  FRAMEFS_CHECK(with_mount(plan, [&](fuse_session* session) {
    mount.session = session;
    mount.is_sandboxed = needs.has_value();
    return serve(mount, options, needs, dog, signals, on_ready);
  }));
  return filesystem->finish();
}

}  // namespace framefs::fuse
