#pragma once

#include <cstdint>
#include <utility>

#include "codec/core/byte_sink.h"
#include "fs/core/files/file.h"

namespace framefs::fs {

// Writes all of `bytes` from `offset` on; retries interrupted and short writes.
// Errors: no_space, if the disk or a quota is full; system.
Status write_fully(int fd, std::uint64_t offset, std::span<const std::byte> bytes);

// Appends all of `bytes` to the file, as O_APPEND does: at the end that the file has when the call
// runs. If the system takes the bytes in pieces, other writers may append between the pieces.
// Errors: as write_fully().
Status append_fully(int fd, std::span<const std::byte> bytes);

// An open file as the codec's sink of bytes. Threads: as ByteSink.
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
