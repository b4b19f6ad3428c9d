#include "fs/remote/remote_directories.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>
#include <vector>

#include "fs/core/interrupt.h"
#include "fs/remote/object_head.h"
#include "fs/source/chunk_files.h"
#include "fs/source/suffixes.h"
#include "fs/tree/shown_stat.h"

namespace framefs::fs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
// No file of a local filesystem has such a number; see also ContainerFolder.
constexpr std::uint64_t kRemoteInode = std::uint64_t{1} << 60;
constexpr std::chrono::milliseconds kInterruptPoll{50};

timespec time_of(std::int64_t ns) {
  return {.tv_sec = ns / kNsPerSecond, .tv_nsec = ns % kNsPerSecond};
}

// Whether two states of the entry differ in the listing.
bool has_version(const net::RemoteEntry& entry) { return !entry.is_directory && entry.is_exact; }

// Whether the server has answered: there is no such object, or no right to read it.  Such an entry
// is shown as itself.
bool is_answer(const Error& error) { return error.sys == ENOENT || error.sys == EACCES; }

bool may_be_sparse(Expected expected) {
  return expected == Expected::frame || expected == Expected::array;
}

}  // namespace

// Probes that are under way together.
struct RemoteDirectories::Probing {
  struct Short {  // the head did not suffice
    std::string name;
    std::string path;
    Expected expected = Expected::nothing;
    net::RemoteOpened opened;
  };
  struct Found {
    std::string name;
    RemoteProbe probe;
  };
  struct State {
    std::size_t left = 0;
    std::optional<Error> error;  // the first
    std::vector<Short> shorts;
    std::vector<Found> unversioned;
  };
  Guarded<State> state;
};

net::RemoteEntry entry_of(const net::RemoteOpened& opened) {
  net::RemoteEntry entry;
  entry.size = opened.object->version().size;
  entry.mtime_ns = opened.mtime_ns;
  return entry;
}

struct stat RemoteDirectories::stat_of(const std::string& path, const net::RemoteEntry& entry) {
  struct stat st{};
  const auto name = entry.is_directory ? path + "/" : path;
  st.st_ino = (net::content_key(name).low & (kRemoteInode - 1)) | kRemoteInode;
  st.st_mode = entry.is_directory ? S_IFDIR | 0555U : S_IFREG | 0444U;
  st.st_nlink = 1;
  st.st_uid = ::geteuid();
  st.st_gid = ::getegid();
  st.st_size = static_cast<off_t>(entry.size);
  st.st_blocks = static_cast<blkcnt_t>((entry.size + 511) / 512);
  st.st_mtim = st.st_ctim = st.st_atim = time_of(entry.mtime_ns);
  return st;
}

Result<RemoteDirectories::Listing> RemoteDirectories::list(const std::string& path) {
  const auto oldest = Clock::now() - kListingAge;
  auto recent = listings_.with([&](const auto& listings) -> Listing {
    const auto found = listings.find(path);
    return found != listings.end() && found->second->taken >= oldest ? found->second : nullptr;
  });
  if (recent) return recent;
  auto listing = std::make_shared<RemoteListing>();
  listing->taken = Clock::now();
  FRAMEFS_TRY(auto entries, store_.objects().list(path));
  for (auto& entry : entries) {
    auto name = entry.name;
    if (entry.head) learn(net::join_path(path, name), entry);
    entry.head = nullptr;
    listing->entries.emplace(std::move(name), std::move(entry));
  }
  listings_.with([&](auto& listings) {
    if (listings.size() >= kMaxListings) {
      std::erase_if(listings, [&](const auto& known) { return known.second->taken < oldest; });
    }
    if (listings.size() < kMaxListings) listings[path] = listing;
  });
  return listing;
}

void RemoteDirectories::forget(const std::string& path) {
  listings_.with([&](auto& listings) { listings.erase(path); });
}

Result<RemoteDirectories::Listing> RemoteDirectories::list_single(const std::string& name) {
  FRAMEFS_TRY(auto entry, store_.objects().stat(""));
  if (entry.is_directory) return system_error_of(ENOENT, "remote object");
  auto listing = std::make_shared<RemoteListing>();
  listing->taken = Clock::now();
  entry.name = name;
  listing->entries.emplace(name, std::move(entry));
  return listing;
}

net::ContentKey RemoteDirectories::key_of(const std::string& path, const net::RemoteEntry& entry,
                                          Expected expected) {
  std::string text = path;
  text.append(1, '\0').append(entry.etag).append(1, '\0').append(std::to_string(entry.size));
  // Equal ETags imply equal bytes, even if the object was copied since.
  const auto mtime_ns = entry.etag.empty() ? entry.mtime_ns : 0;
  text.append(1, '\0').append(std::to_string(mtime_ns)).append(1, '\0');
  text.append(1, static_cast<char>(expected));
  return net::content_key(text);
}

std::optional<RemoteProbe> RemoteDirectories::recall(const net::ContentKey& key) const {
  return probes_.with([&](const auto& probes) -> std::optional<RemoteProbe> {
    const auto found = probes.find(key);
    if (found == probes.end()) return std::nullopt;
    return found->second;
  });
}

void RemoteDirectories::remember(const net::ContentKey& key, const RemoteProbe& probe) {
  const bool is_full = probes_.with([&](auto& probes) {
    const bool at_maximum = probes.size() >= kMaxProbes;
    if (at_maximum) probes.clear();
    probes.insert_or_assign(key, probe);
    return at_maximum;
  });
  if (is_full) manifest_.forget();
}

void RemoteDirectories::remember_head(const std::string& path, const FrameSummary& summary,
                                      const net::RemoteOpened& opened) {
  const bool is_frame = summary.content == Content::frame || summary.content == Content::array;
  const auto& version = opened.object->version();
  // The open of a short frame fetches all of it.
  if (!is_frame || !version.is_strong() || version.size <= net::kHeadBytes) return;
  heads_.with([&](auto& heads) {
    if (heads.size() >= kMaxHeads) heads.clear();
    heads.insert_or_assign(path, KnownHead{version, opened.part});
  });
}

std::optional<KnownHead> RemoteDirectories::head(const std::string& path) const {
  return heads_.with([&](const auto& heads) -> std::optional<KnownHead> {
    const auto found = heads.find(path);
    if (found == heads.end()) return std::nullopt;
    return found->second;
  });
}

void RemoteDirectories::learn(const std::string& path, const net::RemoteEntry& entry) {
  const auto expected = expected_content(name_part(path));
  if (expected == Expected::nothing || !has_version(entry)) return;
  const ObjectHead head(entry.head, entry.size);
  RemoteProbe probe;
  probe.summary = summarise(head, expected, limits_);
  if (head.is_short()) return;
  // The index of a sparse frame is a part of it, not a frame by itself.
  if (probe.summary.is_sparse) probe.summary = {};
  const auto key = key_of(path, entry, expected);
  probes_.with([&](auto& probes) {
    if (probes.size() < kMaxProbes) probes.insert_or_assign(key, probe);
  });
}

void RemoteDirectories::learn_from_manifest() {
  const auto known = listings_.with([](const auto& listings) -> Listing {
    const auto found = listings.find("");
    return found == listings.end() ? nullptr : found->second;
  });
  const auto root = known ? Result<Listing>(known) : list("");
  if (!root) return;
  const auto found = (*root)->entries.find(net::kManifestName);
  if (found == (*root)->entries.end() || !has_version(found->second)) return;
  manifest_.load(found->second,
                 [this](const net::ManifestFile& file) { learn(file.path, file.entry); });
}

bool RemoteDirectories::may_be_special(const net::RemoteEntry& entry, Expected expected) {
  return entry.is_directory ? may_be_sparse(expected) : expected != Expected::nothing;
}

std::optional<RemoteProbe> RemoteDirectories::known(RemoteListing& listing, const std::string& name,
                                                    const std::string& path, Expected expected) {
  const auto& entry = listing.entries.at(name);
  if (has_version(entry)) return recall(key_of(path, entry, expected));
  return listing.unversioned.with([&](const auto& probes) -> std::optional<RemoteProbe> {
    const auto found = probes.find(name);
    if (found == probes.end()) return std::nullopt;
    return found->second;
  });
}

void RemoteDirectories::start_probe(const std::shared_ptr<Probing>& probing, RemoteListing& listing,
                                    const std::string& name, const std::string& path,
                                    Expected expected) {
  const auto& entry = listing.entries.at(name);
  const auto is_directory = entry.is_directory;
  const bool is_kept = has_version(entry);
  const auto key = key_of(path, entry, expected);
  const auto object = is_directory ? path + "/" + std::string(kSparseIndexName) : path;
  probing->state.with([](Probing::State& state) { ++state.left; });
  const auto take = [this, probing, name, path, object, expected, is_directory, is_kept,
                     key](Result<net::RemoteOpened> opened) {
    std::optional<RemoteProbe> probe;
    std::optional<Probing::Short> rest;
    if (opened) {
      const ObjectHead head(opened->part.bytes, opened->object->version().size);
      probe.emplace();
      probe->summary = summarise(head, expected, limits_);
      if (head.is_short()) {
        probe.reset();
        rest = Probing::Short{name, path, expected, std::move(*opened)};
      } else if (is_directory) {
        if (probe->summary.is_sparse) {
          probe->index_stat = stat_of(object, entry_of(*opened));
        } else {
          probe->summary = {};
        }
      } else if (probe->summary.is_sparse) {
        // The index of a sparse frame is a part of it, not a frame by itself.
        probe->summary = {};
      } else {
        remember_head(path, probe->summary, *opened);
      }
    } else if (is_answer(opened.error())) {
      probe.emplace();
    }
    if (probe && is_kept) remember(key, *probe);
    probing->state.with_and_wake([&](Probing::State& state) {
      --state.left;
      if (!opened && !probe && !state.error) state.error = opened.error();
      if (rest) state.shorts.push_back(std::move(*rest));
      if (probe && !is_kept) state.unversioned.push_back({name, *probe});
    });
  };
  store_.objects().start_open(object, {.range = {0, kProbeBytes}}, take);
}

Status RemoteDirectories::wait_for(Probing& probing, RemoteListing& listing) {
  bool is_done = false;
  while (!is_done && !interrupted()) {
    is_done = probing.state.wait_until(
        Clock::now() + kInterruptPoll, [](const Probing::State& state) { return state.left == 0; },
        [](const Probing::State& state) { return state.left == 0; });
  }
  if (!is_done) return system_error_of(EINTR, "remote probe");
  auto [shorts, unversioned, error] = probing.state.with([](Probing::State& state) {
    return std::tuple{std::exchange(state.shorts, {}), std::exchange(state.unversioned, {}),
                      state.error};
  });
  listing.unversioned.with([&](auto& known) {
    for (auto& found : unversioned) known.insert_or_assign(found.name, std::move(found.probe));
  });
  // Large metalayers are rare, so the probes that need them run one by one.
  for (const auto& rest : shorts) {
    RemoteProbe probe;
    probe.summary = summarise(*store_.bytes_of(rest.opened), rest.expected, limits_);
    const auto& entry = listing.entries.at(rest.name);
    if (entry.is_directory && probe.summary.is_sparse) {
      const auto index = net::join_path(rest.path, std::string(kSparseIndexName));
      probe.index_stat = stat_of(index, entry_of(rest.opened));
    } else if (entry.is_directory || probe.summary.is_sparse) {
      probe.summary = {};
    }
    if (has_version(entry)) {
      remember(key_of(rest.path, entry, rest.expected), probe);
    } else {
      listing.unversioned.with([&](auto& known) { known.insert_or_assign(rest.name, probe); });
    }
  }
  if (error) return std::unexpected(*error);
  return {};
}

std::vector<std::string> RemoteDirectories::unknown(RemoteListing& listing,
                                                    const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : listing.entries) {
    const auto expected = expected_content(name);
    const bool is_wanted = may_be_special(entry, expected);
    if (is_wanted && !known(listing, name, net::join_path(directory, name), expected)) {
      names.push_back(name);
    }
  }
  return names;
}

Status RemoteDirectories::prepare(RemoteListing& listing, const std::string& directory) {
  auto names = unknown(listing, directory);
  if (names.size() >= kMinForManifest) {
    learn_from_manifest();
    names = unknown(listing, directory);
  }
  const auto probing = std::make_shared<Probing>();
  for (const auto& name : names) {
    start_probe(probing, listing, name, net::join_path(directory, name), expected_content(name));
  }
  return wait_for(*probing, listing);
}

Result<SourceEntry> RemoteDirectories::probe(RemoteListing& listing, const std::string& name,
                                             const std::string& path, Expected expected) {
  const auto found = listing.entries.find(name);
  if (found == listing.entries.end()) return system_error_of(ENOENT, "lookup");
  auto entry = found->second;
  if (!entry.is_exact) {
    FRAMEFS_TRY(entry, store_.objects().stat(path));
  }
  SourceEntry probed;
  probed.stat = stat_of(path, entry);
  if (!may_be_special(entry, expected)) return probed;
  auto probe = known(listing, name, path, expected);
  if (!probe && ++listing.probed_alone == kMinForManifest) {
    learn_from_manifest();
    probe = known(listing, name, path, expected);
  }
  if (!probe) {
    const auto probing = std::make_shared<Probing>();
    start_probe(probing, listing, name, path, expected);
    FRAMEFS_CHECK(wait_for(*probing, listing));
    probe = known(listing, name, path, expected);
  }
  if (probe) {
    probed.summary = probe->summary;
    probed.index_stat = probe->index_stat;
  }
  return probed;
}

}  // namespace framefs::fs
