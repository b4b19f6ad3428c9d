#include "codec/compressor/blosclz_encoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace framefs::codec {
namespace {

// Source: chunk format, BloscLZ streams.  The decoder is in blosclz.cc.
constexpr std::uint32_t kLevelMarker = 1 << 5;  // in the first control byte; readers ignore it
constexpr std::size_t kMaxLiterals = 32;        // in one run
constexpr std::size_t kLongLength = 7;      // a length minus two at which more length bytes follow
constexpr std::size_t kFarDistance = 8192;  // distances from here on take two more bytes
constexpr std::size_t kFarEscape = kFarDistance - 1;
constexpr std::size_t kLongestDistance = kFarDistance + 65535;

constexpr std::size_t kShortestMatch = 4;
constexpr std::size_t kShortestFarMatch = 6;  // a shorter one takes as many bytes as literals
// No match begins this close to the end, so that literals can be copied 32 at a time and whole
// words be read.
constexpr std::size_t kEndMargin = 40;
// The stream must end in a literal run, because readers drop a match at the end of the stream.
constexpr std::size_t kLastLiterals = 1;
constexpr std::size_t kShortestInput = 64;
constexpr std::size_t kLongestInput = std::size_t{1} << 30;

constexpr unsigned kTableLog = 15;

// The effort of a level.
struct Effort {
  unsigned hash_log;  // of the used part of the table
  unsigned skip_log;  // after 2^this misses in a row, the search takes longer steps
  unsigned worth;     // at least 1 / this of the input must be saved
};
constexpr std::array<Effort, 10> kEfforts = {{{12, 4, 16},
                                              {12, 4, 16},
                                              {12, 5, 16},
                                              {13, 5, 32},
                                              {13, 6, 32},
                                              {14, 6, 64},
                                              {14, 6, 64},
                                              {14, 7, 64},
                                              {15, 7, 64},
                                              {15, 8, 128}}};

inline std::uint32_t load32(const std::byte* from) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}
inline std::uint64_t load64(const std::byte* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Hashes five bytes, because a match of only four is rarely worth its two bytes.  The hash does not
// depend on the host's byte order, so that all machines write the same stream.
inline std::uint32_t hash_of(const std::byte* from, unsigned hash_log) {
  auto word = load64(from);
  if constexpr (std::endian::native == std::endian::big) word = std::byteswap(word);
  return static_cast<std::uint32_t>(((word << 24) * 889523592379ULL) >> (64 - hash_log));
}

// The number of equal bytes from `a` and `b` on.  `b` is the later position; its range ends at
// `end`.
inline std::size_t common_bytes(const std::byte* a, const std::byte* b, const std::byte* end) {
  const std::byte* const begin = b;
  for (; end - b >= 8; a += 8, b += 8) {
    const auto difference = load64(a) ^ load64(b);
    if (difference == 0) continue;
    const int zeros = std::endian::native == std::endian::little ? std::countr_zero(difference)
                                                                 : std::countl_zero(difference);
    return static_cast<std::size_t>(b - begin) + static_cast<std::size_t>(zeros) / 8;
  }
  for (; b < end && *a == *b; ++a, ++b) {
  }
  return static_cast<std::size_t>(b - begin);
}

// Writes operations while there is room.
class Operations {
 public:
  explicit Operations(std::span<std::byte> out)
      : begin_(out.data()), to_(out.data()), end_(out.data() + out.size()) {}

  // Returns false if there is no room.  Up to kMaxLiterals - 1 bytes after `literals` may be read.
  bool append(std::span<const std::byte> literals, std::size_t length, std::size_t distance) {
    constexpr std::size_t kMaxOfMatch = 6;
    const auto need = literals.size() + literals.size() / kMaxLiterals + length / 255 + kMaxOfMatch;
    if (need + kMaxLiterals > static_cast<std::size_t>(end_ - to_)) return false;
    const auto* from = literals.data();
    auto left = literals.size();
    for (; left > kMaxLiterals; left -= kMaxLiterals) {
      *to_ = std::byte{kMaxLiterals - 1};
      std::memcpy(to_ + 1, from, kMaxLiterals);
      to_ += kMaxLiterals + 1;
      from += kMaxLiterals;
    }
    if (left > 0) {
      *to_ = static_cast<std::byte>(left - 1);
      std::memcpy(to_ + 1, from, kMaxLiterals);
      to_ += left + 1;
    }
    append_match(length, distance);
    return true;
  }

  // Writes the literals that end the stream, at least one.  No operation may follow.  Returns the
  // size of the stream, or 0 if there is no room.
  std::size_t finish(std::span<const std::byte> literals) {
    const auto need = literals.size() + (literals.size() + kMaxLiterals - 1) / kMaxLiterals;
    if (need > static_cast<std::size_t>(end_ - to_)) return 0;
    while (!literals.empty()) {
      const auto run = std::min(literals.size(), kMaxLiterals);
      *to_++ = static_cast<std::byte>(run - 1);
      std::memcpy(to_, literals.data(), run);
      to_ += run;
      literals = literals.subspan(run);
    }
    *begin_ |= std::byte{kLevelMarker};
    return static_cast<std::size_t>(to_ - begin_);
  }

 private:
  void append_match(std::size_t length, std::size_t distance) {
    const auto coded = length - 2;
    const bool far = distance >= kFarDistance;
    const auto low = far ? kFarEscape : distance - 1;
    *to_++ = static_cast<std::byte>(std::min(coded, kLongLength) << 5 | low >> 8);
    if (coded >= kLongLength) {
      auto rest = coded - kLongLength;
      for (; rest >= 255; rest -= 255) *to_++ = std::byte{255};
      *to_++ = static_cast<std::byte>(rest);
    }
    *to_++ = static_cast<std::byte>(low);
    if (!far) return;
    *to_++ = static_cast<std::byte>((distance - kFarDistance) >> 8);
    *to_++ = static_cast<std::byte>(distance - kFarDistance);
  }

  std::byte* const begin_;
  std::byte* to_;
  std::byte* const end_;
};

struct Match {
  const std::byte* at = nullptr;  // null: no match
  std::size_t length = 0;
  std::size_t distance = 0;
};

// Finds matches in one input.
class Finder {
 public:
  Finder(std::span<const std::byte> in, std::uint32_t* table, std::uint32_t epoch,
         const Effort& effort)
      : begin_(in.data()),
        last_(in.data() + (in.size() - kEndMargin)),
        end_(in.data() + (in.size() - kLastLiterals)),
        table_(table),
        epoch_(epoch),
        effort_(effort),
        fewest_(std::size_t{1} << effort.skip_log) {}

  // Records the position of `at` for later matches.
  void note(const std::byte* at) { table_[hash_of(at, effort_.hash_log)] = place_of(at); }

  // Returns the match at `at` and records the position.
  Match match_at(const std::byte* at) {
    auto& entry = table_[hash_of(at, effort_.hash_log)];
    const auto place = place_of(at);
    const auto candidate = entry;
    entry = place;
    if (candidate < epoch_ || place - candidate > kLongestDistance) return {};
    const std::byte* const before = begin_ + (candidate - epoch_);
    if (load32(before) != load32(at)) return {};
    const auto distance = static_cast<std::size_t>(place - candidate);
    const auto length =
        kShortestMatch + common_bytes(before + kShortestMatch, at + kShortestMatch, end_);
    if (distance >= kFarDistance && length < kShortestFarMatch) return {};
    return {at, length, distance};
  }

  // Returns the first match at or after `from` that the search finds, extended to equal bytes
  // before it, down to `from`.  `from` is not the input's first byte.
  Match next_match(const std::byte* from) {
    const auto* at = from;
    for (; at <= last_; at += misses_++ >> effort_.skip_log) {
      auto match = match_at(at);
      if (match.at == nullptr) continue;
      while (match.at > from && match.at - match.distance > begin_ &&
             match.at[-1] == *(match.at - match.distance - 1)) {
        --match.at;
        ++match.length;
      }
      // Only long matches compensate for all earlier misses.
      const auto forgiven = match.length << 2;
      misses_ = misses_ > fewest_ + forgiven ? misses_ - forgiven : fewest_;
      return match;
    }
    return {};
  }

  [[nodiscard]] bool is_beyond(const std::byte* at) const { return at > last_; }

 private:
  [[nodiscard]] std::uint32_t place_of(const std::byte* at) const {
    return epoch_ + static_cast<std::uint32_t>(at - begin_);
  }

  const std::byte* const begin_;
  const std::byte* const last_;  // the last position where a match may begin
  const std::byte* const end_;   // the end of the bytes that matches may cover
  std::uint32_t* const table_;
  const std::uint32_t epoch_;
  const Effort effort_;
  const std::size_t fewest_;
  std::size_t misses_ = fewest_;
};

}  // namespace

std::size_t BlosclzEncoder::encode(int level, std::span<const std::byte> in,
                                   std::span<std::byte> out) {
  if (in.size() < kShortestInput || in.size() >= kLongestInput) return 0;
  if (table_.empty() || epoch_ > std::numeric_limits<std::uint32_t>::max() - kLongestInput) {
    table_.assign(std::size_t{1} << kTableLog, 0);
    epoch_ = 1;
  }
  const auto& effort = kEfforts[static_cast<std::size_t>(std::clamp(level, 1, 9))];
  const auto most = in.size() - in.size() / effort.worth;
  Finder finder(in, table_.data(), epoch_, effort);
  epoch_ += static_cast<std::uint32_t>(in.size());

  Operations operations(out.first(std::min(out.size(), most)));
  const std::byte* done = in.data();
  finder.note(done);
  const std::byte* from = done + 1;  // the first operation is a literal run
  while (!finder.is_beyond(from)) {
    const auto match = finder.next_match(from);
    if (match.at == nullptr) break;
    if (!operations.append({done, match.at}, match.length, match.distance)) return 0;
    done = match.at + match.length;
    from = done;
    if (!finder.is_beyond(done)) finder.note(done - 2);
  }
  return operations.finish({done, in.data() + in.size()});
}

}  // namespace framefs::codec
