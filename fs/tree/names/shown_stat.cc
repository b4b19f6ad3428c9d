#include "fs/tree/names/shown_stat.h"

#include <algorithm>

#include "fs/source/shown_access.h"

namespace framefs::fs {
namespace {

// The root of a mount of one entry is not the entry, and an array's bytes are not its .npy file:
// they need different inode numbers.  Filesystems number upwards from small values, so the high
// bits are free to tell them apart.
constexpr std::uint64_t kSingleEntryInode = std::uint64_t{1} << 61;
constexpr std::uint64_t kArrayInode = std::uint64_t{1} << 62;

// A chunk is the natural block of a frame, within the buffer sizes that tools use.
blksize_t shown_block_size(std::uint64_t chunksize) {
  constexpr std::uint64_t kMin = 4u << 10;
  constexpr std::uint64_t kMax = 1u << 20;
  return static_cast<blksize_t>(std::clamp(chunksize, kMin, kMax));
}

// A user who may read a container may search it as a directory.
mode_t directory_mode(mode_t file_mode) {
  const mode_t readable = file_mode & (S_IRUSR | S_IRGRP | S_IROTH);
  return S_IFDIR | readable | (readable >> 2U);
}

}  // namespace

std::uint64_t shown_inode_of(std::uint64_t inode, ShownAs shown_as, ArrayViews arrays) {
  if (shown_as == ShownAs::single_entry) return inode ^ kSingleEntryInode;
  const bool is_second = shown_as == ShownAs::array && arrays == ArrayViews::both;
  return is_second ? inode ^ kArrayInode : inode;
}

struct stat shown_stat(const SourceEntry& entry, ShownAs shown_as, ArrayViews arrays,
                       std::uint64_t inode) {
  struct stat st = entry.content_stat();
  const auto& summary = entry.summary;
  st.st_ino = shown_inode_of(inode, shown_as, arrays);
  if (entry.index_stat) intersect_access(st, entry.stat);
  if (entry.index_stat) st.st_blocks = static_cast<blkcnt_t>((summary.stored_bytes + 511) / 512);
  switch (shown_as) {
    case ShownAs::itself:
      return st;
    case ShownAs::frame:
      st.st_size = static_cast<off_t>(summary.nbytes);
      break;
    case ShownAs::array:
      st.st_size = static_cast<off_t>(summary.array_bytes);
      break;
    case ShownAs::npy:
      st.st_size = static_cast<off_t>(summary.npy_bytes + summary.array_bytes);
      break;
    case ShownAs::single_entry:
    case ShownAs::container:
      st.st_mode = directory_mode(st.st_mode);
      st.st_size = 0;
      return st;
  }
  st.st_blksize = shown_block_size(summary.chunksize);
  return st;
}

std::string directory_part(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string name_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace framefs::fs
