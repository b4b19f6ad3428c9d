#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>

#include "fs/core/files/file.h"
#include "fs/source/blosc2_lock.h"
#include "tests/support/catch.h"

namespace framefs::test {

// A program with the Blosc2 library that has a lock file open.
class Library {
 public:
  explicit Library(const std::filesystem::path& lock_file)
      : fd_(::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    REQUIRE(fd_);
  }
  [[nodiscard]] bool try_lock(int operation) const {
    return ::flock(fd_.get(), operation | LOCK_NB) == 0;
  }
  void unlock() const { REQUIRE(::flock(fd_.get(), LOCK_UN) == 0); }
  [[nodiscard]] std::uint64_t counter() const {
    std::uint64_t value = 0;
    return ::pread(fd_.get(), &value, sizeof(value), 8) == sizeof(value) ? value : 0;
  }
  void set_counter(std::uint64_t value) const {
    REQUIRE(::pwrite(fd_.get(), &value, sizeof(value), 8) == sizeof(value));
  }
  [[nodiscard]] std::uint64_t size() const {
    struct stat st{};
    REQUIRE(::fstat(fd_.get(), &st) == 0);
    return static_cast<std::uint64_t>(st.st_size);
  }

 private:
  const fs::UniqueFd fd_;
};

// A counter in a lock file that exists.
inline fs::LockCounter counted(const std::filesystem::path& lock_file, std::uint64_t value) {
  struct stat st{};
  REQUIRE(::stat(lock_file.c_str(), &st) == 0);
  return {.path = lock_file, .file = fs::file_key(st), .value = value};
}

}  // namespace framefs::test
