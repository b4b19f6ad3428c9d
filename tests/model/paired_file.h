#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/file.h"
#include "tests/model/operation.h"
#include "tests/support/bytes.h"

namespace framefs::test {

// What is wrong, or nothing.
using Finding = std::optional<std::string>;

struct PairOptions {
  // Sizes are fixed and the first so many bytes are not for writing: an array shown as a NumPy file.
  std::uint64_t header_bytes = 0;
  bool direct = true;  // whether O_DIRECT may be used
};

// Does the same to a file in a mount and to a plain file, and compares what they answer and what they hold.
// Threads: one.
class PairedFile {
 public:
  PairedFile(std::string tested, std::string plain, const PairOptions& options)
      : tested_path_(std::move(tested)), plain_path_(std::move(plain)), options_(options) {}

  // Opens both, after creating what is not there.
  Finding open();
  // Does it to both, and compares.
  Finding perform(const Operation& operation);
  // All bytes and the size, read in one of several ways.
  Finding check_all(std::uint32_t seed);
  Finding close();
  // Both under new names.
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
  // Bytes [offset, offset + size), which are inside the file.
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
