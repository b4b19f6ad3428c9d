#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fs/core/files/place.h"

namespace framefs {

// The bytes to be packed, piece by piece, from first to last.  Threads: one at a time.
class PieceSource {
 public:
  PieceSource() = default;
  PieceSource(PieceSource&&) = default;
  PieceSource& operator=(PieceSource&&) = default;
  virtual ~PieceSource() = default;

  // The number of bytes, if it is known.
  [[nodiscard]] virtual std::optional<std::uint64_t> size() const noexcept = 0;

  // Reads the next piece.  Fills all of `bytes`, or less at the end of the input.  For a hole,
  // leaves `bytes` unset.
  struct Piece {
    std::size_t size = 0;  // 0: end of the input
    bool is_hole = false;  // all zeros
  };
  // Errors: truncated if the input became shorter; system; EINTR if the work was stopped; those of
  // decoding.
  virtual fs::Result<Piece> next(std::span<std::byte> bytes) = 0;
};

// A file, whose holes are not read, or a stream.  Threads: one at a time.
class PackInput final : public PieceSource {
 public:
  // `stop` is asked while a stream has nothing to read, and while a FIFO has no writer.
  // Errors: system; EISDIR for a directory.
  static fs::Result<PackInput> open(const fs::Place& place, std::function<bool()> stop);
  // The same for what a walk has found to be a regular file.  Errors: also ESTALE if it is another
  // object now.
  static fs::Result<PackInput> open_file(const fs::Place& place, std::function<bool()> stop);
  static fs::Result<PackInput> standard_input(std::function<bool()> stop);

  // "-" is standard input.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  // The attributes of the file; nothing for a stream.
  [[nodiscard]] const std::optional<struct stat>& file() const noexcept { return file_; }
  [[nodiscard]] std::optional<std::uint64_t> size() const noexcept override;
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  fs::Result<Piece> next(std::span<std::byte> bytes) override;

  // To be called after the last piece.
  // Errors: ESTALE if the file has changed since open(), so that the pieces may be of several
  // states; system.
  [[nodiscard]] fs::Status check_unchanged() const;

 private:
  PackInput(fs::UniqueFd fd, std::string name, std::function<bool()> stop) noexcept
      : fd_(std::move(fd)), name_(std::move(name)), stop_(std::move(stop)) {}
  fs::Result<Piece> next_of_file(std::span<std::byte> bytes);
  fs::Result<Piece> next_of_stream(std::span<std::byte> bytes);
  [[nodiscard]] fs::Status wait_for_stream() const;
  bool is_hole(std::uint64_t end);

  fs::UniqueFd fd_;
  std::string name_;
  std::function<bool()> stop_;
  std::optional<struct stat> file_;
  std::uint64_t at_ = 0;
  std::uint64_t hole_end_ = 0;  // no data from at_ up to this offset
};

}  // namespace framefs
