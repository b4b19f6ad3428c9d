#include "fs/remote/remote_root.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/threads/interrupt.h"
#include "fs/net/http/retry_rules.h"
#include "fs/tree/names/shown_names.h"
#include "fs/tree/names/shown_stat.h"

namespace framefs::fs {
namespace {

// The last segment of SOURCE's URL.
std::string last_name(const std::string& source) {
  auto path = source.substr(0, source.find('?'));
  while (path.ends_with('/')) path.pop_back();
  return name_part(path);
}

// Whether a server that does not answer may do so later.
bool may_pass(const Error& error) {
  return error.kind == codec::Errc::system && (error.sys == EIO || net::is_unreachable(error));
}

Result<RemoteRoot> root_at_once(const MountOptions& options, RemoteStore& store, Log& log) {
  FRAMEFS_TRY(auto at, store.objects().stat(""));
  SourceEntry entry;
  entry.stat = RemoteDirectories::stat_of("", at);
  RemoteRoot root{.key = {entry.stat.st_dev, entry.stat.st_ino, ShownAs::itself, {}},
                  .single_name = {}};
  if (!at.is_directory) {
    root.single_name = last_name(options.source.string());
    const auto expected = expected_content(root.single_name);
    root.expected = expected == Expected::nothing ? Expected::array : expected;
    RemoteDirectories directories(store, options, log);
    FRAMEFS_TRY(auto listing, directories.listings().list_single(root.single_name));
    FRAMEFS_TRY(entry, directories.probe(*listing, root.single_name, "", root.expected));
    const auto names = full_names(root.single_name, entry.summary, options.arrays);
    const auto shown_as = names.empty() ? ShownAs::itself : names.front().shown_as;
    const bool is_one_file = options.onto_file || shown_as == ShownAs::container;
    root.key.shown_as = is_one_file ? shown_as : ShownAs::single_entry;
  }
  const auto shown_as = root.key.shown_as;
  const bool is_directory =
      at.is_directory || shown_as == ShownAs::single_entry || shown_as == ShownAs::container;
  if (options.onto_file && is_directory) {
    return refusal(ENOTDIR, "MOUNTPOINT must be a directory, as SOURCE is one");
  }
  return root;
}

}  // namespace

Result<RemoteRoot> find_remote_root(const MountOptions& options, RemoteStore& store, Log& log) {
  using ServerClock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPause{1};
  const auto end =
      ServerClock::now() + std::chrono::milliseconds(options.remote.wait_for_server_ms);
  bool has_credentials = false;
  bool is_logged = false;
  const auto attempt = [&]() -> Result<RemoteRoot> {
    if (!has_credentials) FRAMEFS_CHECK(store.fetch_credentials());
    has_credentials = true;
    return root_at_once(options, store, log);
  };
  for (;;) {
    auto root = attempt();
    if (root || !may_pass(root.error()) || ServerClock::now() >= end) return root;
    if (!std::exchange(is_logged, true)) {
      log.warn(fmt::format("{}: waiting for the server for up to {} s: {}", store.name_of(""),
                           options.remote.wait_for_server_ms / 1000, describe(root.error())));
    }
    std::this_thread::sleep_for(std::min<ServerClock::duration>(kPause, end - ServerClock::now()));
  }
}

void warn_of_missing_abilities(const RemoteRoot& root, RemoteStore& store,
                               RemoteDirectories& directories, Log& log) {
  if (!store.may_lack_ranges()) return;
  // The server may answer for some paths only, and the mount shows the others meanwhile.
  constexpr std::chrono::seconds kMaxWait{5};
  const auto end = std::chrono::steady_clock::now() + kMaxWait;
  const InterruptScope scope([end] { return std::chrono::steady_clock::now() >= end; });
  std::string path;
  if (root.key.shown_as == ShownAs::itself && !root.is_single()) {
    const auto listing = directories.listings().open("");
    if (!listing) {
      log.failure(store.name_of(""), listing.error());
      return;
    }
    for (const auto& page : (*listing)->pages()) {
      for (std::size_t i = 0; i < page->table.size() && path.empty(); ++i) {
        const auto entry = page->table.entry(i);
        if (!entry.is_directory && (entry.size > 1 || !entry.is_exact)) path = entry.name;
      }
    }
    if (path.empty()) return;
  }
  const auto opened = store.objects().open(path, {.range = {0, 1}});
  if (!opened || !opened->object->is_whole_only() || opened->object->version().size <= 1) return;
  const auto most = std::max(store.whole_object_bytes(), net::kHeadBytes);
  log.warn(
      fmt::format("{}: the server does not support ranges: files up to {} KiB are fetched "
                  "whole, and larger ones cannot be read (--whole-objects)",
                  store.name_of(""), most / 1024));
}

}  // namespace framefs::fs
