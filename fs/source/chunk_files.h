#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "codec/core/byte_source.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"
#include "fs/source/sparse_frame.h"

namespace framefs::fs {

// The chunk files of a sparse frame as one source of bytes; codec/frame/chunk_space.h defines where
// each file begins.  A chunk file is opened by name when it is needed, and a few stay open.
// Errors of reading: bad_field, "chunk file", if the file does not exist or is not a regular file.
// Threads: any number.
class ChunkFiles final : public codec::ByteSource {
 public:
  using Opened = std::shared_ptr<const codec::ByteSource>;
  // Opens the file of a chunk.  Errors: damaged(id) if there is no such file; system.
  using Open = std::function<Result<Opened>(std::uint32_t id)>;

  // `directory` is the directory of the frame, and `index` the index file that names the chunks.  A
  // chunk file that grants less than the index file is not read (EACCES).  If `index` is null,
  // rights are not compared.
  explicit ChunkFiles(UniqueFd directory, std::shared_ptr<const FileReader> index = nullptr);
  // For files on a server: `open` and the reads may wait for the network.
  static std::shared_ptr<const ChunkFiles> far(Open open);

  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  Result<std::uint64_t> size() const override;
  Result<std::uint64_t> available_from(std::uint64_t offset) const override;
  [[nodiscard]] bool is_far() const noexcept override { return index_ == nullptr; }
  // Of the files that are open.
  void expect(std::span<const codec::ByteRange> now,
              std::span<const codec::ByteRange> next) const override;

  // Call this when a commit has replaced the index file.
  void follow(std::shared_ptr<const FileReader> index) const;
  // Call this before the chunk file with the number `id` is replaced.
  void forget(std::uint32_t id) const;
  // Opens a chunk file and keeps it open for good: it can be read after it has lost its name.
  // Errors: those of opening.
  Status keep_open(std::uint32_t id) const;

  // "0000002A.chunk".  Source: frame format, "Sparse frames".
  static std::string name_of(std::uint32_t id);
  // The error for a chunk file that does not exist: the index names it, so the frame is damaged,
  // and the caller made no error.
  static std::unexpected<Error> damaged(std::uint32_t id);

 private:
  using Index = Guarded<std::shared_ptr<const FileReader>>;
  ChunkFiles(Open open, std::size_t kept_open);
  [[nodiscard]] Opened open_file(std::uint32_t id) const;  // null if it is not open
  Result<Opened> file(std::uint32_t id) const;

  struct Kept {
    std::uint32_t id = 0;
    Opened file;
  };
  struct Recent {
    std::vector<Kept> files;
    std::size_t next = 0;                               // the slot to replace next
    std::unordered_map<std::uint32_t, Opened> lasting;  // that keep_open() has opened
  };

  // Constant after construction.
  const std::shared_ptr<Index> index_;  // null for files on a server
  const Open open_;
  // Guarded.
  mutable Guarded<Recent> recent_;
};

}  // namespace framefs::fs
