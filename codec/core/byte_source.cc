#include "codec/core/byte_source.h"

#include <algorithm>
#include <vector>

namespace framefs::codec {

Status ByteWindow::read_ranges(std::span<const Read> reads) const {
  std::vector<Read> moved;
  moved.reserve(reads.size());
  for (const auto& [offset, out] : reads) {
    if (offset > size_ || out.size() > size_ - offset) {
      return fail(Errc::truncated, "byte window", offset);
    }
    moved.push_back({begin_ + offset, out});
  }
  return whole_.read_ranges(moved);
}

void ByteWindow::expect(std::span<const ByteRange> now, std::span<const ByteRange> next) const {
  const auto moved = [this](std::span<const ByteRange> ranges) {
    std::vector<ByteRange> in_whole;
    in_whole.reserve(ranges.size());
    for (const auto& range : ranges) {
      const auto offset = std::min(range.offset, size_);
      in_whole.push_back({begin_ + offset, std::min(range.size, size_ - offset)});
    }
    return in_whole;
  };
  whole_.expect(moved(now), moved(next));
}

Status MemorySource::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
    return fail(Errc::truncated, "source", offset);
  }
  std::copy_n(bytes_.data() + offset, out.size(), out.data());
  return {};
}

}  // namespace framefs::codec
