#include "fs/tree/content/lock_files.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "fs/core/threads/may_wait.h"
#include "fs/tree/names/shown_stat.h"

namespace framefs::fs {
namespace {

// How long a reader waits for a program that changes the frame.
constexpr std::chrono::milliseconds kLockPatience{15'000};
// How long readers do not wait after such a wait in vain.
constexpr std::chrono::milliseconds kAfterWait{1'000};

using Clock = LockFileMemo::Clock;

// Only frames and containers have lock files.
bool may_have_lock_file(const Node& node) {
  return node.key.has_view() || node.key.shown_as == ShownAs::container;
}

// Forgets what is known of a node's content: another program has changed it, perhaps within the
// granularity of the file's times.
void drop_content(Node& node, std::uint64_t counter) {
  const auto dropped = node.state.with([&](Node::State& state) -> ShownContent::Dropped {
    if (!state.lock_file.note_counter(counter)) return nullptr;
    state.pages.forget();
    return state.content.forget();
  });
}

}  // namespace

// Opens the lock file of the frame `key` at a path in SOURCE.
Blosc2Lock::Opened LockFiles::open(const std::string& frame, const NodeKey& key, bool is_sparse,
                                   int flags) const {
  if (frame.empty()) {
    return {{}, system_error_of(ENOENT, "lock file of a frame without a known name")};
  }
  const auto path = lock_file_of(frame, is_sparse);
  if ((flags & O_CREAT) != 0) return {path, create(path, frame, key, flags)};
  return {path, locator_.root().open(path, flags)};
}

// The same; creates the lock file if there is none.
Result<UniqueFd> LockFiles::create(const std::string& path, const std::string& frame,
                                   const NodeKey& key, int flags) const {
  const auto& root = locator_.root();
  const auto directory = directory_part(path);
  FRAMEFS_TRY(const auto in, root.open(directory.empty() ? "." : directory, O_PATH | O_DIRECTORY));
  FRAMEFS_TRY(const auto file, root.open(frame, O_PATH | O_NOFOLLOW));
  FRAMEFS_TRY(const auto st, stat_of(file.get()));
  if (!names_source(key, st)) return system_error_of(ENOENT, "lock file of another frame");
  return open_lock_file(in.get(), name_part(path), flags, st);
}

// Opens the lock file of a node's frame.  Few frames have one, and a known directory tells without
// a lookup that it has no such name.
Blosc2Lock::Opened LockFiles::open_of(const Node& node, bool is_sparse, int flags) const {
  const auto& nodes = locator_.nodes();
  const auto [path, held, names_changed_at] = nodes.whereabouts(node);
  if (held) return {{}, system_error_of(ENOENT, "lock file of a frame without a name")};
  if ((flags & O_CREAT) == 0 && !is_sparse && !node.key.is_member() && node.id != kRootNode) {
    const auto [directory, name] = nodes.place_of(node);
    if (directory && directory_names_.is_absent(file_key(*directory), lock_file_of(name))) {
      return {lock_file_of(path, is_sparse), system_error_of(ENOENT, "open")};
    }
  }
  return open(path, node.key, is_sparse, flags);
}

Blosc2Lock LockFiles::of(const Node& node, bool is_sparse) const {
  const auto& nodes = locator_.nodes();
  return Blosc2Lock(
      [this, known = nodes.find(node.key), path = nodes.path_of(node), key = node.key,
       is_sparse](int flags) {
        return known ? open_of(*known, is_sparse, flags) : open(path, key, is_sparse, flags);
      },
      use_.creates);
}

Blosc2Lock LockFiles::in(int directory, const std::string& name, const struct stat& frame) const {
  return Blosc2Lock(
      [directory, name, frame](int flags) {
        return Blosc2Lock::Opened{name, open_lock_file(directory, name, flags, frame)};
      },
      use_.creates);
}

Result<Blosc2Lock> LockFiles::share(Node& node, const BackingFile& source, bool always) const {
  if (!use_.shares || !may_have_lock_file(node)) return Blosc2Lock();
  auto shared = try_share(node, source, always);
  if (!shared && !has_refused_to_wait()) locator_.log_failure(node, shared.error());
  return shared;
}

Result<Blosc2Lock> LockFiles::try_share(Node& node, const BackingFile& source, bool always) const {
  ContentId content;
  const bool is_needed = node.state.with([&](const Node::State& state) {
    content = state.content.id();
    return state.lock_file.exists() || !state.lock_file.is_of(content) || always;
  });
  if (!is_needed) return Blosc2Lock();
  const auto owns_frame = [&] {
    const auto session = sessions_.find(file_key(node));
    return session && session->is_owned();
  };
  if (owns_frame()) return Blosc2Lock();
  Blosc2Lock lock([&](int flags) { return open_of(node, source.is_sparse(), flags); });
  bool is_owner = false;
  const auto is_over = [&] { return is_owner = owns_frame(); };
  // The kernel repeats a read that failed, page by page.
  const bool is_busy = node.state.with(
      [](const Node::State& state) { return state.lock_file.is_busy(Clock::now()); });
  const bool waits = may_wait() && !is_busy;
  const auto shared = lock.share(waits ? kLockPatience : std::chrono::milliseconds(0), is_over);
  if (!shared && shared.error().sys == EBUSY) {
    if (!may_wait() && !is_busy) return std::unexpected(would_wait().error());
    if (waits) {
      node.state.with(
          [](Node::State& state) { state.lock_file.note_busy(Clock::now() + kAfterWait); });
    }
  }
  FRAMEFS_CHECK(shared);
  node.state.with(
      [&](Node::State& state) { state.lock_file.note(content, lock.is_held() || is_owner); });
  if (!lock.is_held()) return lock;
  drop_content(node, lock.counter().value);
  if (node.key.is_member()) {
    const auto host = locator_.nodes().container_of(node);
    if (host) drop_content(*host, lock.counter().value);
  }
  if (const auto session = sessions_.find(file_key(node))) session->note_counter(lock.counter());
  return lock;
}

bool LockFiles::is_due(const Node& node) {
  if (!may_have_lock_file(node)) return false;
  return node.state.with(
      [](const Node::State& state) { return !state.lock_file.is_of(state.content.id()); });
}

}  // namespace framefs::fs
