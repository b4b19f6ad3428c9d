#pragma once

#include <utility>

#include "codec/core/byte_sink.h"
#include "fs/core/file.h"

namespace framefs::fs {

// Stores all of `bytes` from `offset` on, over interrupted and short writes.
// Errors: no_space where the system says so (a quota too); system.
Status write_fully(int fd, std::uint64_t offset, std::span<const std::byte> bytes);

// Stores all of `bytes` at the end of the file, wherever that is by then, as O_APPEND does.  The system
// may take them in pieces, between which other writers append.  Errors: likewise.
Status append_fully(int fd, std::span<const std::byte> bytes);

// An open file as what the codec writes to.  Threads: as ByteSink.
class FileSink final : public codec::ByteSink {
 public:
  explicit FileSink(UniqueFd fd) noexcept : fd_(std::move(fd)) {}

  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return write_fully(fd_.get(), offset, bytes);
  }
  Status sync() override;
  Status truncate(std::uint64_t size) override;
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  const UniqueFd fd_;
};

}  // namespace framefs::fs
