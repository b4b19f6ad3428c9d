#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framefs::test {

// The operations on an open file, and the ways to examine it.
enum class OperationKind : std::uint8_t {
  write,
  append,
  truncate,  // to a smaller or a larger size
  punch,     // fallocate(2), FALLOC_FL_PUNCH_HOLE
  zero,      // fallocate(2), FALLOC_FL_ZERO_RANGE
  allocate,  // fallocate(2), which may extend the file
  mmap_write,
  write_direct,  // O_DIRECT
  sync,
  reopen,     // closes the file, and opens it again in one of several ways
  rename,     // to a new name, or over another file
  set_xattr,  // a vl-metalayer
  read,       // a range, in one of several ways
  seek,       // SEEK_HOLE and SEEK_DATA
  check,      // everything
};
inline constexpr OperationKind kOperationKinds[] = {
    OperationKind::write,      OperationKind::append,       OperationKind::truncate,
    OperationKind::punch,      OperationKind::zero,         OperationKind::allocate,
    OperationKind::mmap_write, OperationKind::write_direct, OperationKind::sync,
    OperationKind::reopen,     OperationKind::rename,       OperationKind::set_xattr,
    OperationKind::read,       OperationKind::seek,         OperationKind::check};
const char* operation_name(OperationKind kind) noexcept;

struct Operation {
  OperationKind kind{};
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t seed = 0;  // for the data and for further choices

  [[nodiscard]] std::string text() const;
};

// How often each kind is chosen, relative to the sum of all shares; 0: never.
using OperationShares = std::vector<std::pair<OperationKind, unsigned>>;

// Draws operations on a file.  The result depends only on the seed and on the file's sizes.
class OperationSource {
 public:
  OperationSource(std::uint64_t seed, OperationShares shares, std::uint64_t most_file_bytes,
                  std::uint64_t most_write_bytes);

  Operation next(std::uint64_t file_size);
  std::uint64_t draw(std::uint64_t limit) { return random_() % limit; }

 private:
  std::uint64_t draw_offset(std::uint64_t file_size);
  std::uint64_t draw_size();

  std::mt19937_64 random_;
  const OperationShares shares_;
  const std::uint64_t most_file_bytes_;
  const std::uint64_t most_write_bytes_;
  std::uint64_t all_shares_ = 0;
};

// Fills with data of one of several kinds: zeros, a repeated byte, ascending numbers, text, noise.
void fill_data(std::span<std::byte> out, std::uint32_t seed);

}  // namespace framefs::test
