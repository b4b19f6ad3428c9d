#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tests/crash/record.h"
#include "tests/support/bytes.h"

namespace framefs::test {

// The effect of a crash on changes that are not durable.
enum class Loss : std::uint8_t {
  nothing,  // the process is killed, the system is not
  all,
  ends,     // the last changes of each file are lost
  sectors,  // any sectors are lost
  one,      // one change of each file is lost, except where a later change overwrote it
};
inline constexpr Loss kLosses[] = {Loss::nothing, Loss::all, Loss::ends, Loss::sectors, Loss::one};
const char* loss_name(Loss loss) noexcept;

// A file on a disk: its durable content, and the changes since.
//
// Each sector of 512 bytes is lost or kept on its own: after a loss, it has its content of some
// moment since the last sync.  So has the size of the file.
class DiskFile {
 public:
  struct Change {
    std::uint64_t moment = 0;
    RecordKind kind{};  // write, truncate or allocate
    std::uint64_t offset = 0;
    std::uint64_t size = 0;  // of allocate
    std::uint64_t mode = 0;  // of allocate
    std::span<const std::byte> data;
  };

  DiskFile() = default;
  explicit DiskFile(Bytes bytes) : durable_(std::move(bytes)) {}

  void add(const Change& change) { pending_.push_back(change); }
  // Makes the changes before a moment durable.
  void sync(std::uint64_t moment);

  [[nodiscard]] bool is_durable() const { return pending_.empty(); }
  [[nodiscard]] Bytes bytes_after(Loss loss, std::uint64_t seed) const;

 private:
  // How many of the pending changes survive, for each sector and for the size.
  struct Left {
    Loss loss = Loss::nothing;
    std::uint64_t seed = 0;
    std::uint64_t all = 0;  // the number of pending changes
    std::uint64_t chosen = 0;
    const Change* lost = nullptr;  // for Loss::one

    [[nodiscard]] std::uint64_t in_sector(std::uint64_t sector) const;
    [[nodiscard]] std::uint64_t of_size() const;
  };

  Bytes durable_;
  std::vector<Change> pending_;
};

}  // namespace framefs::test
