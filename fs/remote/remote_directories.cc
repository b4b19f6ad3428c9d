#include "fs/remote/remote_directories.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "fs/core/threads/interrupt.h"
#include "fs/net/http/timestamp.h"
#include "fs/remote/object_head.h"
#include "fs/source/chunk_files.h"
#include "fs/source/suffixes.h"
#include "fs/tree/names/shown_stat.h"

namespace framefs::fs {
namespace {

// No file of a local filesystem has such a number; see also ContainerFolder.
constexpr std::uint64_t kRemoteInode = std::uint64_t{1} << 60;

timespec time_of(std::int64_t ns) {
  return {.tv_sec = ns / net::kNsPerSecond, .tv_nsec = ns % net::kNsPerSecond};
}

// Whether the server has answered: there is no such object, or no right to read it.  Such an entry
// is shown as itself.
bool is_answer(const Error& error) { return error.sys == ENOENT || error.sys == EACCES; }

bool may_be_sparse(Expected expected) {
  return expected == Expected::frame || expected == Expected::array;
}

}  // namespace

struct RemoteDirectories::Probed {
  Unknown of;
  Result<RemoteProbe> probe;
};

// Probes that are under way together.
struct RemoteDirectories::Probing {
  struct Short {  // the head did not suffice
    Unknown of;
    net::RemoteOpened opened;
  };
  struct State {
    std::size_t left = 0;
    std::vector<Probed> probed;
    std::vector<Short> shorts;
    bool has_forgotten = false;  // earlier probes, because there were too many
  };
  Guarded<State> state;
};

RemoteDirectories::RemoteDirectories(RemoteStore& store, const MountOptions& options, Log& log)
    : store_(store),
      limits_(options.limits),
      log_(log),
      probes_(std::make_shared<RemoteProbes>(options.limits)),
      listings_(store, options, *probes_, log),
      manifest_(store, log) {}

std::uint64_t RemoteDirectories::inode_of(const std::string& path, bool is_directory) {
  const auto text = is_directory ? path + "/" : path;
  return (net::content_key(text).low & (kRemoteInode - 1)) | kRemoteInode;
}

struct stat RemoteDirectories::stat_of(const std::string& path, const net::RemoteEntry& entry) {
  struct stat st{};
  st.st_ino = inode_of(path, entry.is_directory);
  st.st_mode = entry.is_directory ? S_IFDIR | 0555U : S_IFREG | 0444U;
  st.st_nlink = 1;
  st.st_uid = ::geteuid();
  st.st_gid = ::getegid();
  st.st_size = static_cast<off_t>(entry.size);
  st.st_blocks = static_cast<blkcnt_t>((entry.size + 511) / 512);
  st.st_mtim = st.st_ctim = st.st_atim = time_of(entry.mtime_ns);
  return st;
}

void RemoteDirectories::learn_from_manifest() {
  const std::string name = net::kManifestName;
  const auto kept = listings_.kept("");
  const bool is_known = kept && kept->covers(name);
  const auto root =
      is_known ? Result<RemoteListings::Listing>(kept) : listings_.list_for("", {name});
  if (!root) return;
  const auto found = (*root)->find(name);
  if (!found || !has_version(*found)) return;
  manifest_.load(*found,
                 [this](const net::ManifestFile& file) { probes_->learn(file.path, file.entry); });
}

bool RemoteDirectories::notice_version(const std::string& path, const net::ObjectVersion& version) {
  const bool is_other = probes_->forget_other(path, version);
  if (is_other) listings_.forget(directory_part(path));
  return is_other;
}

bool RemoteDirectories::may_be_special(bool is_directory, Expected expected) {
  return is_directory ? may_be_sparse(expected) : expected != Expected::nothing;
}

std::optional<Result<RemoteProbe>> RemoteDirectories::known(const RemoteListing& listing,
                                                            const net::RemoteEntry& entry,
                                                            const std::string& path,
                                                            Expected expected) const {
  using Known = std::optional<Result<RemoteProbe>>;
  auto failed = listing.failed_probes.with([&](const auto& errors) -> Known {
    const auto found = errors.find(entry.name);
    if (found == errors.end()) return std::nullopt;
    return std::unexpected(found->second);
  });
  if (failed) return failed;
  if (auto probe = probes_->find(path, RemoteProbes::state_of(listing.taken(), entry, expected))) {
    return Known(std::move(*probe));
  }
  return std::nullopt;
}

// The object to probe for an entry: for a directory, the index of the sparse frame that it may be.
std::string RemoteDirectories::object_of(const std::string& path, bool is_directory) {
  return is_directory ? net::join_path(path, kSparseIndexName) : path;
}

// The probe of an entry whose object has been opened, and has this summary.
RemoteProbe RemoteDirectories::probe_of(const std::string& object, bool is_directory,
                                        const FrameSummary& summary,
                                        const net::RemoteOpened& opened) {
  RemoteProbe probe;
  probe.version = version_text(opened.object->version());
  // The index of a sparse frame is a part of it, not a frame by itself.
  if (summary.is_sparse != is_directory) return probe;
  probe.summary = summary;
  if (is_directory) probe.index_stat = stat_of(object, entry_of(opened));
  return probe;
}

void RemoteDirectories::start_probe(const std::shared_ptr<Probing>& probing,
                                    const RemoteListing& listing, const Unknown& one) {
  const auto is_directory = one.entry.is_directory;
  const auto entry_state = RemoteProbes::state_of(listing.taken(), one.entry, one.expected);
  const auto object = object_of(one.path, is_directory);
  probing->state.with([](Probing::State& state) { ++state.left; });
  // The answer may come when the caller has stopped waiting, and this object is gone.
  const auto take = [probes = probes_, limits = limits_, probing, one, object, is_directory,
                     entry_state](Result<net::RemoteOpened> opened) {
    std::optional<RemoteProbe> probe;
    std::optional<Probing::Short> rest;
    if (opened) {
      const ObjectHead head(opened->part.bytes, opened->object->version().size);
      const auto summary = summarise(head, one.expected, limits);
      if (head.is_short()) {
        rest = Probing::Short{one, std::move(*opened)};
      } else {
        probe = probe_of(object, is_directory, summary, *opened);
        if (!is_directory && !summary.is_sparse) {
          probes->remember_head(one.path, summary, *opened);
        }
      }
    } else if (is_answer(opened.error())) {
      probe.emplace();
    }
    const bool has_forgotten = probe && probes->remember(one.path, entry_state, *probe);
    probing->state.with_and_wake([&](Probing::State& state) {
      --state.left;
      state.has_forgotten = state.has_forgotten || has_forgotten;
      if (rest) return state.shorts.push_back(std::move(*rest));
      auto result = probe ? Result<RemoteProbe>(*probe) : std::unexpected(opened.error());
      state.probed.push_back({one, std::move(result)});
    });
  };
  store_.objects().start_open(object, {.range = {0, kProbeBytes}}, take);
}

auto RemoteDirectories::wait_for(Probing& probing, RemoteListing& listing)
    -> Result<std::vector<Probed>> {
  struct Ended {
    std::vector<Probing::Short> shorts;
    std::vector<Probed> probed;
    bool has_forgotten;
  };
  auto ended = probing.state.wait_unless(
      interrupted, [](const Probing::State& state) { return state.left == 0; },
      [](Probing::State& state) -> std::optional<Ended> {
        if (state.left > 0) return std::nullopt;
        return Ended{std::exchange(state.shorts, {}), std::exchange(state.probed, {}),
                     state.has_forgotten};
      });
  if (!ended) return system_error_of(EINTR, "remote probe");
  auto& [shorts, probed, has_forgotten] = *ended;
  if (has_forgotten) manifest_.forget();
  for (const auto& [one, probe] : probed) {
    if (!probe) log_.failure(store_.name_of(one.path), probe.error());
  }
  listing.failed_probes.with([&](auto& errors) {
    if (errors.size() > RemoteProbes::kMaxProbes) errors.clear();
    for (const auto& [one, probe] : probed) {
      if (!probe) errors.insert_or_assign(one.entry.name, probe.error());
    }
  });
  // Large metalayers are rare, so the probes that need them run one by one.
  for (const auto& [one, opened] : shorts) {
    const auto is_directory = one.entry.is_directory;
    const auto summary = summarise(*store_.bytes_of(opened), one.expected, limits_);
    auto probe = probe_of(object_of(one.path, is_directory), is_directory, summary, opened);
    const auto entry_state = RemoteProbes::state_of(listing.taken(), one.entry, one.expected);
    if (probes_->remember(one.path, entry_state, probe)) manifest_.forget();
    probed.push_back({one, std::move(probe)});
  }
  return std::move(probed);
}

auto RemoteDirectories::unknown(const RemoteListing& listing, const RemotePage& page,
                                const std::string& directory) const -> std::vector<Unknown> {
  std::vector<Unknown> unknown;
  for (std::size_t i = 0; i < page.table.size(); ++i) {
    const auto expected = expected_content(page.table.name(i));
    if (!may_be_special(page.table.is_directory(i), expected)) continue;
    auto entry = page.table.entry(i);
    auto path = net::join_path(directory, entry.name);
    if (known(listing, entry, path, expected)) continue;
    unknown.push_back({std::move(path), std::move(entry), expected});
  }
  return unknown;
}

Status RemoteDirectories::prepare(RemoteListing& listing, const RemotePage& page,
                                  const std::string& directory) {
  auto all = unknown(listing, page, directory);
  if (all.size() >= kMinForManifest) {
    learn_from_manifest();
    all = unknown(listing, page, directory);
  }
  const auto probing = std::make_shared<Probing>();
  for (const auto& one : all) start_probe(probing, listing, one);
  FRAMEFS_CHECK(wait_for(*probing, listing));
  return {};
}

Result<RemoteProbe> RemoteDirectories::probe_entry(RemoteListing& listing, const Unknown& one) {
  auto probe = known(listing, one.entry, one.path, one.expected);
  if (!probe && ++listing.probed_alone == kMinForManifest) {
    learn_from_manifest();
    probe = known(listing, one.entry, one.path, one.expected);
  }
  if (probe) return std::move(*probe);
  const auto probing = std::make_shared<Probing>();
  start_probe(probing, listing, one);
  FRAMEFS_TRY(auto probed, wait_for(*probing, listing));
  return std::move(probed.front().probe);
}

Result<FrameSummary> RemoteDirectories::summary(RemoteListing& listing, const std::string& name,
                                                const std::string& path, Expected expected) {
  const auto entry = listing.find(name);
  if (!entry) return system_error_of(ENOENT, "lookup");
  if (!may_be_special(entry->is_directory, expected)) return FrameSummary{};
  FRAMEFS_TRY(const auto probe, probe_entry(listing, {path, *entry, expected}));
  return probe.summary;
}

Result<SourceEntry> RemoteDirectories::probe(RemoteListing& listing, const std::string& name,
                                             const std::string& path, Expected expected) {
  const auto found = listing.find(name);
  if (!found) return system_error_of(ENOENT, "lookup");
  auto entry = *found;
  if (!entry.is_exact) {
    FRAMEFS_TRY(entry, store_.objects().stat(path));
  }
  SourceEntry probed;
  probed.stat = stat_of(path, entry);
  if (!may_be_special(entry.is_directory, expected)) return probed;
  FRAMEFS_TRY(const auto probe, probe_entry(listing, {path, *found, expected}));
  probed.summary = probe.summary;
  probed.index_stat = probe.index_stat;
  return probed;
}

}  // namespace framefs::fs
