#include "fs/read/fetched_runs.h"

#include <algorithm>

namespace framefs::fs {

FetchedRuns::FetchedRuns(const codec::ByteSource& source,
                         std::span<const codec::ByteRange> ranges) {
  for (const auto& range : ranges) {
    pieces_.push_back({range, std::vector<std::byte>(range.size)});
  }
  std::ranges::sort(pieces_, {}, [](const Piece& piece) { return piece.range.offset; });
  std::vector<Read> reads;
  for (auto& piece : pieces_) reads.push_back({piece.range.offset, piece.bytes});
  status_ = source.read_ranges(reads);
}

codec::Status FetchedRuns::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (!status_) return status_;
  const auto after = std::ranges::upper_bound(
      pieces_, offset, {}, [](const Piece& piece) { return piece.range.offset; });
  if (after == pieces_.begin()) return codec::fail(codec::Errc::internal, "fetched runs", offset);
  const auto& piece = *std::prev(after);
  const auto within = offset - piece.range.offset;
  if (within > piece.bytes.size() || out.size() > piece.bytes.size() - within) {
    return codec::fail(codec::Errc::internal, "fetched runs", offset);
  }
  std::ranges::copy(std::span(piece.bytes).subspan(within, out.size()), out.begin());
  return {};
}

codec::Result<std::uint64_t> FetchedRuns::size() const {
  if (pieces_.empty()) return 0;
  return pieces_.back().range.offset + pieces_.back().range.size;
}

}  // namespace framefs::fs
