#include "codec/chunk/encode_trial.h"

#include <algorithm>
#include <array>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/filter/filter_ids.h"

namespace framefs::codec {
namespace {

struct Candidate {
  std::uint32_t typesize;
  FilterChoice filter;
};

// All combinations to try, the simplest first.
std::vector<Candidate> candidates(const EncodeHints& hints) {
  std::vector<Candidate> all;
  for (const auto filter : {FilterChoice::none, FilterChoice::shuffle, FilterChoice::bitshuffle,
                            FilterChoice::bytedelta}) {
    // Bytedelta is too special to be tried unless the user asks for it.
    if (hints.filter ? filter != *hints.filter : filter == FilterChoice::bytedelta) continue;
    if (hints.typesize) {
      all.push_back({*hints.typesize, filter});
      continue;
    }
    for (const std::uint32_t typesize : {1U, 2U, 4U, 8U}) {
      // The typesize matters only to a filter, and shuffle does nothing for single bytes.
      const bool idle = (filter == FilterChoice::none && typesize != 1) ||
                        (filter == FilterChoice::shuffle && typesize == 1);
      if (!idle || hints.filter) all.push_back({typesize, filter});
    }
  }
  return all;
}

// Pieces from the beginning, the middle and the end.  Each starts at a multiple of every tried
// typesize.
std::vector<std::span<const std::byte>> pieces_of(std::span<const std::byte> sample) {
  constexpr std::size_t kPieces = 4;
  constexpr std::size_t kPieceBytes = 64u << 10;
  if (sample.size() <= kPieces * kPieceBytes) return {sample};
  std::vector<std::span<const std::byte>> pieces;
  pieces.reserve(kPieces);
  const std::size_t step = (sample.size() - kPieceBytes) / (kPieces - 1) / 64 * 64;
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces.push_back(sample.subspan(i * step, kPieceBytes));
  }
  return pieces;
}

// Filters arrange the bytes of numbers, so that text gains next to nothing from them.
bool is_text(std::span<const std::byte> sample) {
  std::size_t beyond_ascii = 0;
  for (const auto byte : sample) {
    const auto value = std::to_integer<unsigned>(byte);
    constexpr unsigned kDelete = 0x7f;
    const bool is_space = value >= '\t' && value <= '\r';
    if ((value < ' ' && !is_space) || value == kDelete) return false;
    if (value > kDelete) ++beyond_ascii;
  }
  return beyond_ascii <= sample.size() / 4;
}

// Whether bytes look random: compressed or encrypted data.  At each place within an item of up to
// eight bytes, all values are as frequent as in random bytes, and items do not repeat the bytes of
// the item before.
bool is_noise(std::span<const std::byte> sample) {
  constexpr std::size_t kPlaces = 8;
  constexpr std::size_t kValues = 256;
  const auto items = sample.size() / kPlaces;
  std::array<std::array<std::uint32_t, kValues>, kPlaces> counts{};
  std::size_t repeated = 0;
  for (std::size_t i = 0; i < items * kPlaces; ++i) {
    ++counts[i % kPlaces][std::to_integer<std::size_t>(sample[i])];
    if (i >= kPlaces && sample[i] == sample[i - kPlaces]) ++repeated;
  }
  if (repeated * kValues > 2 * sample.size()) return false;
  std::uint64_t squares = 0;
  for (const auto& place : counts) {
    for (const std::uint64_t count : place) squares += count * count;
  }
  // Pearson's chi-squared statistic, times the number of items.  For random bytes its mean is one
  // less than the number of values, for each place, and its deviation for all places together is
  // 64.  A quarter of the mean above it, a filter could save 1 % of 4 KiB, and less of more.  Far
  // below it, the bytes are those of a counter.
  const auto found = squares * kValues;
  const auto none = std::uint64_t{items} * items * kPlaces;
  const auto mean = std::uint64_t{items} * kPlaces * (kValues - 1);
  return found >= none + mean - mean / 4 && found <= none + mean + mean / 4;
}

EncodeParams with(EncodeParams params, const Candidate& candidate) {
  params.typesize = candidate.typesize;
  params.filters = slots_of(candidate.filter);
  return params;
}

}  // namespace

FilterSlots slots_of(FilterChoice filter) noexcept {
  namespace id = filter_id;
  FilterSlots slots{};
  switch (filter) {
    case FilterChoice::none:
      break;
    case FilterChoice::shuffle:
      slots[5].id = id::kShuffle;
      break;
    case FilterChoice::bitshuffle:
      slots[5].id = id::kBitshuffle;
      break;
    case FilterChoice::bytedelta:
      slots[4].id = id::kShuffle;
      slots[5].id = id::kBytedelta;
      break;
  }
  return slots;
}

Result<EncodeParams> choose_params_by_trial(const EncodeParams& params, const EncodeHints& hints,
                                            std::span<const std::byte> sample) {
  constexpr int kHighestTriedLevel = 5;  // the best choice does not change at higher levels
  const auto tried = candidates(hints);
  // Such data takes one disk block with any filter, and says little about the data that may follow.
  constexpr std::size_t kMinSample = 1024;
  if (tried.size() == 1 || sample.size() < kMinSample) return with(params, tried.front());
  // A trial takes ten times as long as encoding the sample, which matters where a file is no
  // larger.
  constexpr std::size_t kMaxSmallSample = 64u << 10;
  const bool is_small = sample.size() <= kMaxSmallSample;
  if (!hints.filter && is_small && (is_text(sample) || is_noise(sample))) {
    return with(params, tried.front());
  }
  auto trial = params;
  trial.clevel = std::clamp(params.clevel, 1, kHighestTriedLevel);
  trial.blocksize = 0;
  ChunkEncoder encoder;
  std::vector<std::byte> out;
  std::size_t best_bytes = 0;
  auto best = tried.front();
  for (const auto& candidate : tried) {
    std::size_t bytes = 0;
    for (const auto piece : pieces_of(sample)) {
      out.resize(ChunkPlan::max_bytes(piece.size()));
      FRAMEFS_TRY(const auto size, encoder.encode(with(trial, candidate), piece, out));
      bytes += size;
    }
    const bool first = &candidate == &tried.front();
    if (first || bytes + best_bytes / 50 < best_bytes) {
      best_bytes = bytes;
      best = candidate;
    }
  }
  return with(params, best);
}

}  // namespace framefs::codec
