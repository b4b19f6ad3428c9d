#include "fs/core/diagnostics/lock_holder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/file.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace framefs::fs::lock_holder_test {
namespace {

constexpr std::uint64_t kByte = std::uint64_t{1} << 62;

// Two files in a directory.  Each can be opened many times, as several processes would open it.
class Files {
 public:
  Files() {
    folder_.write("x", std::span<const std::byte>());
    folder_.write("other", std::span<const std::byte>());
  }
  [[nodiscard]] UniqueFd open(const char* name) const {
    return UniqueFd(::open((folder_.path() / name).c_str(), O_RDWR | O_CLOEXEC));
  }

 private:
  test::TempDirectory folder_;
};

// An open-file-description lock on `size` bytes.
bool lock_bytes(const UniqueFd& fd, std::uint64_t at, std::uint64_t size) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(at);
  lock.l_len = static_cast<off_t>(size);
  return ::fcntl(fd.get(), F_OFD_SETLK, &lock) == 0;
}

}  // namespace

TEST_CASE("lock_holder: the process that has locked a byte of a file is found",
          "[fs][lock_holder][unit]") {
  const Files files;
  const auto holder = files.open("x");
  const auto refused = files.open("x");
  CHECK_FALSE(lock_holder(refused.get(), kByte));
  const std::uint64_t size = GENERATE(1U, 10U, 0U);  // 0: to the end
  REQUIRE(lock_bytes(holder, kByte - 5, size + (size == 1 ? 5 : 0)));
  CHECK(lock_holder(refused.get(), kByte) == ::getpid());
  CHECK(lock_holder(refused.get(), kByte - 5) == ::getpid());
  CHECK_FALSE(lock_holder(refused.get(), kByte - 6));
  CHECK(lock_holder(refused.get(), kByte + 1).has_value() == (size != 1));
  CHECK_FALSE(lock_holder(refused.get(), std::nullopt));
  CHECK_FALSE(lock_holder(files.open("other").get(), kByte));
}

TEST_CASE("lock_holder: the process that has locked a whole file is found",
          "[fs][lock_holder][unit]") {
  const Files files;
  const auto holder = files.open("x");
  const auto refused = files.open("x");
  CHECK_FALSE(lock_holder(refused.get(), std::nullopt));
  REQUIRE(::flock(holder.get(), GENERATE(LOCK_SH, LOCK_EX)) == 0);
  CHECK(lock_holder(refused.get(), std::nullopt) == ::getpid());
  CHECK_FALSE(lock_holder(refused.get(), kByte));
  CHECK_FALSE(lock_holder(files.open("other").get(), std::nullopt));
}

TEST_CASE("lock_holder: an error after a wait names the process", "[fs][lock_holder][unit]") {
  const Files files;
  const auto holder = files.open("x");
  const auto refused = files.open("x");
  const auto unknown = lock_error("taken", refused.get(), kByte).error();
  CHECK(unknown.sys == EBUSY);
  CHECK(describe(unknown) == "taken: Device or resource busy");
  REQUIRE(lock_bytes(holder, kByte, 1));
  const auto known = lock_error("taken", refused.get(), kByte).error();
  CHECK(known.sys == EBUSY);
  std::array<char, 16> name{};
  REQUIRE(::prctl(PR_GET_NAME, name.data()) == 0);
  const auto process = "process " + std::to_string(::getpid());
  CHECK(process_text(::getpid()).starts_with(process + " (" + name.data()));
  CHECK(describe(known) == "taken: Device or resource busy: " + process_text(::getpid()));
  constexpr std::int64_t kNoProcess = std::int64_t{1} << 40;
  CHECK(process_text(kNoProcess) == "process 1099511627776");
}

TEST_CASE("lock_holder: a descriptor that is closed has no lock", "[fs][lock_holder][unit]") {
  CHECK_FALSE(lock_holder(-1, kByte));
  CHECK_FALSE(lock_holder(-1, std::nullopt));
}

}  // namespace framefs::fs::lock_holder_test
