#include "fs/read/fetched_runs.h"

#include <algorithm>

namespace framefs::fs {

FetchedRuns::FetchedRuns(const codec::ByteSource& source, std::span<const codec::ByteRange> ranges,
                         codec::Scratch& memory) {
  std::uint64_t total = 0;
  for (const auto& range : ranges) total += range.size;
  auto free = memory.take(total);
  for (const auto& range : ranges) {
    pieces_.push_back({range, free.first(range.size)});
    free = free.subspan(range.size);
  }
  std::ranges::sort(pieces_, {}, [](const Piece& piece) { return piece.range.offset; });
  std::vector<Read> reads;
  reads.reserve(pieces_.size());
  for (const auto& [range, bytes] : pieces_) reads.push_back({range.offset, bytes});
  status_ = source.read_ranges(reads);
}

codec::Result<std::span<const std::byte>> FetchedRuns::bytes_at(codec::ByteRange range) const {
  const auto [offset, size] = range;
  if (!status_) return std::unexpected(status_.error());
  const auto after = std::ranges::upper_bound(
      pieces_, offset, {}, [](const Piece& piece) { return piece.range.offset; });
  if (after == pieces_.begin()) return codec::fail(codec::Errc::internal, "fetched runs", offset);
  const auto& piece = *std::prev(after);
  const auto within = offset - piece.range.offset;
  if (within > piece.range.size || size > piece.range.size - within) {
    return codec::fail(codec::Errc::internal, "fetched runs", offset);
  }
  return piece.bytes.subspan(within, size);
}

codec::Status FetchedRuns::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  FRAMEFS_TRY(const auto bytes, bytes_at({offset, out.size()}));
  std::ranges::copy(bytes, out.begin());
  return {};
}

codec::Result<std::uint64_t> FetchedRuns::size() const {
  if (pieces_.empty()) return 0;
  return pieces_.back().range.offset + pieces_.back().range.size;
}

}  // namespace framefs::fs
