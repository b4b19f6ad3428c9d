#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/files/file.h"
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

// The folders with the two files of each pair.
struct PairedFolders {
  std::vector<std::string> tested;  // mounts of one SOURCE
  std::string plain;
};

// Applies the same operations to a file in a mount and to a plain file, and compares the answers
// and the contents.
// Threads: one.
class PairedFile {
 public:
  // `folders` outlives the file.
  PairedFile(const PairedFolders& folders, std::string name, const PairOptions& options)
      : folders_(folders),
        name_(std::move(name)),
        options_(options),
        tested_(folders.tested.size()) {}

  // Opens both files, and creates those that do not exist.  The file is opened in each mount.
  Finding open();
  // Makes the changes known to the next mount, which is used from then on.
  Finding change_mount();
  // Performs the operation on both files and compares them.
  Finding perform(const Operation& operation);
  // Compares all bytes and the sizes; the bytes are read in one of several ways.
  Finding check_all(std::uint32_t seed);
  Finding close();
  // Gives both files a new name.
  Finding rename(const std::string& name);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // In the mount that is used.
  [[nodiscard]] std::string tested_path() const { return folders_.tested[mount_] + "/" + name_; }

 private:
  enum class ReadBy : std::uint8_t { cached, uncached, mapped, direct };

  [[nodiscard]] std::string plain_path() const { return folders_.plain + "/" + name_; }
  [[nodiscard]] fs::UniqueFd& mounted() { return tested_[mount_]; }
  [[nodiscard]] const fs::UniqueFd& mounted() const { return tested_[mount_]; }
  // Closes both files, in the mount that is used.
  Finding close_once();
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

  const PairedFolders& folders_;
  std::string name_;
  const PairOptions options_;
  std::size_t mount_ = 0;  // the one that is used
  std::vector<fs::UniqueFd> tested_;
  fs::UniqueFd plain_;
  std::uint64_t size_ = 0;
};

}  // namespace framefs::test
