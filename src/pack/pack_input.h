#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "fs/core/file.h"

namespace framefs {

// Reads the bytes to be packed piece by piece, from first to last.  The input is a file, whose
// holes are not read, or a stream.  Threads: one.
class PackInput {
 public:
  // "-" is standard input.  Errors: system; EISDIR for a folder.
  static fs::Result<PackInput> open(const std::filesystem::path& path);

  // The attributes of the file; nothing for a stream.
  [[nodiscard]] const std::optional<struct stat>& file() const noexcept { return file_; }
  [[nodiscard]] std::optional<std::uint64_t> size() const noexcept;

  // Reads the next piece.  Fills all of `bytes`, or less at the end of the input.  For a hole,
  // leaves `bytes` unset.
  struct Piece {
    std::size_t size = 0;  // 0: end of the input
    bool is_hole = false;  // all zeros
  };
  // Errors: truncated if the file became shorter; system.
  fs::Result<Piece> next(std::span<std::byte> bytes);

 private:
  explicit PackInput(fs::UniqueFd fd) noexcept : fd_(std::move(fd)) {}
  fs::Result<Piece> next_of_file(std::span<std::byte> bytes);
  fs::Result<Piece> next_of_stream(std::span<std::byte> bytes);
  bool is_hole(std::uint64_t end);

  fs::UniqueFd fd_;
  std::optional<struct stat> file_;
  std::uint64_t at_ = 0;
  std::uint64_t hole_end_ = 0;  // no data from at_ up to this offset
};

}  // namespace framefs
