#include "fs/core/resources/memory_limit.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace framefs::fs::memory_limit_test {
namespace {

namespace stdfs = std::filesystem;

constexpr std::uint64_t kMachine = 8ULL << 30;

class Groups {
 public:
  void write(const stdfs::path& file, const std::string& text) const {
    const auto at = folder_.path() / file;
    stdfs::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }
  [[nodiscard]] std::uint64_t limit() const {
    return memory_limit_at(folder_.path() / "self", folder_.path() / "root", kMachine);
  }

 private:
  test::TempDirectory folder_;
};

TEST_CASE("memory_limit: is the machine's memory without a control group",
          "[fs][memory_limit][unit]") {
  const Groups groups;
  CHECK(groups.limit() == kMachine);
  groups.write("self", "0::/a/b\n");
  CHECK(groups.limit() == kMachine);
  groups.write("root/a/b/memory.max", "max\n");
  CHECK(groups.limit() == kMachine);
}

TEST_CASE("memory_limit: is the smallest of the group and the groups above it",
          "[fs][memory_limit][unit]") {
  const Groups groups;
  groups.write("self", "0::/a/b\n");
  groups.write("root/a/b/memory.max", "4294967296\n");
  CHECK(groups.limit() == 4ULL << 30);
  groups.write("root/a/memory.max", "1048576000\n");
  CHECK(groups.limit() == 1048576000);
  groups.write("root/memory.max", "500000000\n");  // the root that a container sees
  CHECK(groups.limit() == 500000000);
  groups.write("self", "0::/not/visible/here\n");
  CHECK(groups.limit() == 500000000);
}

TEST_CASE("memory_limit: cgroup v1 has a hierarchy of its own for memory",
          "[fs][memory_limit][unit]") {
  const Groups groups;
  groups.write("self", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/job\nbroken\n");
  groups.write("root/memory/job/memory.limit_in_bytes", "104857600\n");
  groups.write("root/memory/x/memory.limit_in_bytes", "1\n");
  CHECK(groups.limit() == 104857600);
  groups.write("root/memory/job/memory.limit_in_bytes", "9223372036854771712\n");  // no limit
  CHECK(groups.limit() == kMachine);
}

TEST_CASE("memory_limit: cache and overlay together take at most a quarter of it",
          "[fs][memory_limit][unit]") {
  CHECK(default_buffer_bytes(64ULL << 30) == 256u << 20);
  CHECK(default_buffer_bytes(1ULL << 30) == 128u << 20);
  CHECK(default_buffer_bytes(80u << 20) == 10u << 20);
  CHECK(default_buffer_bytes(0) == 1u << 20);
}

}  // namespace
}  // namespace framefs::fs::memory_limit_test
