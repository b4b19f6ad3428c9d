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

// The chunk files of a sparse frame as one source of bytes; codec/frame/chunk_space.h tells where
// each of them begins.  They are opened by name as they are needed, and a few are kept open.
// Errors of reading: bad_field, "chunk file", where there is no such file, or no regular one.
// Threads: any number.
class ChunkFiles final : public codec::ByteSource {
 public:
  // `directory` is that of the frame.
  explicit ChunkFiles(UniqueFd directory) : directory_(std::move(directory)) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  Result<std::uint64_t> size() const override;
  Result<std::uint64_t> available_from(std::uint64_t offset) const override;

  // The file of that number is about to be another one.
  void forget(std::uint32_t id) const;

  // "0000002A.chunk".  Source: sparse frame format, "Chunk files".
  static std::string name_of(std::uint32_t id);

 private:
  using Opened = std::shared_ptr<const FileReader>;
  Result<Opened> file(std::uint32_t id) const;
  Result<Opened> open(std::uint32_t id) const;

  // Enough for a few readers that each go through a chunk at a time.
  static constexpr std::size_t kKeptOpen = 8;
  struct Kept {
    std::uint32_t id = 0;
    Opened file;
  };
  struct Recent {
    std::array<Kept, kKeptOpen> files;
    std::size_t next = 0;  // to be replaced
  };

  const UniqueFd directory_;
  mutable Guarded<Recent> recent_;
};

}  // namespace framefs::fs
