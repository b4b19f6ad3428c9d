#include "src/pack/compare_sink.h"

#include <algorithm>
#include <vector>

#include "fs/core/files/file.h"

namespace framefs {
namespace {

constexpr std::size_t kCompareBytes = 1u << 20;

codec::Status differs(std::uint64_t at) {
  return codec::fail(codec::Errc::checksum, "the frame does not hold the bytes of its original",
                     at);
}

}  // namespace

codec::Status CompareSink::expect_zeros_until(std::uint64_t offset) {
  std::vector<std::byte> piece;
  while (end_ < offset) {
    piece.resize(std::min<std::uint64_t>(kCompareBytes, offset - end_));
    FRAMEFS_CHECK(fs::read_fully(fd_, begin_ + end_, piece));
    const bool is_zero = std::ranges::all_of(piece, [](std::byte b) { return b == std::byte{0}; });
    if (!is_zero) return differs(end_);
    end_ += piece.size();
  }
  return {};
}

codec::Status CompareSink::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  FRAMEFS_CHECK(expect_zeros_until(offset));
  std::vector<std::byte> piece;
  while (!bytes.empty()) {
    piece.resize(std::min(kCompareBytes, bytes.size()));
    FRAMEFS_CHECK(fs::read_fully(fd_, begin_ + end_, piece));
    if (!std::ranges::equal(piece, bytes.first(piece.size()))) return differs(end_);
    bytes = bytes.subspan(piece.size());
    end_ += piece.size();
  }
  return {};
}

codec::Status CompareSink::truncate(std::uint64_t size) {
  FRAMEFS_CHECK(expect_zeros_until(size));
  FRAMEFS_TRY(const auto st, fs::stat_of(fd_));
  if (static_cast<std::uint64_t>(st.st_size) != begin_ + size) return differs(size);
  return {};
}

}  // namespace framefs
