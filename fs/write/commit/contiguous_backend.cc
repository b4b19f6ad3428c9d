#include "fs/write/commit/contiguous_backend.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <unordered_map>
#include <utility>

#include "codec/frame/frame_trailer.h"
#include "codec/frame/trailer_layout.h"
#include "fs/write/commit/compaction_plan.h"

namespace framefs::fs {
namespace {

using codec::ByteRange;

// A disk writes a sector as a whole or not at all.  Source: frame format, "Shadow commit".
constexpr std::uint64_t kSectorBytes = 512;
constexpr std::uint64_t kCopyBytes = 1u << 20;
// The sizes that a step of a compaction reads.
constexpr std::size_t kSizesPerStep = 1024;
// Copied bytes are synced in parts, so that the sync of the commit after them is short.
constexpr std::uint64_t kMaxUnsyncedBytes = 32u << 20;

// For fewer bytes behind a frame without chunks, opening it does not wait for a sync.
constexpr std::uint64_t kMinReusedBytes = 64u << 10;

bool has_vlmetalayers(std::size_t trailer_bytes) {
  return trailer_bytes > codec::kTrailerBytesWithoutLayers;
}

}  // namespace

Result<std::unique_ptr<ContiguousBackend>> ContiguousBackend::open(
    std::shared_ptr<const FileReader> file, const struct stat& st, const codec::ByteSource& bytes,
    const codec::Frame& frame, std::span<const std::int64_t> entries, const codec::Limits& limits) {
  std::unique_ptr<ContiguousBackend> made(new ContiguousBackend(std::move(file), limits));
  const auto& header = frame.header();
  made->header_len_ = header.header_len;
  made->is_empty_ = header.nbytes == 0;
  const auto tail_at = made->is_empty_ ? header.header_len : header.header_len + header.cbytes;
  const auto size = static_cast<std::uint64_t>(st.st_size);
  const ByteRange tail{tail_at, header.frame_len - tail_at};
  made->places_.begin(
      {.header_len = header.header_len, .tail = tail, .entries = entries, .file_bytes = size});
  FRAMEFS_CHECK(made->file_.learn(st, bytes, made->header_len_, tail));
  if (size > 0 && !is_header_of(header, made->file_.head())) return changed_while_opening();
  made->index_.set_stored(tail, codec::IndexEncoder::digests_of(entries));
  // On a full disk, a failed commit may have left many bytes, and only their place has room for the
  // next one.
  const bool is_long = made->is_empty_ && size > header.frame_len + kMinReusedBytes;
  if (is_long && made->file_.sync()) made->places_.reset(tail);
  return made;
}

Status ContiguousBackend::check_unchanged() {
  FRAMEFS_CHECK(check_usable());
  FRAMEFS_TRY(const bool is_unchanged, file_.holds());
  return is_unchanged ? Status{} : overtaken();
}

Status ContiguousBackend::begin_writing() {
  if (!file_.stands_for_frame()) return {};
  FRAMEFS_CHECK(check_unchanged());
  auto stored = file_.store_first();
  if (!stored) static_cast<void>(::ftruncate(file_.fd(), 0));  // the first error counts
  return stored;
}

// Every write of bytes that no state refers to yet goes through store().  The space for these bytes
// is free only while no other process has changed the frame.
Status ContiguousBackend::store(std::uint64_t at, std::span<const std::byte> bytes) {
  FRAMEFS_CHECK(check_unchanged());
  return file_.store(at, bytes);
}

Result<std::int64_t> ContiguousBackend::write_chunk(std::span<const std::byte> chunk) {
  const auto at = places_.allocate(chunk.size());
  if (const auto written = store(at, chunk); !written) {
    drop(static_cast<std::int64_t>(at - header_len_));
    return std::unexpected(written.error());
  }
  const auto entry = static_cast<std::int64_t>(at - header_len_);
  checksums()->note(entry, chunk);
  return entry;
}

void ContiguousBackend::drop(std::int64_t entry) {
  checksums()->forget(entry);
  places_.drop(entry);
}

void ContiguousBackend::forget_pending() {
  if (!pending_) return;
  const auto tail = pending_->tail;
  pending_.reset();
  if (tail.size > 0) places_.take_back(tail);
}

Status ContiguousBackend::prepare(const FrameContent& content) {
  forget_pending();
  FRAMEFS_TRY(const auto trailer, encode_trailer(content));
  if (content.nbytes == 0) {
    FRAMEFS_CHECK(check_unchanged());  // before the committed state is read
    return is_empty_ ? rewrite_empty(trailer) : prepare_empty(trailer);
  }
  FRAMEFS_TRY(auto tail, index_.encode(content.entries, trailer, file_.reader()));
  const auto from = places_.end_of(content.entries);
  if (!from) {
    FRAMEFS_CHECK(check_unchanged());  // another writer may have changed the size that was read
    return std::unexpected(from.error());
  }
  const auto at = places_.allocate_from(*from, tail.size);
  return write_tail(at, content.nbytes, std::move(tail));
}

Status ContiguousBackend::write_tail(std::uint64_t at, std::uint64_t nbytes,
                                     codec::IndexEncoder::Encoded tail) {
  pending_ = Pending{.sizes = {.frame_len = at + tail.size,
                               .nbytes = nbytes,
                               .cbytes = at - header_len_,
                               .has_vlmetalayers = has_vlmetalayers(tail.size - tail.index_size)},
                     .tail = {at, tail.size},
                     .tail_checksum = CommittedState::checksum(tail.bytes()),
                     .index_digests = std::move(tail.digests)};
  return store(at, tail.bytes());
}

// The state without chunks that has this trailer.
ContiguousBackend::Pending ContiguousBackend::without_chunks(
    std::span<const std::byte> trailer) const {
  return {.sizes = {.frame_len = header_len_ + trailer.size(),
                    .nbytes = 0,
                    .cbytes = 0,
                    .has_vlmetalayers = has_vlmetalayers(trailer.size())},
          .tail = {},
          .tail_checksum = CommittedState::checksum(trailer)};
}

// The trailer of a frame without chunks has to stand right behind the header.  The committed state
// may have chunks or its tail there: a commit of its own first moves them away.
Status ContiguousBackend::prepare_empty(std::span<const std::byte> trailer) {
  FRAMEFS_CHECK(vacate_head(trailer.size()));
  pending_ = without_chunks(trailer);
  return store(header_len_, trailer);
}

std::uint64_t ContiguousBackend::max_empty_trailer() const noexcept {
  return kSectorBytes - std::min<std::uint64_t>(kSectorBytes, header_len_);
}

// A frame that stays empty has no second place for a changed trailer.  Header and trailer are
// written in one write, which is safe within one sector of a file that is long enough before.
Status ContiguousBackend::rewrite_empty(std::span<const std::byte> trailer) {
  if (trailer.size() > max_empty_trailer()) {
    FRAMEFS_TRY(const bool is_same, file_.has(places_.tail(), trailer));
    if (!is_same) return codec::fail(Errc::no_space, "trailer of an empty frame", header_len_);
    pending_ = without_chunks(trailer);
    return {};
  }
  // The sector may reach the disk before a new size of the file does.
  FRAMEFS_TRY(const auto size, file_.reader().size());
  const auto end = header_len_ + trailer.size();
  if (size < end) FRAMEFS_CHECK(store(size, std::vector<std::byte>(end - size)));
  auto next = without_chunks(trailer);
  next.rest.resize(header_len_ - sizeof(FrameHead));
  FRAMEFS_CHECK(file_.reader().read_at(sizeof(FrameHead), next.rest));
  next.rest.insert(next.rest.end(), trailer.begin(), trailer.end());
  pending_ = std::move(next);
  return {};
}

// The space at `to` is free.
Status ContiguousBackend::copy_chunk(std::int64_t& entry, std::uint64_t size, std::uint64_t to) {
  const auto from = header_len_ + static_cast<std::uint64_t>(entry);
  std::vector<std::byte> buffer(std::min(size, kCopyBytes));
  for (std::uint64_t done = 0; done < size; done += buffer.size()) {
    FRAMEFS_CHECK(begin_step());
    buffer.resize(std::min(size - done, kCopyBytes));
    FRAMEFS_CHECK(file_.reader().read_at(from + done, buffer));
    FRAMEFS_CHECK(store(to + done, buffer));
    copied_bytes_ += buffer.size();
    if (copied_bytes_ < kMaxUnsyncedBytes) continue;
    FRAMEFS_CHECK(sync());
    copied_bytes_ = 0;
  }
  entry = static_cast<std::int64_t>(to - header_len_);
  return {};
}

// Appends index and trailer behind everything else.
Status ContiguousBackend::prepare_at_end(std::uint64_t nbytes,
                                         std::span<const std::int64_t> entries,
                                         const TrailerOf& trailer_of) {
  FRAMEFS_TRY(const auto trailer, trailer_of(entries));
  FRAMEFS_TRY(auto tail, index_.encode(entries, trailer, file_.reader()));
  const auto at = places_.append(tail.size);
  return write_tail(at, nbytes, std::move(tail));
}

// Prepares the committed state with some chunks moved: those whose size in `sizes` is not 0.  The
// new places are behind everything else and behind the first `least` bytes after the header.  With
// `moves_once`, chunks at one place share the new place as well.  If that fails, all of it is
// undone.
Status ContiguousBackend::prepare_aside(std::uint64_t nbytes, std::span<std::int64_t> entries,
                                        std::span<const std::uint32_t> sizes, std::uint64_t least,
                                        bool moves_once, const TrailerOf& trailer_of) {
  places_.raise_end(header_len_ + least);
  std::vector<ByteRange> copies;
  std::unordered_map<std::int64_t, std::int64_t> moved;
  const auto prepared = [&]() -> Status {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (sizes[i] == 0) continue;
      const auto from = entries[i];
      if (const auto known = moved.find(from); known != moved.end()) {
        entries[i] = known->second;
        continue;
      }
      const auto to = places_.append(sizes[i]);
      codec::append_range(copies, {to, sizes[i]});
      FRAMEFS_CHECK(copy_chunk(entries[i], sizes[i], to));
      if (moves_once) moved.emplace(from, entries[i]);
    }
    return prepare_at_end(nbytes, entries, trailer_of);
  }();
  if (prepared) return {};
  forget_pending();
  places_.take_back(copies);
  static_cast<void>(reclaim());  // the error to report is that of the write
  return prepared;
}

// Commits the committed state once more, with the first `size` bytes behind the header free.
Status ContiguousBackend::vacate_head(std::uint64_t size) {
  FRAMEFS_TRY(const auto frame, codec::Frame::open(file_.reader(), limits_));
  std::vector<std::int64_t> entries(frame.chunk_count());
  FRAMEFS_CHECK(frame.read_entries(file_.reader(), {0}, entries));
  FRAMEFS_TRY(const auto sizes, places_.sizes_within(size, entries));
  FRAMEFS_TRY(auto trailer, file_.read_trailer(frame.header()));
  // The checksums do not count in this state, whose index is another one.
  codec::remove_seal(trailer);
  const auto trailer_of = [&](std::span<const std::int64_t>) -> Result<std::vector<std::byte>> {
    return trailer;
  };
  FRAMEFS_CHECK(prepare_aside(frame.nbytes(), entries, sizes, size, true, trailer_of));
  // The state committed here still needs the retired space, which only the next state gives up.
  const auto retired = places_.take_retired();
  const auto committed = commit_prepared();
  places_.retire(retired);
  return committed;
}

Status ContiguousBackend::commit_prepared() {
  FRAMEFS_CHECK(sync());
  FRAMEFS_CHECK(publish());
  return sync();
}

// Runs body(i, size) for each entry that has a chunk, with the chunk's stored size.
// Errors: those of begin_step() and of reading.
template <class Body>
Status ContiguousBackend::for_each_chunk(std::span<const std::int64_t> entries, const Body& body) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i % kSizesPerStep == 0) FRAMEFS_CHECK(begin_step());
    if (entries[i] < 0) continue;
    FRAMEFS_TRY(const auto size, places_.stored_bytes(entries[i]));
    body(i, size);
  }
  return {};
}

// A frame without chunks needs no bytes behind its trailer, once no crash can bring back a state
// that has them.
Status ContiguousBackend::compact_empty() {
  forget_pending();
  FRAMEFS_CHECK(check_unchanged());
  FRAMEFS_CHECK(sync());
  places_.reset(places_.tail());
  return reclaim();
}

// Moves the chunks to their final places, in the order of the index.  The first step moves chunks
// that are in the way behind everything else; the second step moves all chunks to their final
// places.
Status ContiguousBackend::compact(const FrameContent& content, const Moved& moved) {
  if (content.nbytes == 0) return compact_empty();
  std::vector<std::int64_t> now(content.entries.begin(), content.entries.end());
  forget_pending();
  FRAMEFS_CHECK(check_unchanged());
  std::vector<std::uint32_t> stored(now.size());
  FRAMEFS_CHECK(for_each_chunk(now, [&](std::size_t i, std::uint32_t size) { stored[i] = size; }));
  const CompactionPlan plan(now, std::move(stored));
  const auto& compacted = plan.entries();
  const auto& sizes = plan.sizes();
  const auto known = checksums()->of(content.entries);
  const auto trailer_of = [&](std::span<const std::int64_t> entries) {
    return checksums()->encode_trailer(content.vlmetalayers, entries, known);
  };
  FRAMEFS_TRY(const auto trailer, trailer_of(compacted));
  FRAMEFS_TRY(auto tail, index_.encode(compacted, trailer, file_.reader()));
  const auto end = plan.end() + tail.size;
  const auto in_the_way = plan.in_the_way(end);
  FRAMEFS_CHECK(prepare_aside(content.nbytes, now, in_the_way, end, false, trailer_of));
  FRAMEFS_CHECK(commit_prepared());
  if (checksums()->are_kept()) checksums()->keep(now, known);
  moved(now);
  // From here on no reader of this session uses the old places, so the next commit may free them.
  // That commit stores the same state once more, because other readers may still use the state
  // before the last commit.
  std::vector<ByteRange> left;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (in_the_way[i] == 0) continue;
    left.push_back({header_len_ + static_cast<std::uint64_t>(content.entries[i]), sizes[i]});
  }
  places_.retire(left);
  FRAMEFS_CHECK(prepare_at_end(content.nbytes, now, trailer_of));
  FRAMEFS_CHECK(commit_prepared());
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] == compacted[i]) continue;
    const auto to = header_len_ + static_cast<std::uint64_t>(compacted[i]);
    FRAMEFS_CHECK(copy_chunk(now[i], sizes[i], to));
  }
  auto committed = write_tail(header_len_ + plan.end(), content.nbytes, std::move(tail));
  if (committed) committed = commit_prepared();
  if (!committed) {
    pending_.reset();  // its space was never allocated
    return committed;
  }
  places_.reset(places_.tail());
  if (checksums()->are_kept()) checksums()->keep(compacted, known);
  moved(compacted);
  return reclaim();
}

Status ContiguousBackend::sync_files() { return file_.sync(); }

Status ContiguousBackend::publish() {
  assert(pending_.has_value());
  auto& next = *pending_;
  // The sync before may have taken long, so the frame is checked again.
  FRAMEFS_CHECK(check_unchanged());
  const bool is_empty = next.sizes.nbytes == 0;
  // An empty frame has only header and trailer left.
  const auto tail =
      is_empty ? ByteRange{header_len_, next.sizes.frame_len - header_len_} : next.tail;
  FRAMEFS_CHECK(file_.publish({next.sizes, next.rest, tail, next.tail_checksum}));
  is_empty_ = is_empty;
  if (is_empty) {
    places_.reset(tail);
  } else {
    places_.commit(tail);
  }
  index_.set_stored(tail, std::move(next.index_digests));
  pending_.reset();
  return {};
}

bool ContiguousBackend::wants_reclaim() const {
  const auto size = file_.reader().size();
  return size && *size > places_.end();
}

Status ContiguousBackend::reclaim() {
  const auto end = places_.end();
  FRAMEFS_TRY(const auto size, file_.reader().size());
  if (size <= end) return {};
  FRAMEFS_CHECK(check_unchanged());
  return file_.truncate(end);
}

void ContiguousBackend::discard_stored() {
  forget_pending();
  places_.drop_fresh();
  static_cast<void>(reclaim());  // the bytes are dead space otherwise
}

Result<std::uint64_t> ContiguousBackend::live_bytes(std::span<const std::int64_t> entries) {
  auto live = header_len_ + places_.tail().size;
  FRAMEFS_CHECK(for_each_chunk(entries, [&](std::size_t, std::uint32_t size) { live += size; }));
  return live;
}

FrameBackend::Usage ContiguousBackend::usage(std::span<const std::int64_t> entries) {
  const auto known = places_.usage();
  Usage usage{.total = known.total, .dead = known.dead};
  if (known.is_complete) return usage;
  // If a size cannot be read, the space that is not known to be dead counts as used.
  const auto live = live_bytes(entries);
  if (live) usage.dead = usage.total - std::min(usage.total, *live);
  return usage;
}

}  // namespace framefs::fs
