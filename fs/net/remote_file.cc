#include "fs/net/remote_file.h"

#include <algorithm>
#include <array>

namespace framefs::net {

Status RemoteFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  return read_ranges(std::array{Read{offset, out}});
}

Status RemoteFile::read_ranges(std::span<const Read> reads) const {
  const auto tail = tail_of(object_->version().size);
  const bool reads_tail = std::ranges::any_of(
      reads, [&](const Read& read) { return read.offset >= tail.offset && !read.out.empty(); });
  if (reads_tail) scheduler_.expect(object_, std::array{tail}, {});
  return scheduler_.read(object_, reads, ahead_);
}

void RemoteFile::expect(std::span<const ByteRange> now, std::span<const ByteRange> next) const {
  scheduler_.expect(object_, now, next);
}

}  // namespace framefs::net
