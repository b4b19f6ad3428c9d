#include "fs/read/next_reads.h"

#include <algorithm>

namespace framefs::fs {
namespace {

// The kernel's requests for the parts of one read(2) overtake each other by up to this much.
constexpr std::uint64_t kDisorder = 256u << 10;
// The part of a run that may not have been requested.
constexpr std::uint64_t kGapShare = 4;
// Page faults of a mapping, and readers of a header through a buffer, make smaller requests.
constexpr std::uint64_t kLargeRequest = 64u << 10;
// Most programs that read the beginning of a file by large requests go on to its end.  They may
// read the header before.
constexpr std::uint64_t kBeginning = 256u << 10;
// A shorter run, with what the kernel reads around it, is a part of a slice as often as not.
constexpr std::uint64_t kMinRun = 192u << 10;
// Windows.
constexpr std::uint64_t kFirstWindow = 8u << 20;
constexpr std::uint64_t kMaxWindow = 64u << 20;
constexpr std::uint64_t kGrowth = 4;
constexpr std::uint64_t kStepsPerWindow = 8;
// The number of reads by which a reader shows that it is back in the run before the last one.
constexpr unsigned kReadsOfReturn = 2;
// The kernel reads around page faults, so that runs do not begin and end where the reader does.
constexpr std::uint64_t kRounding = 16u << 10;
// A shorter run, with what the kernel reads around it, may be a row.
constexpr std::uint64_t kMinRunOfBands = 3 * kRounding;
// The number of bands that were read for each band that is named.
constexpr std::uint64_t kBandsPerBand = 3;
// The number of equal distances that precede a forecast, and, in a file without bands, the number
// for each run that is named.
constexpr std::uint64_t kRegular = 2;
constexpr std::uint64_t kDistancesPerRun = 4;
constexpr std::uint64_t kMaxRuns = 64;

bool is_about(std::uint64_t a, std::uint64_t b) noexcept {
  return std::max(a, b) - std::min(a, b) <= kRounding;
}

// The number of bands that a series of runs which has come to `count` bands probably wants.
std::uint64_t bands_after(std::uint64_t count) noexcept {
  return count < 2 ? 0 : std::max<std::uint64_t>(1, count / kBandsPerBand);
}

}  // namespace

bool NextReads::Run::is_continued_by(ByteRange read) const noexcept {
  // The first requests of a run may be overtaken, too.
  const bool is_before = read.offset < begin;
  if (is_before && (size() > kDisorder || read.offset + kDisorder < begin)) return false;
  if (read.offset > end + kDisorder) return false;
  auto longer = *this;
  longer.add(read);
  const auto gap = longer.size() - std::min(longer.size(), longer.bytes);
  return gap <= std::max(longer.size() / kGapShare, kRounding);
}

void NextReads::Run::add(ByteRange read) noexcept {
  begin = std::min(begin, read.offset);
  end = std::max(end, read.offset + read.size);
  bytes += read.size;
  const bool is_large = read.size >= kLargeRequest;
  has_large_begin = has_large_begin || (is_large && begin < kBeginning);
}

std::uint64_t NextReads::bytes_to_next_band() const noexcept {
  if (run_.size() < kMinRunOfBands) return 0;
  std::uint64_t to = run_.end;
  for (const auto& axis : grid_.axes()) {
    const auto begin = run_.begin + kRounding;
    // A reader of the outer axis comes to the end of this one.
    if (grid_.end_of_extent(axis, begin) < run_.end || axis.band_bytes < kRounding) continue;
    const auto count = grid_.band(axis, run_.end - 1) - grid_.band(axis, begin) + 1;
    if (count == 2) to = std::max(to, grid_.end_of_band(axis, run_.end - 1, 1));
  }
  return to - run_.end;
}

std::uint64_t NextReads::bytes_to_end_of_part() const noexcept {
  auto part = kMaxWindow;
  for (const auto& axis : grid_.axes()) {
    const auto end = grid_.end_of_extent(axis, run_.begin + kRounding);
    if (end > run_.end) part = end - run_.end;  // the last one is the smallest
  }
  return part;
}

// A run is expected to be as long as the two before it.  One that goes on behind their ends has no
// end that is known.
std::uint64_t NextReads::window() const noexcept {
  const auto size = run_.size();
  const auto large = std::min(kGrowth * size, kMaxWindow);
  if (run_.has_large_begin) return std::max(large, kFirstWindow);
  const auto [shortest, longest] = std::ranges::minmax(last_sizes_);
  if (size > longest + kRounding) {
    return size > kMinRun ? std::min(large, bytes_to_end_of_part()) : bytes_to_next_band();
  }
  return shortest > size + kRounding ? shortest - size : 0;
}

bool NextReads::belongs_to_last(ByteRange read) noexcept {
  if (!last_.is_continued_by(read)) return false;
  last_.add(read);
  if (++late_reads_ < kReadsOfReturn) return true;
  // A copy of much memory touches the end first, and goes on behind its begin.
  std::swap(last_, run_);
  late_reads_ = 0;
  named_to_ = 0;
  return true;
}

// Whole steps of an axis whose steps are long enough to tell.
std::uint64_t NextReads::rounded(std::uint64_t distance) const noexcept {
  const auto* const axis = grid_.axis_of(distance + kRounding);
  if (axis == nullptr || axis->step_bytes < 4 * kRounding) return distance;
  const auto whole = (distance + kRounding) / axis->step_bytes * axis->step_bytes;
  return is_about(distance, whole) ? whole : distance;
}

void NextReads::begin_run(ByteRange read) {
  const auto distance = rounded(read.offset - std::min(read.offset, run_.begin));
  // Overtaken requests may have moved the begin of the run before.
  const bool is_forward = distance != 0 && distance_ != 0 && run_.begin > first_begin_;
  const bool is_equal = is_forward && is_about(distance, distance_);
  if (is_equal) {
    // Only the runs before are complete.  The mean does not let the error of one distance add up.
    distance_ = rounded((run_.begin - first_begin_) / ++distances_);
  } else {
    distances_ = 0;
    distance_ = distance;
    first_begin_ = run_.begin;
  }
  // The kernel's read-ahead makes some of the runs longer.
  run_size_ = distances_ > 1 ? std::min(run_size_, run_.size()) : run_.size();
  last_sizes_ = {last_sizes_[1], run_.size()};
  last_ = run_;
  late_reads_ = 0;
  run_ = {.begin = read.offset, .end = read.offset};
  named_to_ = 0;
}

bool NextReads::is_regular() const noexcept { return distances_ >= kRegular; }

std::uint64_t NextReads::count_of_next_runs() const noexcept {
  const auto* const axis = grid_.axis_of(distance_);
  if (axis == nullptr) {
    return std::clamp<std::uint64_t>(distances_ / kDistancesPerRun, 1, kMaxRuns);
  }
  const auto begin = run_.begin + kRounding;
  const auto bands = grid_.band(*axis, begin) - grid_.band(*axis, first_begin_ + kRounding) + 1;
  // Each run has a band of its own, or several runs share one.
  const bool is_sparse = distance_ >= axis->band_bytes;
  const auto ahead = bands_after(is_sparse ? distances_ + 1 : bands);
  const auto end = is_sparse
                       ? std::min(begin + ahead * distance_ + 1, grid_.end_of_extent(*axis, begin))
                       : grid_.end_of_band(*axis, begin, ahead);
  return std::min((end - 1 - begin) / distance_, kMaxRuns);
}

// All of this run, and the same part of some runs that follow.
std::vector<ByteRange> NextReads::next_runs() const {
  std::vector<ByteRange> runs;
  const auto more = count_of_next_runs();
  for (std::uint64_t i = 0; i <= more; ++i) {
    runs.push_back({first_begin_ + (distances_ + 1 + i) * distance_, run_size_});
  }
  return runs;
}

std::vector<ByteRange> NextReads::note(ByteRange read) {
  const bool is_new = !run_.is_continued_by(read);
  if (is_new && belongs_to_last(read)) return {};
  if (is_new) begin_run(read);
  run_.add(read);
  if (is_new && is_regular()) return next_runs();
  if (is_regular() && run_.size() <= run_size_ + kRounding) return {};
  const auto window = this->window();
  if (window == 0) return {};
  const auto to = run_.end + window;
  if (to < named_to_ + window / kStepsPerWindow) return {};
  named_to_ = to;
  return {{run_.end, window}};
}

}  // namespace framefs::fs
