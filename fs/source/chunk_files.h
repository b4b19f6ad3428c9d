#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "codec/core/byte_source.h"
#include "fs/core/file.h"
#include "fs/core/guarded.h"
#include "fs/source/sparse_frame.h"

namespace framefs::fs {

// The chunk files of a sparse frame as one source of bytes; codec/frame/chunk_space.h defines where
// each file begins.  A chunk file is opened by name when it is needed, and a few stay open.
// Errors of reading: bad_field, "chunk file", if the file does not exist or is not a regular file.
// Threads: any number.
class ChunkFiles final : public codec::ByteSource {
 public:
  // `directory` is the directory of the frame.
  explicit ChunkFiles(UniqueFd directory) : directory_(std::move(directory)) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  Result<std::uint64_t> size() const override;
  Result<std::uint64_t> available_from(std::uint64_t offset) const override;

  // Call this before the chunk file with the number `id` is replaced.
  void forget(std::uint32_t id) const;

  // "0000002A.chunk".  Source: sparse frame format, "Chunk files".
  static std::string name_of(std::uint32_t id);

 private:
  using Opened = std::shared_ptr<const FileReader>;
  Result<Opened> file(std::uint32_t id) const;
  Result<Opened> open(std::uint32_t id) const;

  // Enough for a few readers, each of which reads one chunk at a time.
  static constexpr std::size_t kKeptOpen = 8;
  struct Kept {
    std::uint32_t id = 0;
    Opened file;
  };
  struct Recent {
    std::array<Kept, kKeptOpen> files;
    std::size_t next = 0;  // the slot to replace next
  };

  const UniqueFd directory_;
  mutable Guarded<Recent> recent_;
};

}  // namespace framefs::fs
