#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/crash/disk_model.h"
#include "tests/crash/frame_state.h"
#include "tests/crash/history.h"
#include "tests/crash/log_reader.h"

namespace framefs::test {

// What becomes of what is not durable in one image of a disk.
struct Variant {
  Loss loss = Loss::nothing;
  std::uint64_t seed = 0;
};

// How much was looked at, for the test to say that it did look.
struct CheckCounts {
  std::uint64_t images = 0;
  std::uint64_t frames = 0;
  std::uint64_t decoded = 0;       // of these, not known from before
  std::uint64_t latest = 0;        // in their latest state
  std::uint64_t older = 0;         // in an older one that was allowed
  std::uint64_t never_synced = 0;  // created, and lost or cut
};

// Follows a log, and says of any image of the disk whether all frames in it are as they may be.
class CrashCheck {
 public:
  // `initial` and `journal` as DiskModel has them.
  CrashCheck(const std::filesystem::path& initial, bool journal) : disk_(initial, journal) {}

  // False where the record is impossible.
  bool apply(const Record& record);

  // What is wrong after a loss at this moment, a line each.
  std::vector<std::string> check(const Variant& variant);

  [[nodiscard]] const DiskModel& disk() const { return disk_; }
  [[nodiscard]] const CheckCounts& counts() const { return counts_; }

  // The files and folders of an image, by path; folders have no bytes.
  [[nodiscard]] std::map<std::string, std::optional<Bytes>> image(const Variant& variant) const;

 private:
  using Node = DiskModel::Node;
  // A file of the workload, and where it is on the disk.
  struct Shown {
    Node node = 0;
    bool is_frame = false;
  };

  bool bind(std::uint64_t id, const std::string& name);
  // What is wrong with a file of the workload in an image.
  std::string check_file(std::uint64_t id, const DiskNames::Tree& tree, bool is_named,
                         const Variant& variant);
  [[nodiscard]] FrameFiles files_of(Node node, const DiskNames::Tree& tree,
                                    const Variant& variant) const;
  codec::Result<std::uint64_t> state_of(const Shown& shown, const FrameFiles& files);

  DiskModel disk_;
  History history_;
  std::map<std::uint64_t, Shown> shown_;  // by ID
  // The states of frames by a hash of their files.
  std::unordered_map<std::uint64_t, codec::Result<std::uint64_t>> known_;
  CheckCounts counts_;
};

}  // namespace framefs::test
