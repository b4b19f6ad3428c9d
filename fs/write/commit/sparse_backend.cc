#include "fs/write/commit/sparse_backend.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <utility>

#include "codec/chunk/chunk_header.h"
#include "codec/frame/chunk_space.h"
#include "codec/frame/frame_index.h"
#include "codec/frame/frame_trailer.h"
#include "fs/core/files/file_attributes.h"
#include "fs/core/files/file_sink.h"

namespace framefs::fs {
namespace {

// A compaction commits after this many chunks or bytes.
constexpr std::size_t kMaxPartChunks = 16;
constexpr std::uint64_t kMaxPartBytes = 32u << 20;
constexpr mode_t kRights = 0666;  // of a chunk file, as far as the index file has them
const char* const kNextIndexName = kNextSparseIndexName.data();

Status sync_file(int fd) {
  if (::fsync(fd) != 0) return system_error("fsync");
  return {};
}

}  // namespace

Result<std::shared_ptr<const FileReader>> SparseBackend::open_index() const {
  FRAMEFS_TRY(auto fd, open_sparse_index(directory_.get(), O_RDONLY));
  return std::make_shared<const FileReader>(std::move(fd));
}

Result<std::unique_ptr<SparseBackend>> SparseBackend::open(
    UniqueFd directory, std::shared_ptr<const ChunkFiles> files, const codec::Frame& frame,
    const std::vector<std::int64_t>& entries) {
  std::unique_ptr<SparseBackend> made(new SparseBackend(std::move(directory), std::move(files)));
  FRAMEFS_TRY(made->index_, made->open_index());
  const auto& header = frame.header();
  FRAMEFS_TRY(const auto st, stat_of(made->index_->fd()));
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (size < header.header_len) return changed_while_opening();
  FRAMEFS_CHECK(made->state_.learn(st, *made->index_, header.header_len,
                                   {header.header_len, size - header.header_len}));
  if (!is_header_of(header, made->state_.head())) return changed_while_opening();
  made->state_.expect_removal();  // each commit replaces the index file
  made->next_head_.resize(header.header_len);
  FRAMEFS_CHECK(made->index_->read_at(0, made->next_head_));
  made->cbytes_ = header.cbytes;
  made->numbers_.begin(entries);
  return made;
}

Result<struct stat> SparseBackend::content_stat() const {
  struct stat st{};
  const bool is_there =
      ::fstatat(directory_.get(), kSparseIndexName, &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_there && errno != ENOENT) return system_error("stat");
  return is_there ? st : stat_of(index_->fd());
}

Result<std::int64_t> SparseBackend::write_chunk(std::span<const std::byte> chunk) {
  FRAMEFS_CHECK(check_unchanged());
  while (true) {
    FRAMEFS_TRY(const auto number, numbers_.take(chunk.size()));
    files_->forget(number);
    auto fd = make_chunk_file(number);
    if (fd && !*fd) continue;
    const Status written = fd ? write_fully(fd->get(), 0, chunk) : std::unexpected(fd.error());
    if (written) {
      FRAMEFS_CHECK(note_sync(written_.add(number, std::move(*fd))));
      checksums()->note(number, chunk);
      return std::int64_t{number};
    }
    drop(number);
    return std::unexpected(written.error());
  }
}

// Returns nothing if the name is taken: by a file that another writer is about to add to the frame,
// that an interrupted commit has left, or that any user has put there.  Nothing tells them apart,
// so the file is never opened, and this backend does not try its number again.
Result<UniqueFd> SparseBackend::make_chunk_file(std::uint32_t number) {
  UniqueFd fd(::openat(directory_.get(), ChunkFiles::name_of(number).c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd && errno == EEXIST) {
    numbers_.reject(number);
    return UniqueFd();
  }
  if (!fd) return system_error("open");
  // With fewer rights than those of the index file, the mount would refuse its readers.  With more,
  // users who may not change the frame could change the chunk.
  FRAMEFS_TRY(const auto index, content_stat());
  FRAMEFS_CHECK(give_owner_and_mode(fd.get(), index, index.st_mode & kRights));
  return fd;
}

void SparseBackend::remove_file(std::uint32_t id) {
  written_.drop(id);
  ::unlinkat(directory_.get(), ChunkFiles::name_of(id).c_str(), 0);
  files_->forget(id);
}

void SparseBackend::drop(std::int64_t entry) {
  checksums()->forget(entry);
  const auto id = static_cast<std::uint32_t>(entry);
  const auto st = stat_chunk_file(id);
  // If another process has changed the frame, that process may use the file by now.
  const bool was_fresh = numbers_.drop(id, st ? static_cast<std::uint64_t>(st->st_size) : 0);
  if (was_fresh && check_unchanged()) remove_file(id);
}

void SparseBackend::note_times() {
  if (const auto index = open_index()) state_.note_times(**index);
}

Status SparseBackend::check_unchanged() {
  FRAMEFS_CHECK(check_usable());
  while (true) {
    const auto turns = state_.turns();
    const auto index = open_index();
    if (!index && index.error().sys != ENOENT) return std::unexpected(index.error());
    if (index) {
      FRAMEFS_TRY(const bool is_unchanged, state_.holds(**index));
      if (is_unchanged) return {};
    }
    // A commit by this process may have replaced the opened index file.
    if (state_.turns() == turns) return overtaken();
  }
}

Status SparseBackend::write_index_file(std::span<const std::byte> bytes) {
  ::unlinkat(directory_.get(), kNextIndexName, 0);  // left by a commit that did not end
  UniqueFd fd(::openat(directory_.get(), kNextIndexName,
                       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return system_error("open");
  FRAMEFS_CHECK(copy_attributes(index_->fd(), fd.get()));
  FRAMEFS_CHECK(write_fully(fd.get(), 0, bytes));
  next_index_ = std::make_shared<const FileReader>(std::move(fd));
  return {};
}

Status SparseBackend::prepare(const FrameContent& content) {
  next_index_ = nullptr;
  FRAMEFS_CHECK(check_unchanged());
  const auto change = numbers_.added_bytes();
  // The header of an untrusted frame may name less than its chunks take, or the largest number.
  constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();
  const auto dropped = static_cast<std::uint64_t>(std::max<std::int64_t>(0, -change));
  const auto added = static_cast<std::uint64_t>(std::max<std::int64_t>(0, change));
  next_cbytes_ = std::min(cbytes_ - std::min(cbytes_, dropped) + added, kMaxBytes);
  std::vector<std::byte> bytes = next_head_;
  if (content.nbytes > 0) {
    FRAMEFS_TRY(const auto index, codec::encode_index(content.entries));
    bytes.insert(bytes.end(), index.begin(), index.end());
  }
  FRAMEFS_TRY(const auto trailer, encode_trailer(content));
  bytes.insert(bytes.end(), trailer.begin(), trailer.end());
  codec::patch_frame_header(
      {.frame_len = bytes.size(),
       .nbytes = content.nbytes,
       .cbytes = next_cbytes_,
       .has_vlmetalayers = checksums()->are_kept() || !content.vlmetalayers.empty()},
      std::span(bytes).first<codec::kFrameFixedHeaderBytes>());
  FRAMEFS_CHECK(write_index_file(bytes));
  next_len_ = bytes.size();
  next_checksum_ = CommittedState::checksum(std::span(bytes).subspan(next_head_.size()));
  next_head_.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(next_head_.size()));
  return {};
}

// Syncs the new files and their names, to which the new index will refer.  It does so file by file:
// a sync of the filesystem would wait for the data of all other files.
Status SparseBackend::sync_files() {
  FRAMEFS_CHECK(written_.sync());
  // A file that is open can be synced without its name.  The new index refers to the name.
  for (const auto number : numbers_.fresh()) FRAMEFS_CHECK(stat_chunk_file(number));
  if (next_index_) FRAMEFS_CHECK(sync_file(next_index_->fd()));
  return sync_file(directory_.get());
}

Result<struct stat> SparseBackend::stat_chunk_file(std::uint32_t id) const {
  struct stat st{};
  const auto name = ChunkFiles::name_of(id);
  if (::fstatat(directory_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return system_error("stat");
  }
  return st;
}

Result<UniqueFd> SparseBackend::open_chunk_file(std::uint32_t id) const {
  UniqueFd fd(::openat(directory_.get(), ChunkFiles::name_of(id).c_str(),
                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return system_error("open");
  return fd;
}

Status SparseBackend::publish() {
  // The sync before may have taken long, so the frame is checked again.
  FRAMEFS_CHECK(check_unchanged());
  CommittedState::Head head{};
  std::copy_n(next_head_.begin(), head.size(), head.begin());
  const auto next_index = std::exchange(next_index_, nullptr);
  CommittedState::Publication publication(state_, head, next_index.get());
  if (::renameat(directory_.get(), kNextIndexName, directory_.get(), kSparseIndexName) != 0) {
    return system_error("rename");
  }
  index_ = next_index;
  files_->follow(index_);
  const auto header_len = next_head_.size();
  publication.done({header_len, next_len_ - header_len}, next_checksum_);
  cbytes_ = next_cbytes_;
  numbers_.commit();
  return {};
}

// The reference library takes the numbers of chunk files for offsets and refuses a number that lies
// beyond the total size of the chunks.
// Source: frame format, "Sparse frames".
bool SparseBackend::is_refused(std::int64_t entry) const noexcept {
  return entry >= 0 && static_cast<std::uint64_t>(entry) + codec::kExtendedHeaderBytes > cbytes_;
}

FrameBackend::Usage SparseBackend::usage(std::span<const std::int64_t> entries) {
  // A compaction would store shared files once for each chunk.
  const bool has_refused = !numbers_.are_shared() && std::ranges::any_of(entries, [&](auto entry) {
    return is_refused(entry);
  });
  return {.total = cbytes_, .dead = 0, .is_refused = has_refused};
}

// Stores the same chunk under the lowest free number.
auto SparseBackend::store_again(std::size_t place, std::int64_t entry) -> Result<StoredAgain> {
  FRAMEFS_TRY(const auto fd, open_chunk_file(static_cast<std::uint32_t>(entry)));
  FRAMEFS_TRY(const auto st, stat_of(fd.get()));
  std::vector<std::byte> chunk(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(st.st_size), codec::kMaxChunkBytes));
  FRAMEFS_CHECK(read_fully(fd.get(), 0, chunk));
  FRAMEFS_TRY(const auto again, write_chunk(chunk));
  checksums()->copy(entry, again);
  return StoredAgain{place, again, chunk.size()};
}

Status SparseBackend::commit_durably(const FrameContent& content) {
  FRAMEFS_CHECK(prepare(content));
  FRAMEFS_CHECK(sync());
  FRAMEFS_CHECK(publish());
  FRAMEFS_CHECK(sync());
  return reclaim();
}

// Stores the next refused chunks of `entries` again.  `at` is where the search begins and ended.
// Returns the old entries.  After an error nothing has changed.
Result<std::vector<std::int64_t>> SparseBackend::store_some_again(
    std::vector<std::int64_t>& entries, std::size_t& at) {
  std::vector<StoredAgain> stored;
  std::uint64_t bytes = 0;
  const auto store = [&](std::size_t place) -> Status {
    FRAMEFS_CHECK(begin_step());
    FRAMEFS_TRY(const auto again, store_again(place, entries[place]));
    stored.push_back(again);
    bytes += again.bytes;
    return {};
  };
  for (; at < entries.size() && stored.size() < kMaxPartChunks && bytes < kMaxPartBytes; ++at) {
    if (!is_refused(entries[at])) continue;
    if (const auto done = store(at); !done) {
      for (const auto& again : stored) drop(again.entry);
      return std::unexpected(done.error());
    }
  }
  std::vector<std::int64_t> left;
  left.reserve(stored.size());
  for (const auto& again : stored) {
    left.push_back(std::exchange(entries[again.place], again.entry));
  }
  return left;
}

// Each part of the work ends with a commit.
Status SparseBackend::compact(const FrameContent& content, const Moved& moved) {
  FRAMEFS_CHECK(begin_step());
  // The same state is committed once more: then the numbers of the chunks dropped last are free.
  FRAMEFS_CHECK(commit_durably(content));
  std::vector<std::int64_t> entries(content.entries.begin(), content.entries.end());
  for (std::size_t at = 0;;) {
    FRAMEFS_TRY(const auto left, store_some_again(entries, at));
    if (left.empty()) return {};
    // `moved` comes before the old chunks are dropped: if the commit fails, the next one has the
    // new entries as well.
    moved(entries);
    for (const auto entry : left) drop(entry);
    FRAMEFS_CHECK(commit_durably({content.nbytes, entries, content.vlmetalayers}));
  }
}

Status SparseBackend::reclaim() {
  FRAMEFS_CHECK(check_unchanged());
  for (const auto id : numbers_.take_removable()) remove_file(id);
  return {};
}

void SparseBackend::release_old_states() {
  if (!check_unchanged()) return;
  for (const auto id : numbers_.take_dead()) remove_file(id);
}

void SparseBackend::keep_readable(std::span<const std::int64_t> entries) {
  std::size_t kept = 0;
  for (const auto entry : entries) {
    if (entry < 0) continue;
    if (kept == kMaxKeptFiles || !files_->keep_open(static_cast<std::uint32_t>(entry))) return;
    ++kept;
  }
}

void SparseBackend::discard_stored() {
  for (const auto id : numbers_.fresh()) drop(id);
  next_index_ = nullptr;
  // Also left by a commit that has failed.  If another process has changed the frame, the file may
  // be its next index.
  if (check_unchanged()) ::unlinkat(directory_.get(), kNextIndexName, 0);
}

void SparseBackend::set_params(const codec::FrameHeader& header) {
  auto made = header;
  made.type = codec::FrameType::sparse;
  codec::encode_frame_header(made, false,
                             std::span(next_head_).first<codec::kFrameFixedHeaderBytes>());
}

void SparseBackend::set_chunksize(std::uint32_t chunksize) {
  codec::patch_frame_chunksize(chunksize,
                               std::span(next_head_).first<codec::kFrameFixedHeaderBytes>());
}

}  // namespace framefs::fs
