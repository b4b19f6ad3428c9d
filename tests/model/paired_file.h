#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/file.h"
#include "tests/model/operation.h"
#include "tests/support/bytes.h"

namespace framefs::test {

// A description of the difference, or nothing.
using Finding = std::optional<std::string>;

struct PairOptions {
  // The sizes are fixed and the first `header_bytes` are read-only: an array shown as a NumPy file.
  std::uint64_t header_bytes = 0;
  bool direct = true;  // whether O_DIRECT may be used
};

// Applies the same operations to a file in a mount and to a plain file, and compares the answers
// and the contents.
// Threads: one.
class PairedFile {
 public:
  PairedFile(std::string tested, std::string plain, const PairOptions& options)
      : tested_path_(std::move(tested)), plain_path_(std::move(plain)), options_(options) {}

  // Opens both files, and creates those that do not exist.
  Finding open();
  // Performs the operation on both files and compares them.
  Finding perform(const Operation& operation);
  // Compares all bytes and the sizes; the bytes are read in one of several ways.
  Finding check_all(std::uint32_t seed);
  Finding close();
  // Gives both files new names.
  Finding rename(const std::string& tested, const std::string& plain);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& tested_path() const { return tested_path_; }

 private:
  enum class ReadBy : std::uint8_t { cached, uncached, mapped, direct };

  Finding write(const Operation& operation);
  Finding append(const Operation& operation);
  Finding write_mapped(const Operation& operation);
  Finding write_direct(const Operation& operation);
  Finding truncate(const Operation& operation);
  Finding allocate(const Operation& operation, int mode);
  Finding sync(const Operation& operation);
  Finding reopen(const Operation& operation);
  Finding read(const Operation& operation);
  Finding seek(const Operation& operation);
  Finding check_refusals(const Operation& operation);

  ReadBy draw_way(std::uint32_t seed) const;
  // Reads out.size() bytes at `offset`, which are inside the file.
  Finding read_tested(ReadBy way, std::uint64_t offset, Bytes& out) const;
  Finding read_mapped(std::uint64_t offset, Bytes& out) const;
  Finding read_direct(std::uint64_t offset, Bytes& out) const;
  Finding compare(std::uint64_t offset, std::uint64_t size, ReadBy way) const;
  Finding compare_sizes();

  std::string tested_path_;
  std::string plain_path_;
  const PairOptions options_;
  fs::UniqueFd tested_;
  fs::UniqueFd plain_;
  std::uint64_t size_ = 0;
};

}  // namespace framefs::test
