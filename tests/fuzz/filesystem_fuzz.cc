// Intent: any bytes as a file of SOURCE, under each name that makes a frame, an array or a
// container of it.  Listing, looking up, reading and seeking succeed or fail cleanly.  A name that
// is listed is found.  Any part of a file equals that part of the whole file.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>

#include "fs/tree/filesystem.h"
#include "tests/fuzz/array_checks.h"
#include "tests/fuzz/fuzz_mount.h"
#include "tests/support/fast_hash.h"

namespace {

using namespace framefs;
using fuzz::demand;
using fuzz::is_fair;

constexpr std::uint64_t kMaxReadBytes = 256u << 10;
constexpr std::size_t kMaxNodes = 200;

// One mount of a folder that contains the input.
class Mounted {
 public:
  explicit Mounted(std::uint64_t seed) : random_(seed) {}

  void visit(fs::NodeId directory) {
    auto& tree = mount().filesystem().tree();
    const auto opened = tree.open_directory(directory);
    if (!is_fair(opened)) return;
    const auto entries = tree.list(**opened);
    if (!is_fair(entries)) return;
    for (const auto& entry : *entries) {
      if (++visited_ > kMaxNodes) return;
      const auto found = tree.lookup(directory, entry.shown.name);
      demand(found.has_value());
      if (S_ISDIR(found->stat.st_mode)) {
        visit(found->id);
      } else {
        read(found->id, static_cast<std::uint64_t>(found->stat.st_size));
      }
      tree.forget(found->id, 1);
    }
  }

  static fuzz::FuzzMount& mount() {
    static fuzz::FuzzMount mount(true);
    return mount;
  }

 private:
  void read(fs::NodeId id, std::uint64_t size) {
    auto& contents = mount().filesystem().contents();
    const auto opened = contents.open(id, O_RDONLY);
    if (!is_fair(opened)) return;
    auto& file = *opened->file;
    // A plain file has no view; the kernel reads it without the daemon's help.
    if (file.node->key.has_view()) {
      const auto whole = mount().read(file, 0, std::min(size, kMaxReadBytes));
      for (int i = 0; i < 4; ++i) {
        const auto offset = random_() % (size + 1);
        const auto part = mount().read(file, offset, random_() % (16u << 10));
        if (!whole || !part) continue;
        demand(part->size() <= size - offset);
        for (std::size_t at = 0; at < part->size() && offset + at < whole->size(); ++at) {
          demand((*part)[at] == (*whole)[offset + at]);
        }
      }
      is_fair(contents.seek(file, fs::Seek::data, random_() % (size + 1)));
      is_fair(contents.seek(file, fs::Seek::hole, random_() % (size + 1)));
    }
    contents.close(file);
    mount().read_attributes(id);
  }

  std::mt19937_64 random_;
  std::size_t visited_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  static std::uint64_t inputs = 0;
  // No input meets a node or a cached block of an earlier one.
  const auto stem = std::to_string(++inputs);
  for (const char* suffix : {".b2frame", ".b2nd", ".b2z", ".b2e"}) {
    const auto path = Mounted::mount().folder().write(stem + suffix, bytes);
    Mounted(test::fast_hash(bytes)).visit(fs::kRootNode);
    ::unlink(path.c_str());
  }
  return 0;
}
