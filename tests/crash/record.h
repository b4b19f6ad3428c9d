#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace framefs::test {

// One log of everything that matters to a crash, in the order in which it happened: what the daemon did to
// the files below SOURCE, which the recorder notes, and between it what the workload knows of them, its
// marks.  Each record is appended by one writev(2), so that several processes may write to the log.
//
// A record is a RecordHead, then `path`, `path2` and `data`.  Paths are relative to SOURCE.
enum class RecordKind : std::uint64_t {
  create = 1,      // path, inode: opened with O_CREAT, whether or not it was there
  open_unnamed,    // inode: opened with O_TMPFILE
  write,           // path, inode, offset, data
  truncate,        // path, inode, offset: the new size
  allocate,        // path, inode, flags: the mode, offset, size
  sync_begin,      // path, inode, size: a number that its end repeats
  sync_all_begin,  // size: likewise; of the whole filesystem
  sync_end,        // size
  rename,          // path, path2, flags
  link,            // path2: the new name, inode
  unlink,          // path
  make_directory,  // path
  make_symlink,    // path
  mark,            // data: text, see history.h
};

struct RecordHead {
  RecordKind kind{};
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t flags = 0;
  std::uint32_t path_size = 0;
  std::uint32_t path2_size = 0;
  std::uint64_t data_size = 0;
};
// No padding, so that it may be written as it is.
static_assert(sizeof(RecordHead) == 56);

inline std::array<std::byte, sizeof(RecordHead)> as_stored(const RecordHead& head) {
  return std::bit_cast<std::array<std::byte, sizeof(RecordHead)>>(head);
}

// `stored` has as many bytes as a head.
inline RecordHead as_head(std::span<const std::byte> stored) {
  std::array<std::byte, sizeof(RecordHead)> bytes{};
  std::memcpy(bytes.data(), stored.data(), bytes.size());
  return std::bit_cast<RecordHead>(bytes);
}

// The environment variables that tell the recorder what to do.
inline constexpr const char* kRecordSource = "FRAMEFS_RECORD_SOURCE";  // an absolute, real path
inline constexpr const char* kRecordLog = "FRAMEFS_RECORD_LOG";

}  // namespace framefs::test
