#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace framefs::test {

// A log of every event that matters for a crash, in the order of the events.  The recorder logs
// what the daemon does to the files below SOURCE; the workload adds marks with what it knows about
// them.  Each record is appended by one writev(2), so that several processes can write to the log.
//
// A record is a RecordHead, then `path`, `path2` and `data`.  Paths are relative to SOURCE.
// NOLINTNEXTLINE(performance-enum-size): without padding in the head
enum class RecordKind : std::uint64_t {
  create = 1,      // path, inode: opened with O_CREAT; the file may have existed
  open_unnamed,    // inode: opened with O_TMPFILE
  write,           // path, inode, offset, data
  truncate,        // path, inode, offset: the new size
  allocate,        // path, inode, flags: the mode, offset, size
  sync_begin,      // path, inode, size: a number that the sync_end repeats
  sync_all_begin,  // size: as above; for the whole filesystem
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
// No padding, so that it can be written as it is.
static_assert(sizeof(RecordHead) == 56);

inline std::array<std::byte, sizeof(RecordHead)> as_stored(const RecordHead& head) {
  return std::bit_cast<std::array<std::byte, sizeof(RecordHead)>>(head);
}

// `stored` has the size of a head.
inline RecordHead as_head(std::span<const std::byte> stored) {
  std::array<std::byte, sizeof(RecordHead)> bytes{};
  std::memcpy(bytes.data(), stored.data(), bytes.size());
  return std::bit_cast<RecordHead>(bytes);
}

// Environment variables for the recorder.
inline constexpr const char* kRecordSource = "FRAMEFS_RECORD_SOURCE";  // an absolute, real path
inline constexpr const char* kRecordLog = "FRAMEFS_RECORD_LOG";

}  // namespace framefs::test
