#include "fs/remote/remote_directories.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fs/core/interrupt.h"
#include "fs/net/http/timestamp.h"
#include "fs/remote/object_head.h"
#include "fs/source/chunk_files.h"
#include "fs/source/suffixes.h"
#include "fs/tree/shown_stat.h"

namespace framefs::fs {
namespace {

using Clock = std::chrono::steady_clock;

// No file of a local filesystem has such a number; see also ContainerFolder.
constexpr std::uint64_t kRemoteInode = std::uint64_t{1} << 60;

timespec time_of(std::int64_t ns) {
  return {.tv_sec = ns / net::kNsPerSecond, .tv_nsec = ns % net::kNsPerSecond};
}

// Whether two states of the entry differ in the listing.  Those of a directory, which may be a
// sparse frame, and of a link on a page do not.
bool has_version(const net::RemoteEntry& entry) {
  const bool has_validator = !entry.etag.empty() || entry.mtime_ns != 0;
  return !entry.is_directory && entry.is_exact && has_validator;
}

std::string version_text(const net::ObjectVersion& version) {
  if (version.is_strong()) return version.etag;
  return fmt::format("{:x} {:x}", version.key.high, version.key.low);
}

// Whether the server has answered: there is no such object, or no right to read it.  Such an entry
// is shown as itself.
bool is_answer(const Error& error) { return error.sys == ENOENT || error.sys == EACCES; }

bool may_be_sparse(Expected expected) {
  return expected == Expected::frame || expected == Expected::array;
}

// One line for all entries that a directory leaves out for one reason.
std::string left_out_text(const std::string& directory, const net::LeftOut& left,
                          std::string_view what) {
  constexpr std::size_t kShownBytes = 60;
  const bool is_long = left.first.size() > kShownBytes;
  return fmt::format("{}: {} {} not shown: {}, as \"{}{}\"", directory, left.count,
                     left.count == 1 ? "entry is" : "entries are", what,
                     left.first.substr(0, kShownBytes), is_long ? "..." : "");
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
      age_(options),
      memory_(std::make_shared<Memory>()),
      manifest_(store, log) {
  // The listings hold charges, which hold the budget.
  store_.listing_budget().set_evict([kept = std::weak_ptr(listings_)] {
    const auto listings = kept.lock();
    return listings && drop_oldest(*listings);
  });
}

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

// The listing that is used for the shortest time goes first.
bool RemoteDirectories::drop_oldest(Listings& listings) {
  Listing dropped;  // destroyed after the lock
  return listings.with([&](auto& by_path) {
    const auto first = std::ranges::min_element(
        by_path, {}, [](const auto& known) { return known.second->fresh_until(); });
    if (first == by_path.end()) return false;
    dropped = std::move(first->second);
    by_path.erase(first);
    return true;
  });
}

auto RemoteDirectories::recent(const std::string& path) const -> Listing {
  const auto known = listings_->with([&](const auto& by_path) -> Listing {
    const auto found = by_path.find(path);
    return found == by_path.end() ? nullptr : found->second;
  });
  const bool is_usable = known && known->fresh_until() >= Clock::now() && !known->has_failed();
  return is_usable ? known : nullptr;
}

auto RemoteDirectories::open(const std::string& path) -> Result<Listing> {
  if (auto known = recent(path)) return known;
  return listing_calls_.run(path, [&](const auto& call) { return begin_listing(path, call); });
}

auto RemoteDirectories::list_for(const std::string& path, const std::vector<std::string>& names)
    -> Result<Listing> {
  const auto covers_all = [&](const Listing& listing) {
    return std::ranges::all_of(names, [&](const auto& name) { return listing->covers(name); });
  };
  if (auto known = recent(path); known && covers_all(known)) return known;
  const bool is_large = large_.with([&](const auto& large) { return large.contains(path); });
  if (!is_large) {
    FRAMEFS_TRY(auto listing, open(path));
    if (covers_all(listing)) return listing;
    large_.with([&](auto& large) {
      if (large.size() >= kMaxListings) large.clear();
      large.insert(path);
    });
  }
  return look_up(path, names);
}

void RemoteDirectories::note_left_out(const std::string& path, const net::LeftOut& unnameable,
                                      const net::LeftOut& covered) {
  if (unnameable.count + covered.count == 0) return;
  const bool is_first = noted_.with(
      [&](auto& noted) { return noted.size() < kMaxListings && noted.insert(path).second; });
  if (!is_first) return;
  store_.stats().add_hidden_entries(unnameable.count + covered.count);
  const auto directory = store_.name_of(path);
  if (unnameable.count > 0) {
    log_.warn(left_out_text(directory, unnameable, "no file can have such a name"));
  }
  if (covered.count > 0) {
    log_.warn(left_out_text(directory, covered, "a directory has the same name"));
  }
}

auto RemoteDirectories::begin_listing(const std::string& path, const ListingCalls::Call& call)
    -> Result<Listing> {
  // Another call may have ended just before this one began.
  if (auto known = recent(path)) return known;
  auto listing = std::make_shared<RemoteListing>(
      store_.listing_server(), path, age_,
      RemoteListing::Report{
          .complete = [this, path](
                          const auto& unnameable,
                          const auto& covered) { note_left_out(path, unnameable, covered); },
          .failed = [this,
                     path](const Error& error) { log_.failure(store_.name_of(path), error); }});
  FRAMEFS_CHECK(listing->begin());
  for (const auto& entry : listing->take_heads()) learn(net::join_path(path, entry.name), entry);
  const bool is_full =
      listings_->with([](const auto& by_path) { return by_path.size() >= kMaxListings; });
  if (is_full) drop_oldest(*listings_);
  Listing before;  // destroyed after the lock
  listings_->with([&](auto& by_path) {
    if (call.is_outdated()) return;
    before = std::exchange(by_path[path], listing);
  });
  if (before) store_.stats().add_repeated_listing();
  return listing;
}

auto RemoteDirectories::look_up(const std::string& path, const std::vector<std::string>& names)
    -> Result<Listing> {
  const auto begin = Clock::now();
  auto taken = begin;
  std::vector<net::RemoteEntry> entries;
  std::vector<std::string> unknown;
  names_.with([&](const auto& known_names) {
    for (const auto& name : names) {
      const auto known = known_names.find(net::join_path(path, name));
      if (known == known_names.end() || known->second.fresh_until < begin) {
        unknown.push_back(name);
        continue;
      }
      taken = std::min(taken, known->second.taken);
      if (known->second.entry) entries.push_back(*known->second.entry);
    }
  });
  if (!unknown.empty()) {
    FRAMEFS_TRY(const auto found, store_.objects().look_up(path, unknown));
    names_.with([&](auto& known_names) {
      if (known_names.size() + unknown.size() > kMaxNames) known_names.clear();
      for (const auto& name : unknown) {
        KnownName known{.entry = {}, .taken = begin, .fresh_until = age_.fresh_until(begin)};
        const auto entry = std::ranges::find(found, name, &net::RemoteEntry::name);
        if (entry != found.end()) known.entry = *entry;
        known_names.insert_or_assign(net::join_path(path, name), std::move(known));
      }
    });
    entries.insert(entries.end(), found.begin(), found.end());
  }
  return std::make_shared<RemoteListing>(entries, taken, age_.fresh_until(begin));
}

bool RemoteDirectories::notice_version(const std::string& path, const net::ObjectVersion& version) {
  const bool is_other = memory_->probes.with([&](const auto& probes) {
    const auto found = probes.find(net::content_key(path));
    if (found == probes.end() || found->second.probe.version.empty()) return false;
    return found->second.probe.version != version_text(version);
  });
  if (is_other) {
    memory_->probes.with([&](auto& probes) { probes.erase(net::content_key(path)); });
    forget(directory_part(path));
  }
  return is_other;
}

void RemoteDirectories::forget(const std::string& path) {
  // In this order, a call under way cannot keep its listing afterwards.
  listing_calls_.leave(path);
  Listing dropped;  // destroyed after the lock
  listings_->with([&](auto& by_path) {
    const auto known = by_path.find(path);
    if (known == by_path.end()) return;
    dropped = std::move(known->second);
    by_path.erase(known);
  });
  names_.with([&](auto& known) {
    std::erase_if(known, [&](const auto& name) { return directory_part(name.first) == path; });
  });
}

Result<RemoteDirectories::Listing> RemoteDirectories::list_single(const std::string& name) {
  FRAMEFS_TRY(auto entry, store_.objects().stat(""));
  if (entry.is_directory) return system_error_of(ENOENT, "remote object");
  entry.name = name;
  const auto now = Clock::now();
  return std::make_shared<RemoteListing>(std::vector{std::move(entry)}, now, now);
}

net::ContentKey RemoteDirectories::state_of(Clock::time_point taken, const net::RemoteEntry& entry,
                                            Expected expected) {
  // No part of the text holds a zero byte.
  std::string text = entry.etag;
  text.append(1, '\0').append(std::to_string(entry.size)).append(1, '\0');
  // Equal ETags imply equal bytes, even if the object was copied since.
  if (entry.etag.empty()) text += std::to_string(entry.mtime_ns);
  text.append(1, '\0').append(1, static_cast<char>(expected));
  // Without a version, a probe counts for one listing.
  if (!has_version(entry)) text += std::to_string(taken.time_since_epoch().count());
  return net::content_key(text);
}

std::optional<RemoteProbe> RemoteDirectories::recall(const std::string& path,
                                                     const net::ContentKey& state) const {
  return memory_->probes.with([&](const auto& probes) -> std::optional<RemoteProbe> {
    const auto found = probes.find(net::content_key(path));
    if (found == probes.end() || found->second.state != state) return std::nullopt;
    return found->second.probe;
  });
}

bool RemoteDirectories::Memory::remember(const std::string& path, const net::ContentKey& state,
                                         const RemoteProbe& probe) {
  return probes.with([&](auto& known) {
    const bool at_maximum = known.size() >= kMaxProbes;
    if (at_maximum) known.clear();
    known.insert_or_assign(net::content_key(path), KnownProbe{state, probe});
    return at_maximum;
  });
}

void RemoteDirectories::remember(const std::string& path, const net::ContentKey& state,
                                 const RemoteProbe& probe) {
  if (memory_->remember(path, state, probe)) manifest_.forget();
}

void RemoteDirectories::Memory::remember_head(const std::string& path, const FrameSummary& summary,
                                              const net::RemoteOpened& opened) {
  const bool is_frame = summary.content == Content::frame || summary.content == Content::array;
  const auto& version = opened.object->version();
  // The open of a short frame fetches all of it.
  const bool has_ranges = !opened.object->is_whole_only();
  if (!is_frame || !has_ranges || !version.is_strong() || version.size <= net::kHeadBytes) return;
  heads.with([&](auto& known) {
    if (known.size() >= kMaxHeads) known.clear();
    known.insert_or_assign(path, KnownHead{version, opened.part});
  });
}

std::optional<KnownHead> RemoteDirectories::head(const std::string& path) const {
  return memory_->heads.with([&](const auto& heads) -> std::optional<KnownHead> {
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
  probe.version = entry.etag;
  const KnownProbe known{state_of({}, entry, expected), probe};
  memory_->probes.with([&](auto& probes) {
    if (probes.size() < kMaxProbes) probes.insert_or_assign(net::content_key(path), known);
  });
}

void RemoteDirectories::learn_from_manifest() {
  const std::string name = net::kManifestName;
  const auto known = listings_->with([](const auto& by_path) -> Listing {
    const auto found = by_path.find("");
    return found == by_path.end() ? nullptr : found->second;
  });
  const bool is_known = known && known->covers(name);
  const auto root = is_known ? Result<Listing>(known) : list_for("", {name});
  if (!root) return;
  const auto found = (*root)->find(name);
  if (!found || !has_version(*found)) return;
  manifest_.load(*found, [this](const net::ManifestFile& file) { learn(file.path, file.entry); });
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
  if (auto probe = recall(path, state_of(listing.taken(), entry, expected))) {
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
  const auto entry_state = state_of(listing.taken(), one.entry, one.expected);
  const auto object = object_of(one.path, is_directory);
  probing->state.with([](Probing::State& state) { ++state.left; });
  // The answer may come when the caller has stopped waiting, and this object is gone.
  const auto take = [memory = memory_, limits = limits_, probing, one, object, is_directory,
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
          memory->remember_head(one.path, summary, *opened);
        }
      }
    } else if (is_answer(opened.error())) {
      probe.emplace();
    }
    const bool has_forgotten = probe && memory->remember(one.path, entry_state, *probe);
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
    if (errors.size() > kMaxProbes) errors.clear();
    for (const auto& [one, probe] : probed) {
      if (!probe) errors.insert_or_assign(one.entry.name, probe.error());
    }
  });
  // Large metalayers are rare, so the probes that need them run one by one.
  for (const auto& [one, opened] : shorts) {
    const auto is_directory = one.entry.is_directory;
    const auto summary = summarise(*store_.bytes_of(opened), one.expected, limits_);
    auto probe = probe_of(object_of(one.path, is_directory), is_directory, summary, opened);
    remember(one.path, state_of(listing.taken(), one.entry, one.expected), probe);
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
