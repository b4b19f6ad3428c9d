#include "tests/crash/disk_file.h"

#include <fcntl.h>

#include <algorithm>

#include "tests/support/fast_hash.h"

namespace framefs::test {
namespace {

constexpr std::uint64_t kSectorBytes = 512;

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// The range that a change overwrites, in a file that never exceeds `most` bytes.
Range range_of(const DiskFile::Change& change, std::uint64_t most) {
  if (change.kind == RecordKind::write) return {change.offset, change.offset + change.data.size()};
  if (change.kind == RecordKind::truncate) return {std::min(change.offset, most), most};
  if ((change.mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) == 0) return {};
  return {std::min(change.offset, most), std::min(change.offset + change.size, most)};
}

std::uint64_t size_after(std::uint64_t size, const DiskFile::Change& change) {
  if (change.kind == RecordKind::write) return std::max(size, change.offset + change.data.size());
  if (change.kind == RecordKind::truncate) return change.offset;
  if ((change.mode & FALLOC_FL_KEEP_SIZE) != 0) return size;
  return std::max(size, change.offset + change.size);
}

void copy_part(Bytes& bytes, const DiskFile::Change& change, Range part) {
  const auto to = std::span(bytes).subspan(part.begin, part.end - part.begin);
  if (change.kind == RecordKind::write) {
    std::ranges::copy(change.data.subspan(part.begin - change.offset, to.size()), to.begin());
  } else {
    std::ranges::fill(to, std::byte{0});
  }
}

std::uint64_t draw_below(std::uint64_t limit, std::uint64_t seed, std::uint64_t which) {
  FastHash hash;
  hash.add(seed);
  hash.add(which);
  return (hash.value() >> 16) % limit;
}

constexpr std::uint64_t kSize = ~std::uint64_t{0};  // not the number of any sector

}  // namespace

const char* loss_name(Loss loss) noexcept {
  constexpr const char* kNames[] = {"nothing", "all", "ends", "sectors", "one"};
  return kNames[static_cast<std::size_t>(loss)];
}

void DiskFile::sync(std::uint64_t moment) {
  const auto end =
      std::ranges::find_if(pending_, [&](const Change& change) { return change.moment >= moment; });
  for (auto change = pending_.begin(); change != end; ++change) {
    durable_.resize(std::max<std::size_t>(durable_.size(), size_after(durable_.size(), *change)));
    const auto range = range_of(*change, durable_.size());
    copy_part(durable_, *change, range);
    if (change->kind == RecordKind::truncate) durable_.resize(change->offset);
  }
  pending_.erase(pending_.begin(), end);
}

std::uint64_t DiskFile::Left::in_sector(std::uint64_t sector) const {
  switch (loss) {
    case Loss::nothing:
      return all;
    case Loss::all:
      return 0;
    case Loss::ends:
      return chosen;
    case Loss::sectors: {
      // Often no change or all changes: with many changes, a state in between rarely differs.
      const auto drawn = draw_below(3 * (all + 1), seed, sector);
      return drawn <= all ? drawn : (drawn - all) % 2 == 0 ? 0 : all;
    }
    case Loss::one: {
      const auto range = range_of(*lost, kSize);
      const auto begin = sector * kSectorBytes;
      return range.begin < begin + kSectorBytes && begin < range.end ? chosen : all;
    }
  }
  return all;
}

std::uint64_t DiskFile::Left::of_size() const {
  if (loss != Loss::one) return in_sector(kSize);
  return draw_below(2, seed, kSize) == 0 ? chosen : all;
}

Bytes DiskFile::bytes_after(Loss loss, std::uint64_t seed) const {
  Left left{.loss = loss, .seed = seed, .all = pending_.size()};
  if (pending_.empty() || loss == Loss::all) return durable_;
  if (loss == Loss::ends) left.chosen = draw_below(left.all + 1, seed, kSize);
  if (loss == Loss::one) {
    left.chosen = draw_below(left.all, seed, kSize - 1);
    left.lost = &pending_[left.chosen];
  }

  std::uint64_t size = durable_.size();
  std::uint64_t most = size;
  std::uint64_t final_size = size;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    size = size_after(size, pending_[i]);
    most = std::max(most, size);
    if (i < left.of_size()) final_size = size;
  }
  Bytes bytes = durable_;
  bytes.resize(most);
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    auto range = range_of(pending_[i], most);
    while (range.begin < range.end) {
      const auto sector = range.begin / kSectorBytes;
      const auto end = std::min(range.end, (sector + 1) * kSectorBytes);
      if (i < left.in_sector(sector)) copy_part(bytes, pending_[i], {range.begin, end});
      range.begin = end;
    }
  }
  bytes.resize(final_size);
  return bytes;
}

}  // namespace framefs::test
