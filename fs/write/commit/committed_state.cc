#include "fs/write/commit/committed_state.h"

#include <algorithm>
#include <vector>

#include "codec/core/byte_reader.h"

namespace framefs::fs {
namespace {

constexpr std::uint64_t kReadBytes = 1u << 20;

bool is_same_time(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

Result<std::uint64_t> checksum_of(const codec::ByteSource& file, codec::ByteRange range,
                                  std::uint64_t seed) {
  std::vector<std::byte> bytes(std::min(range.size, kReadBytes));
  while (range.size > 0) {
    bytes.resize(std::min(range.size, kReadBytes));
    FRAMEFS_CHECK(file.read_at(range.offset, bytes));
    seed = CommittedState::checksum(bytes, seed);
    range.offset += bytes.size();
    range.size -= bytes.size();
  }
  return seed;
}

std::optional<struct stat> stat_if(const FileReader* file) {
  if (file == nullptr) return std::nullopt;
  const auto st = stat_of(file->fd());
  return st ? std::optional(*st) : std::nullopt;
}

// A read beyond the end means that another writer has truncated the file.
template <class T>
Result<bool> changed_where_cut(const Result<T>& read) {
  if (read.error().kind == Errc::truncated) return false;
  return std::unexpected(read.error());
}

}  // namespace

bool is_header_of(const codec::FrameHeader& header, const FrameHead& head) noexcept {
  // Other writers may set the flag although the frame has no vl-metalayers.
  const auto is_head_with = [&](bool has_vlmetalayers) {
    auto same = head;
    codec::patch_frame_header({.frame_len = header.frame_len,
                               .nbytes = header.nbytes,
                               .cbytes = header.cbytes,
                               .has_vlmetalayers = has_vlmetalayers},
                              same);
    return same == head;
  };
  return is_head_with(true) || is_head_with(false);
}

std::uint64_t CommittedState::checksum(std::span<const std::byte> bytes,
                                       std::uint64_t seed) noexcept {
  // An odd constant that mixes bits well: the golden ratio.
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15ULL;
  const auto mix = [](std::uint64_t sum, std::uint64_t word) {
    sum = (sum ^ word) * kMultiplier;
    return sum ^ (sum >> 32U);
  };
  auto sum = seed;
  while (bytes.size() >= sizeof(std::uint64_t)) {
    sum = mix(sum, codec::load_le<std::uint64_t>(bytes.data()));
    bytes = bytes.subspan(sizeof(std::uint64_t));
  }
  for (const auto byte : bytes) sum = mix(sum, std::to_integer<std::uint64_t>(byte));
  return sum;
}

Status CommittedState::learn(const struct stat& st, const codec::ByteSource& bytes,
                             std::uint64_t header_len, codec::ByteRange tail) {
  State state;
  FRAMEFS_CHECK(bytes.read_at(0, state.head));
  state.device = st.st_dev;
  state.inode = st.st_ino;
  state.keeps_name = st.st_nlink > 0;
  state.header_len = header_len;
  state.tail = tail;
  const auto layers_at = state.head.size();
  FRAMEFS_TRY(state.layers_checksum,
              checksum_of(bytes, {layers_at, header_len - std::min(header_len, layers_at)}, 0));
  FRAMEFS_TRY(state.tail_checksum, checksum_of(bytes, tail, 0));
  state.least_end = static_cast<std::uint64_t>(st.st_size);
  state.most_end = state.least_end;
  // These times were taken before the reads.  A change since then leads to other times.
  state.note_times(st);
  state_.with([&](State& known) { known = state; });
  return {};
}

void CommittedState::learn_empty(const struct stat& st) {
  State state;
  state.device = st.st_dev;
  state.inode = st.st_ino;
  state.keeps_name = st.st_nlink > 0;
  state.note_times(st);
  state_.with([&](State& known) { known = state; });
}

CommittedState::Head CommittedState::head() const {
  return state_.with([](const State& state) { return state.head; });
}

bool CommittedState::looks_like(const State& state, const Head& head, const struct stat& st) {
  const auto end = static_cast<std::uint64_t>(st.st_size);
  if (st.st_dev != state.device) return false;
  const bool is_committed = head == state.head && st.st_ino == state.inode;
  const bool is_next = state.next && head == state.next->first && st.st_ino == state.next->second;
  if (is_next && state.next->second != state.inode) return true;  // its size is not known
  return (is_committed || is_next) && end >= state.least_end && end <= state.most_end;
}

Result<bool> CommittedState::has_same_rest(const State& state, const codec::ByteSource& file) {
  const auto layers_at = state.head.size();
  const auto layers_size = state.header_len - std::min<std::uint64_t>(state.header_len, layers_at);
  const auto layers = checksum_of(file, {layers_at, layers_size}, 0);
  if (!layers) return changed_where_cut(layers);
  const auto tail = checksum_of(file, state.tail, 0);
  if (!tail) return changed_where_cut(tail);
  return *layers == state.layers_checksum && *tail == state.tail_checksum;
}

Result<bool> CommittedState::holds(const FileReader& file) const {
  while (true) {
    const auto before = now();
    Head head{};
    const auto read = file.read_at(0, head);
    if (!read && read.error().kind != Errc::truncated) return std::unexpected(read.error());
    FRAMEFS_TRY(const auto st, stat_of(file.fd()));
    const bool is_read = read || st.st_size == 0;  // an empty file has a header of zeros
    if (!read) head = {};
    const auto after = now();
    if (after.turns != before.turns) continue;
    auto sizes = after;
    sizes.least_end = before.least_end;  // the end of the bytes stored by then
    if (after.keeps_name && st.st_nlink == 0) {
      state_.with([](State& state) { state.is_orphan = state.keeps_name; });
    }
    const bool had_store = before.storing > 0 || after.stores != before.stores;
    if (!is_read || !looks_like(sizes, head, st)) {
      // A read during the write of a header can return half of the old one and half of the new one.
      // The write may have ended before the publication has.
      if (after.next && had_store) continue;
      return false;
    }
    if (had_store || after.next) return true;
    // No program can set this time.
    if (is_same_time(st.st_ctim, after.ctime)) return true;
    FRAMEFS_TRY(const bool is_same, has_same_rest(after, file));
    const bool is_current = state_.with([&](State& state) {
      if (state.turns != before.turns || state.stores != before.stores) return false;
      if (!is_same) return true;
      if (!is_same_time(st.st_mtim, state.mtime)) ++state.touches;
      state.note_times(st);
      return true;
    });
    if (is_current) return is_same;
  }
}

CommittedState::Store::Store(CommittedState& state, const FileReader& file, std::uint64_t end)
    : state_(state), file_(file), end_(end) {
  state_.state_.with([&](State& now) {
    ++now.storing;
    ++now.stores;
    now.most_end = std::max(now.most_end, end);
  });
}

CommittedState::Store::~Store() {
  const bool is_last = state_.state_.with([&](State& now) {
    if (is_done_) now.least_end = std::max(now.least_end, end_);
    ++now.stores;
    return --now.storing == 0;
  });
  if (is_last) state_.note_times(file_);
}

void CommittedState::note_times(const FileReader& file) {
  const auto stores = now().stores;
  const auto st = stat_of(file.fd());
  state_.with([&](State& state) {
    if (st && state.storing == 0 && state.stores == stores) state.note_times(*st);
  });
}

CommittedState::Publication::Publication(CommittedState& state, const Head& head,
                                         const FileReader* next_file)
    : state_(state), head_(head), next_file_(next_file) {
  const auto st = stat_if(next_file);
  state_.state_.with([&](State& now) {
    ++now.turns;
    now.next.emplace(head, st ? st->st_ino : now.inode);
  });
}

CommittedState::Publication::~Publication() {
  if (is_done_) return;
  state_.state_.with([](State& now) {
    ++now.turns;
    now.next.reset();
  });
}

void CommittedState::Publication::done(codec::ByteRange tail, std::uint64_t tail_checksum) {
  const auto st = stat_if(next_file_);
  is_done_ = true;
  state_.state_.with([&](State& state) {
    ++state.turns;
    state.head = head_;
    state.tail = tail;
    state.tail_checksum = tail_checksum;
    state.next.reset();
    if (!st) return;
    if (st->st_ino != state.inode) {
      state.inode = st->st_ino;
      state.least_end = static_cast<std::uint64_t>(st->st_size);
      state.most_end = state.least_end;
    }
    if (state.storing == 0) state.note_times(*st);
  });
}

void CommittedState::expect_removal() {
  state_.with([](State& state) { state.keeps_name = false; });
}

void CommittedState::begin_truncate(std::uint64_t end) {
  state_.with([&](State& state) {
    ++state.turns;
    state.least_end = std::min(state.least_end, end);
  });
}

void CommittedState::truncated(const FileReader& file, std::uint64_t end) {
  const auto st = stat_of(file.fd());
  state_.with([&](State& state) {
    ++state.turns;
    state.least_end = end;
    state.most_end = end;
    if (st && state.storing == 0) state.note_times(*st);
  });
}

}  // namespace framefs::fs
