#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tests/crash/record.h"
#include "tests/support/bytes.h"

namespace framefs::test {

// What a loss of power does to what is not durable yet.
enum class Loss : std::uint8_t {
  nothing,  // a process was killed, the system lives
  all,
  ends,     // of each file what was done last
  sectors,  // any sectors
  one,      // of each file one change, as far as nothing has been written over it
};
inline constexpr Loss kLosses[] = {Loss::nothing, Loss::all, Loss::ends, Loss::sectors, Loss::one};
const char* loss_name(Loss loss) noexcept;

// A file on a disk: what is durable of it, and what has been done since.
//
// Each sector of 512 bytes is lost or kept by itself: after a loss it is as it was at some moment since the
// last sync, and so is the size of the file.
class DiskFile {
 public:
  struct Change {
    std::uint64_t moment = 0;
    RecordKind kind{};  // write, truncate or allocate
    std::uint64_t offset = 0;
    std::uint64_t size = 0;  // of allocate
    std::uint64_t mode = 0;  // likewise
    std::span<const std::byte> data;
  };

  DiskFile() = default;
  explicit DiskFile(Bytes bytes) : durable_(std::move(bytes)) {}

  void add(const Change& change) { pending_.push_back(change); }
  // Makes durable what was done before a moment.
  void sync(std::uint64_t moment);

  [[nodiscard]] bool is_durable() const { return pending_.empty(); }
  [[nodiscard]] Bytes bytes_after(Loss loss, std::uint64_t seed) const;

 private:
  // How many of the pending changes are left at each place.
  struct Left {
    Loss loss = Loss::nothing;
    std::uint64_t seed = 0;
    std::uint64_t all = 0;  // how many there are
    std::uint64_t chosen = 0;
    const Change* lost = nullptr;  // of Loss::one

    [[nodiscard]] std::uint64_t in_sector(std::uint64_t sector) const;
    [[nodiscard]] std::uint64_t of_size() const;
  };

  Bytes durable_;
  std::vector<Change> pending_;
};

}  // namespace framefs::test
