#include "fs/remote/remote_index.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

#include "fs/core/threads/guarded.h"
#include "fs/core/threads/interrupt.h"
#include "fs/net/http/timestamp.h"
#include "fs/remote/object_head.h"
#include "fs/remote/remote_directories.h"
#include "fs/source/suffixes.h"
#include "fs/tree/names/shown_stat.h"

namespace framefs::fs {
namespace {

// The number of objects that are opened together; the store limits the concurrent requests.
constexpr std::size_t kBatch = 1000;
// Folders of a server that invents them without end.
constexpr std::size_t kMaxFolders = 1U << 20;

// Objects that are being opened.
struct Opening {
  std::size_t left = 0;
  std::vector<std::optional<Result<net::RemoteOpened>>> opened;
};

// Whether an opened object is the version that the listing has.
bool is_listed_version(const net::RemoteEntry& entry, const net::RemoteOpened& opened) {
  const auto& version = opened.object->version();
  if (version.size != entry.size) return false;
  // The answer for an empty object may have neither ETag nor time.
  if (version.size == 0) return true;
  if (!entry.etag.empty() && version.is_strong()) return version.etag == entry.etag;
  return opened.mtime_ns / net::kNsPerSecond == entry.mtime_ns / net::kNsPerSecond;
}

}  // namespace

Status RemoteIndex::write() {
  FRAMEFS_TRY(const auto root, store_.objects().stat(""));
  if (!root.is_directory)
    return refusal(ENOTDIR, "an index needs a directory, and this is one object");
  FRAMEFS_CHECK(put(net::kManifestBegin));
  std::vector<std::string> folders = {""};
  for (std::size_t count = 0; !folders.empty(); ++count) {
    if (count >= kMaxFolders) return codec::fail(Errc::over_limit, "directories");
    const auto folder = std::move(folders.back());
    folders.pop_back();
    FRAMEFS_TRY(const auto listed, store_.objects().list(folder));
    const auto& entries = listed.entries;
    FRAMEFS_CHECK(write_folder(folder, entries));
    for (const auto& entry : entries | std::views::reverse) {
      if (!entry.is_directory) continue;
      auto path = net::join_path(folder, entry.name);
      // A server may show a directory inside itself.
      if (path.size() >= PATH_MAX) {
        report_(path, system_error_of(ENAMETOOLONG, "directory").error());
        continue;
      }
      folders.push_back(std::move(path));
    }
  }
  return put(net::kManifestEnd);
}

Status RemoteIndex::write_folder(const std::string& folder,
                                 const std::vector<net::RemoteEntry>& entries) {
  std::vector<net::ManifestFile> files;
  const auto flush = [&]() -> Status {
    FRAMEFS_CHECK(read_heads(files));
    for (const auto& file : files) FRAMEFS_CHECK(put_file(file));
    files.clear();
    return {};
  };
  for (const auto& entry : entries) {
    net::ManifestFile file{.path = net::join_path(folder, entry.name), .entry = entry};
    if (entry.is_directory || file.path == net::kManifestName) continue;
    if (!entry.is_exact) {
      auto exact = store_.objects().stat(file.path);
      if (!exact) {
        report_(file.path, exact.error());
        continue;
      }
      file.entry = std::move(*exact);
    }
    files.push_back(std::move(file));
    if (files.size() >= kBatch) FRAMEFS_CHECK(flush());
  }
  return flush();
}

Status RemoteIndex::read_heads(std::vector<net::ManifestFile>& files) {
  const auto opening = std::make_shared<Guarded<Opening>>();
  opening->with([&](Opening& state) { state.opened.resize(files.size()); });
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (expected_content(name_part(files[i].path)) == Expected::nothing) continue;
    opening->with([](Opening& state) { ++state.left; });
    store_.objects().start_open(files[i].path, {.range = {0, RemoteDirectories::kProbeBytes}},
                                [opening, i](Result<net::RemoteOpened> opened) {
                                  opening->with_and_wake([&](Opening& state) {
                                    state.opened[i] = std::move(opened);
                                    --state.left;
                                  });
                                });
  }
  using Opened = decltype(Opening::opened);
  auto all = opening->wait_unless(
      interrupted, [](const Opening& state) { return state.left == 0; },
      [](Opening& state) -> std::optional<Opened> {
        if (state.left > 0) return std::nullopt;
        return std::exchange(state.opened, {});
      });
  if (!all) return system_error_of(EINTR, "remote index");
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& opened = (*all)[i];
    if (!opened) continue;
    if (opened->has_value()) {
      files[i].entry = with_head(files[i], opened->value());
    } else {
      report_(files[i].path, opened->error());
    }
  }
  return {};
}

net::RemoteEntry RemoteIndex::with_head(const net::ManifestFile& file,
                                        const net::RemoteOpened& opened) {
  auto entry = file.entry;
  const auto expected = expected_content(name_part(file.path));
  const auto take = [&](const net::RemoteOpened& from) {
    const ObjectHead head(from.part.bytes, entry.size);
    static_cast<void>(summarise(head, expected, limits_));
    if (head.is_short() || !is_listed_version(entry, from)) return false;
    const auto used = head.used();
    entry.head = std::make_shared<const std::vector<std::byte>>(used.begin(), used.end());
    return true;
  };
  if (take(opened)) return entry;
  // Metalayers of a frame can be longer than a probe.
  const auto again = store_.objects().open(file.path, {.range = {0, net::kMaxManifestHeadBytes}});
  if (again) static_cast<void>(take(*again));
  return entry;
}

Status RemoteIndex::put_file(const net::ManifestFile& file) {
  const auto text = net::manifest_text(file);
  if (!text) {
    report_(file.path, text.error());
    return {};
  }
  if (!std::exchange(is_first_, false)) FRAMEFS_CHECK(put(net::kManifestComma));
  return put(*text);
}

Status RemoteIndex::put(std::string_view text) {
  put_bytes_ += text.size();
  FRAMEFS_CHECK(net::check_manifest_bytes(put_bytes_));
  return put_(text);
}

}  // namespace framefs::fs
