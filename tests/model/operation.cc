#include "tests/model/operation.h"

#include <algorithm>

#include <fmt/core.h>

namespace framefs::test {
namespace {

// Multiples of these are likely borders of chunks, blocks and pages.
constexpr std::uint64_t kBorders[] = {512, 4096, 16384, 65536, 131072, 1000, 123456};

}  // namespace

const char* operation_name(OperationKind kind) noexcept {
  constexpr const char* kNames[] = {"write",    "append", "truncate", "punch", "zero",
                                    "allocate", "mmap",   "direct",   "sync",  "reopen",
                                    "rename",   "xattr",  "read",     "seek",  "check"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string Operation::text() const {
  return fmt::format("{} offset {} size {} seed {}", operation_name(kind), offset, size, seed);
}

OperationSource::OperationSource(std::uint64_t seed, OperationShares shares,
                                 std::uint64_t most_file_bytes, std::uint64_t most_write_bytes)
    : random_(seed),
      shares_(std::move(shares)),
      most_file_bytes_(most_file_bytes),
      most_write_bytes_(std::min(most_write_bytes, most_file_bytes)) {
  for (const auto& [kind, share] : shares_) all_shares_ += share;
}

std::uint64_t OperationSource::draw_offset(std::uint64_t file_size) {
  const auto border = kBorders[draw(std::size(kBorders))];
  switch (draw(6)) {
    case 0:
      return file_size;
    case 1:  // on a border
      return draw(most_file_bytes_ / border + 1) * border;
    case 2: {  // close to one
      const auto at = draw(most_file_bytes_ / border + 1) * border + draw(9);
      return at - std::min<std::uint64_t>(at, 4);
    }
    case 3:
      return draw(most_file_bytes_);
    default:
      return draw(file_size + 1);
  }
}

std::uint64_t OperationSource::draw_size() {
  const auto border = kBorders[draw(std::size(kBorders))];
  switch (draw(5)) {
    case 0:
      return 1 + draw(16);
    case 1:
      return border;
    case 2:
      return 1 + draw(4096);
    default:
      return 1 + draw(1 + draw(most_write_bytes_));
  }
}

Operation OperationSource::next(std::uint64_t file_size) {
  auto left = draw(all_shares_);
  auto at = shares_.begin();
  while (left >= at->second) left -= (at++)->second;
  Operation next{.kind = at->first, .seed = static_cast<std::uint32_t>(random_())};
  next.offset = std::min(draw_offset(file_size), most_file_bytes_ - 1);
  next.size = std::clamp<std::uint64_t>(draw_size(), 1, most_write_bytes_);
  if (next.kind == OperationKind::append) next.offset = std::min(file_size, most_file_bytes_ - 1);
  next.size = std::min(next.size, most_file_bytes_ - next.offset);
  // If truncations often halved the files, they would stay small.
  if (next.kind != OperationKind::truncate) return next;
  const auto how = draw(8);
  if (how == 0) next.offset = 0;
  if (how > 2) {
    next.offset =
        std::min(most_file_bytes_, file_size - std::min(file_size, draw(5000)) + draw(5000));
  }
  return next;
}

void fill_data(std::span<std::byte> out, std::uint32_t seed) {
  std::uint64_t state = seed * 0x9e37'79b9'7f4a'7c15 + 1;
  const auto next = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  const auto kind = next() % 5;
  const auto first = next();
  constexpr std::string_view kText = "alpha bravo charlie delta echo foxtrot golf hotel ";
  std::uint64_t word = first;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto within = i % 8;
    if (kind == 2 && within == 0) word = first + i / 8 * 3;
    if (kind == 4 && within == 0) word = next();
    const auto byte = kind == 0   ? 0
                      : kind == 3 ? static_cast<std::uint8_t>(kText[(first + i) % kText.size()])
                      : kind == 1 ? first & 0xff
                                  : word >> (8 * within) & 0xff;
    out[i] = static_cast<std::byte>(byte);
  }
}

}  // namespace framefs::test
