#include "fs/source/source_probe.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <utility>

#include "fs/core/resources/descriptor_shares.h"
#include "fs/source/acl_access.h"
#include "fs/source/sparse_frame.h"
#include "fs/source/suffixes.h"

namespace framefs::fs {
namespace {

// O_NONBLOCK: the file may have been replaced by a fifo since it was examined.
constexpr int kFileFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

// The maximum number of attempts to probe a name that other programs keep replacing.
constexpr int kMaxProbes = 100;

// Whether opening a file or a directory for reading failed since another object has taken its name.
bool is_error_of_replaced(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENXIO;
}

timespec time_of(const statx_timestamp& time) {
  return {.tv_sec = time.tv_sec, .tv_nsec = static_cast<long>(time.tv_nsec)};
}

struct stat stat_from(const struct statx& found) {
  struct stat st{};
  st.st_dev = makedev(found.stx_dev_major, found.stx_dev_minor);
  st.st_ino = found.stx_ino;
  st.st_mode = found.stx_mode;
  st.st_nlink = found.stx_nlink;
  st.st_uid = found.stx_uid;
  st.st_gid = found.stx_gid;
  st.st_rdev = makedev(found.stx_rdev_major, found.stx_rdev_minor);
  st.st_size = static_cast<off_t>(found.stx_size);
  st.st_blksize = static_cast<blksize_t>(found.stx_blksize);
  st.st_blocks = static_cast<blkcnt_t>(found.stx_blocks);
  st.st_atim = time_of(found.stx_atime);
  st.st_mtim = time_of(found.stx_mtime);
  st.st_ctim = time_of(found.stx_ctime);
  return st;
}

// The content of a file by itself: the index of a sparse frame is part of a frame, not a frame.
FrameSummary by_itself(const FrameSummary& summary) {
  return summary.is_sparse ? FrameSummary{} : summary;
}

// Whether the mount shows the entry as something else, for which the kernel gets no access control
// list: a directory as a file, or a file as a directory.
bool hides_acl(const SourceEntry& entry) {
  const auto content = entry.summary.content;
  return entry.index_stat || content == Content::embed_container ||
         content == Content::zip_container;
}

}  // namespace

std::size_t SourceProbe::KeyHash::operator()(const Key& key) const noexcept {
  // Files that are made one after the other differ in few bits.
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15ULL;
  const auto& id = key.identity;
  const auto mixed = (id.inode * kSpread + id.device) ^ static_cast<std::uint64_t>(id.mtime_ns);
  return static_cast<std::size_t>((mixed * kSpread) >> 17U);
}

std::optional<FrameSummary> SourceProbe::recall(const Key& key) const {
  return known_[shard_of(key)].with([&](const auto& map) {
    const auto at = map.find(key);
    return at == map.end() ? std::nullopt : std::optional(at->second);
  });
}

bool SourceProbe::remember(const Key& key, const FrameSummary& summary) {
  return known_[shard_of(key)].with([&](auto& map) {
    if (map.size() >= kMaxFiles) map.clear();
    return !map.insert_or_assign(key, summary).second;
  });
}

void SourceProbe::note_known(bool is_known) {
  if (is_known == are_files_known_.load(std::memory_order_relaxed)) return;
  are_files_known_.store(is_known, std::memory_order_relaxed);
}

FrameSummary SourceProbe::read_summary(const FileReader& file, const struct stat& stat,
                                       Expected expected) {
  FrameSummary summary;
  const bool may_be_kept = age_of(stat).count() > 0;  // before the file is read
  const auto size = static_cast<std::uint64_t>(stat.st_size);
  if (size > offset_ || offset_ == 0) {
    summary = summarise(codec::ByteWindow(file, offset_, size - offset_), expected, limits_);
  }
  if (may_be_kept) note_known(remember({identity_of(stat), expected}, summary));
  return summary;
}

FrameSummary SourceProbe::probe_open(const FileReader& file, const struct stat& stat,
                                     Expected expected) {
  const auto known = recall({identity_of(stat), expected});
  const auto summary = known ? *known : read_summary(file, stat, expected);
  if (watcher_) watcher_();
  return summary;
}

auto SourceProbe::unopened(int error) -> Result<Probed> {
  auto failed = system_error_of(error, "open");
  if (is_shortage(failed.error())) return failed;
  return is_error_of_replaced(error) ? Probed::replaced : Probed::same;
}

auto SourceProbe::probe_file(int directory, const std::string& name, Expected expected,
                             std::string_view path, SourceEntry& entry) -> Result<Probed> {
  auto known = recall({identity_of(entry.stat), expected});
  const bool is_usual = expected == expected_content(name);
  if (!known && is_usual) known = known_summaries_.find(path, entry.stat);
  note_known(known.has_value());
  if (known) {
    entry.summary = *known;
  } else {
    auto fd = open_quietly(directory, name.c_str(), kFileFlags);
    if (!fd) return unopened(errno);
    const auto now = stat_of(fd.get());
    if (!now) return Probed::same;
    if (file_key(*now) != file_key(entry)) return Probed::replaced;
    entry.summary = read_summary(FileReader(std::move(fd)), *now, expected);
    if (watcher_) watcher_();
  }
  entry.summary = by_itself(entry.summary);
  return Probed::same;
}

// Probes a directory that contains the index of a sparse frame.
auto SourceProbe::probe_sparse(int directory, const std::string& name, Expected expected,
                               SourceEntry& entry) -> Result<Probed> {
  const UniqueFd folder(
      ::openat(directory, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return unopened(errno);
  const auto now = stat_of(folder.get());
  if (now && file_key(*now) != file_key(entry)) return Probed::replaced;
  auto fd = open_sparse_index(folder.get(), kFileFlags);
  if (!fd && is_shortage(fd.error())) return std::unexpected(fd.error());
  if (!fd) return Probed::same;
  const auto stat = stat_part(fd->get());
  if (!stat || !S_ISREG(stat->st_mode)) return Probed::same;
  const auto summary = probe_open(FileReader(std::move(*fd)), *stat, expected);
  if (!summary.is_sparse) return Probed::same;
  entry.summary = summary;
  entry.index_stat = *stat;
  return Probed::same;
}

// Finds the attributes of the entry and, of one and the same file, its generation.
Status SourceProbe::stat_entry(int directory, const std::string& name, SourceEntry& entry) const {
  struct statx found{};
  const auto find = [&](int folder, const char* path, int flags) {
    return ::statx(folder, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | flags,
                   STATX_BASIC_STATS | STATX_BTIME, &found) == 0;
  };
  if (handles_ == nullptr) {
    if (!find(directory, name.c_str(), 0)) return system_error("stat");
    entry.stat = stat_from(found);
  } else {
    const UniqueFd file(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!file || !find(file.get(), "", AT_EMPTY_PATH)) return system_error("stat");
    entry.stat = stat_from(found);
    entry.generation = generation_of(file.get(), entry.stat);
  }
  if (S_ISDIR(entry.stat.st_mode) && (found.stx_mask & STATX_BTIME) != 0) {
    entry.birth_ns = nanoseconds(time_of(found.stx_btime));
  }
  return {};
}

Result<struct stat> SourceProbe::stat_open(int fd) const {
  FRAMEFS_TRY(auto st, stat_of(fd));
  if (acls_ == AclRule::narrowed) heed_acl(st, fd);
  return st;
}

Result<struct stat> SourceProbe::stat_part(int fd) const {
  FRAMEFS_TRY(auto st, stat_of(fd));
  if (acls_ != AclRule::ignored) heed_acl(st, fd);
  return st;
}

Result<SourceEntry> SourceProbe::probe_known(int fd, const FrameSummary& known) const {
  SourceEntry entry{.stat = {}, .summary = known, .index_stat = {}};
  FRAMEFS_TRY(entry.stat, stat_open(fd));
  entry.generation = generation_of(fd, entry.stat);
  if (watcher_) watcher_();
  return entry;
}

Result<SourceEntry> SourceProbe::probe(int directory, const std::string& name) {
  return probe_as(directory, name, expected_content(name));
}

Result<SourceEntry> SourceProbe::probe_as(int directory, const std::string& name, Expected expected,
                                          const FrameSummary* known, std::string_view path) {
  for (int round = 0; round < kMaxProbes; ++round) {
    SourceEntry entry;
    FRAMEFS_CHECK(stat_entry(directory, name, entry));
    if (acls_ == AclRule::narrowed) heed_acl(entry.stat, directory, name);
    if (expected == Expected::nothing) return entry;
    const bool may_be_sparse = expected == Expected::frame || expected == Expected::array;
    auto probed = Probed::same;
    if (S_ISREG(entry.stat.st_mode) && known != nullptr) {
      entry.summary = *known;
    } else if (S_ISREG(entry.stat.st_mode)) {
      FRAMEFS_TRY(probed, probe_file(directory, name, expected, path, entry));
    } else if (S_ISDIR(entry.stat.st_mode) && may_be_sparse) {
      FRAMEFS_TRY(probed, probe_sparse(directory, name, expected, entry));
    }
    if (acls_ == AclRule::shown && hides_acl(entry)) heed_acl(entry.stat, directory, name);
    if (watcher_) watcher_();
    if (probed == Probed::same) return entry;
  }
  return system_error_of(ESTALE, "an entry that is replaced again and again");
}

// If the file has to be opened anyway, its attributes need not be looked up before: that makes four
// system calls instead of five.
Result<FrameSummary> SourceProbe::summary_of_file(int directory, const std::string& name,
                                                  Expected expected, std::string_view path) {
  const bool is_probably_known =
      !known_summaries_.is_empty() || are_files_known_.load(std::memory_order_relaxed);
  if (!is_probably_known) {
    auto fd = open_quietly(directory, name.c_str(), kFileFlags);
    const auto now = fd ? stat_of(fd.get()) : system_error("open");
    if (now && S_ISREG(now->st_mode)) {
      const auto summary = read_summary(FileReader(std::move(fd)), *now, expected);
      if (watcher_) watcher_();
      return by_itself(summary);
    }
  }
  FRAMEFS_TRY(const auto entry, probe_as(directory, name, expected, nullptr, path));
  return entry.summary;
}

}  // namespace framefs::fs
