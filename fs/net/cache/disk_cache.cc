#include "fs/net/cache/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "codec/core/parse_number.h"
#include "fs/core/diagnostics/error_map.h"
#include "fs/core/threads/background_thread.h"

namespace framefs::net {
namespace {

using Clock = std::chrono::steady_clock;

// The limit on parts that are queued for writing.  Parts beyond it are not cached.
constexpr std::uint64_t kMaxPendingBytes = 32 << 20;
// After the mount, a reader waits this long for the index, which is faster than the server.
constexpr std::chrono::seconds kIndexPatience{1};
// The pause after the disk has refused a write.
constexpr std::chrono::seconds kWritePause{30};
constexpr std::string_view kPrefix = "segment-";

std::string segment_name(std::uint32_t number) { return fmt::format("{}{:010}", kPrefix, number); }

std::optional<std::uint32_t> segment_number(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  return codec::parse_number<std::uint32_t>(name);
}

// The numbers of all segments in a folder, ascending.
std::vector<std::uint32_t> list_segments(int folder) {
  std::vector<std::uint32_t> numbers;
  const int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = fd < 0 ? nullptr : ::fdopendir(fd);
  if (listing == nullptr) {
    if (fd >= 0) ::close(fd);
    return numbers;
  }
  while (const auto* const entry = ::readdir(listing)) {
    if (const auto number = segment_number(entry->d_name)) numbers.push_back(*number);
  }
  ::closedir(listing);
  std::ranges::sort(numbers);
  return numbers;
}

Result<fs::UniqueFd> open_folder(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return fs::system_error("cache directory: mkdir");
  }
  fs::UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return fs::system_error("cache directory: open");
  FRAMEFS_TRY(const auto st, fs::stat_of(folder.get()));
  if (st.st_uid != ::geteuid())
    return fs::refusal(EPERM, "the cache directory belongs to another user");
  std::error_code error;
  if (std::filesystem::is_empty(path, error)) {
    if (::fchmod(folder.get(), S_IRWXU) != 0) return fs::system_error("cache directory: chmod");
  } else if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    // A directory with files may serve other purposes, so its mode stays.
    return fs::refusal(EPERM, "other users may write to the cache directory");
  }
  return folder;
}

// Opens a segment that exists.  Another program may have put something else in its place, such as a
// FIFO, whose open would wait.
Result<fs::UniqueFd> open_segment(int folder, std::uint32_t number, int access) {
  fs::UniqueFd fd(
      ::openat(folder, segment_name(number).c_str(), access | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fs::system_error("cache segment");
  FRAMEFS_TRY(const auto st, fs::stat_of(fd.get()));
  if (!S_ISREG(st.st_mode)) return fs::system_error_of(EINVAL, "cache segment");
  return fd;
}

Result<fs::UniqueFd> lock_folder(int folder) {
  fs::UniqueFd lock(
      ::openat(folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!lock) return fs::system_error("cache directory: lock");
  // The lock belongs to the open file.  The daemon therefore inherits it, and the lock ends with
  // the daemon, even after a crash.
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(lock.get(), F_OFD_SETLK, &whole) != 0) {
    if (errno != EAGAIN && errno != EACCES) return fs::system_error("cache directory: lock");
    return fs::refusal(EBUSY, "another mount uses the cache directory");
  }
  return lock;
}

}  // namespace

Result<std::unique_ptr<DiskCache>> DiskCache::open(Options options, fs::Log& log) {
  FRAMEFS_TRY(auto folder, open_folder(options.folder));
  FRAMEFS_TRY(auto lock, lock_folder(folder.get()));
  return std::unique_ptr<DiskCache>(
      new DiskCache(std::move(options), std::move(folder), std::move(lock), log));
}

void DiskCache::start() {
  thread_ = fs::background_thread([this](const std::stop_token&) { run(); });
}

DiskCache::DiskCache(Options options, fs::UniqueFd folder, fs::UniqueFd lock, fs::Log& log)
    : options_(std::move(options)),
      segment_bytes_(std::clamp<std::uint64_t>(
          options_.quota_bytes / 4, kCacheHeaderBytes + kMaxRecordBytes, kMaxSegmentBytes)),
      folder_(std::move(folder)),
      lock_(std::move(lock)),
      log_(log),
      opened_(Clock::now()) {}

DiskCache::~DiskCache() {
  state_.with_and_wake([](State& state) { state.stopped = true; });
}

void DiskCache::run() {
  build_index();
  while (true) {
    auto next = state_.wait_until(
        Clock::now() + std::chrono::hours(1),
        [](const State& state) { return state.stopped || !state.pending.empty(); },
        [](State& state) -> std::optional<Pending> {
          if (state.stopped || state.pending.empty()) return std::nullopt;
          auto first = std::move(state.pending.front());
          state.pending.pop_front();
          state.pending_bytes -= first.part.bytes->size();
          state.is_writing = true;
          return first;
        });
    if (next) write(*next);
    const bool stopped = state_.with_and_wake([](State& state) {
      state.is_writing = false;
      return state.stopped;
    });
    if (stopped) return;
  }
}

void DiskCache::build_index() {
  const auto numbers = list_segments(folder_.get());
  for (const auto number : numbers) {
    next_number_ = std::max(next_number_, number + 1);
    struct stat st{};
    if (::fstatat(folder_.get(), segment_name(number).c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    const auto size = static_cast<std::uint64_t>(st.st_size);
    state_.with([&](State& state) {
      state.segments.push_back({.number = number, .bytes = size});
      state.used_bytes += size;
    });
  }
  make_room(0);  // the quota may be smaller than it was
  const auto kept = state_.with([](const State& state) { return state.segments; });
  for (const auto& segment : kept) {
    if (state_.with([](const State& state) { return state.stopped; })) return;
    index_segment(segment.number);
  }
  state_.with_and_wake([](State& state) { state.is_indexed = true; });
}

// Follows the records from header to header.  It stops at a torn record.
std::uint64_t DiskCache::index_segment(std::uint32_t number) {
  const auto fd = open_segment(folder_.get(), number, O_RDONLY);
  const auto st = fd ? fs::stat_of(fd->get()) : Result<struct stat>(std::unexpected(fd.error()));
  if (!st) return 0;
  const auto size = static_cast<std::uint64_t>(st->st_size);
  std::uint64_t at = 0;
  while (at < size && size - at > kCacheHeaderBytes && at <= kMaxSegmentBytes) {
    CacheHeader header{};
    if (!fs::read_fully(fd->get(), at, header)) break;
    const auto record = parse_cache_header(header);
    if (!record || record->length > size - at - kCacheHeaderBytes) break;
    state_.with(
        [&](State& state) { state.index.add(*record, number, static_cast<std::uint32_t>(at)); });
    at += kCacheHeaderBytes + record->length;
  }
  return at;
}

bool DiskCache::evict_one() {
  const auto victim = state_.with([](State& state) -> std::optional<Segment> {
    // Each segment that was used since the last round gets a second chance.
    for (auto left = state.segments.size(); left > 0 && state.segments.front().was_used; --left) {
      state.segments.front().was_used = false;
      state.segments.push_back(state.segments.front());
      state.segments.pop_front();
    }
    if (state.segments.empty()) return std::nullopt;
    const auto first = state.segments.front();
    state.segments.pop_front();
    state.index.remove_segment(first.number);
    state.used_bytes -= first.bytes;
    return first;
  });
  if (!victim) return false;
  if (victim->number == tail_.number) tail_ = {};
  ::unlinkat(folder_.get(), segment_name(victim->number).c_str(), 0);
  return true;
}

bool DiskCache::make_room(std::uint64_t bytes) {
  if (bytes > options_.quota_bytes) return false;
  while (used_bytes() > options_.quota_bytes - bytes) {
    if (!evict_one()) return false;
  }
  return true;
}

bool DiskCache::open_tail() {
  if (tail_.fd && tail_.bytes < segment_bytes_) return true;
  tail_ = {};
  const auto number = next_number_++;
  fs::UniqueFd fd(::openat(folder_.get(), segment_name(number).c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           S_IRUSR | S_IWUSR));
  if (!fd) return false;
  tail_ = {std::move(fd), number, 0};
  state_.with([&](State& state) { state.segments.push_back({.number = number}); });
  return true;
}

bool DiskCache::write_record(const CacheRecord& record, std::span<const std::byte> data) {
  const auto bytes = kCacheHeaderBytes + data.size();
  if (!make_room(bytes) || !open_tail()) return false;
  auto header = make_cache_header(record, data);
  const auto position = tail_.bytes;
  // The record is counted before it is written, so that the quota holds at any moment.
  const auto count = [&](std::uint64_t by) {
    state_.with([&](State& state) {
      state.used_bytes += by;
      const auto segment = std::ranges::find(state.segments, tail_.number, &Segment::number);
      if (segment != state.segments.end()) segment->bytes += by;
    });
  };
  count(bytes);
  tail_.bytes += bytes;
  const std::array<iovec, 2> pieces{
      {{header.data(), header.size()}, {const_cast<std::byte*>(data.data()), data.size()}}};
  const auto written = ::pwritev(tail_.fd.get(), pieces.data(), 2, static_cast<off_t>(position));
  if (written < 0 || static_cast<std::size_t>(written) != bytes) {
    const int error = written < 0 ? errno : ENOSPC;
    // The truncation removes the incomplete record.  The cache appends no more records to this
    // segment.
    const bool is_clean = ::ftruncate(tail_.fd.get(), static_cast<off_t>(position)) == 0;
    if (is_clean) count(~bytes + 1);
    tail_ = {};
    log_.failure("disk cache", fs::system_error_of(error, "write").error());
    return false;
  }
  state_.with([&](State& state) {
    state.index.add(record, tail_.number, static_cast<std::uint32_t>(position));
  });
  return true;
}

void DiskCache::write(const Pending& pending) {
  const auto now = Clock::now();
  if (now < no_writing_until_) return;
  const auto& bytes = *pending.part.bytes;
  for (std::size_t at = 0; at < bytes.size(); at += kMaxRecordBytes) {
    const auto data = std::span(bytes).subspan(at).first(
        std::min<std::size_t>(kMaxRecordBytes, bytes.size() - at));
    const CacheRecord record{.key = pending.key,
                             .offset = pending.part.offset + at,
                             .length = static_cast<std::uint32_t>(data.size())};
    if (holds(record.key, {record.offset, record.length})) continue;
    if (!write_record(record, data)) {
      no_writing_until_ = now + kWritePause;
      return;
    }
  }
}

void DiskCache::store(const ContentKey& key, const Part& part) {
  const auto size = part.bytes->size();
  if (size == 0) return;
  state_.with_and_wake([&](State& state) {
    if (state.stopped || size > kMaxPendingBytes - state.pending_bytes) return;
    state.pending_bytes += size;
    state.pending.push_back({key, part});
  });
}

bool DiskCache::holds(const ContentKey& key, ByteRange range) const {
  return state_.with([&](const State& state) { return state.index.holds(key, range); });
}

void DiskCache::wait_for_index() {
  const bool is_indexed = state_.with([](const State& state) { return state.is_indexed; });
  const auto end = opened_ + kIndexPatience;
  if (is_indexed || Clock::now() >= end) return;
  state_.wait_until(
      end, [](const State& state) { return state.is_indexed || state.stopped; },
      [](const State&) {});
}

void DiskCache::forget_on_disk(const CacheIndex::Place& place) const {
  const auto fd = open_segment(folder_.get(), place.segment, O_WRONLY);
  if (!fd) return;
  // No object has the key zero.  The length stays, so that the following records are found.
  constexpr std::array<std::byte, kCacheKeyBytes> kNoKey{};
  // If the write fails, the next mount finds the damage again.
  [[maybe_unused]] const auto written = ::pwrite(fd->get(), kNoKey.data(), kNoKey.size(),
                                                 static_cast<off_t>(place.position + kCacheKeyAt));
}

std::optional<Part> DiskCache::read(const ContentKey& key, const CacheIndex::Place& place) {
  const auto fd = open_segment(folder_.get(), place.segment, O_RDONLY);
  if (!fd) return std::nullopt;  // evicted meanwhile
  CacheHeader header{};
  auto data = std::make_shared<std::vector<std::byte>>(place.length);
  const bool is_read = fs::read_fully(fd->get(), place.position, header) &&
                       fs::read_fully(fd->get(), place.position + kCacheHeaderBytes, *data);
  const CacheRecord wanted{key, place.offset, place.length};
  const bool is_wanted = is_read && parse_cache_header(header) == wanted;
  if (!is_wanted || !verify_cache_record(header, *data)) {
    if (is_wanted) forget_on_disk(place);
    state_.with([&](State& state) { state.index.remove(key, place); });
    log_.failure("disk cache: " + segment_name(place.segment),
                 Error{.kind = Errc::checksum, .field = "record", .at = place.position});
    return std::nullopt;
  }
  return Part{place.offset, std::move(data)};
}

std::vector<Part> DiskCache::find(const ContentKey& key, ByteRange range) {
  wait_for_index();
  std::vector<Part> parts;
  const auto end = range.offset + range.size;
  for (auto at = range.offset; at < end;) {
    const auto place = state_.with([&](State& state) {
      auto found = state.index.find(key, at);
      if (found) {
        const auto segment = std::ranges::find(state.segments, found->segment, &Segment::number);
        if (segment != state.segments.end()) segment->was_used = true;
      }
      return found;
    });
    if (!place) {
      at = state_.with([&](State& state) { return state.index.next_begin(key, at).value_or(end); });
      continue;
    }
    auto part = read(key, *place);
    if (!part) {
      // Another record may hold the same bytes.  Otherwise the next round finds no record.
      state_.with([&](State& state) { state.index.remove(key, *place); });
      continue;
    }
    at = part->end();
    parts.push_back(std::move(*part));
  }
  return parts;
}

std::uint64_t DiskCache::used_bytes() const {
  return state_.with([](const State& state) { return state.used_bytes; });
}

void DiskCache::flush() {
  state_.wait(
      [](const State& state) {
        return state.stopped || (state.is_indexed && state.pending.empty() && !state.is_writing);
      },
      [](const State&) {});
}

}  // namespace framefs::net
