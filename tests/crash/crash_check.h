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

// Which of the changes that are not durable are lost in one image of a disk.
struct Variant {
  Loss loss = Loss::nothing;
  std::uint64_t seed = 0;
};

// Counts of checks, so that a test can assert that there were enough.
struct CheckCounts {
  std::uint64_t images = 0;
  std::uint64_t frames = 0;
  std::uint64_t decoded = 0;       // of these, not known yet
  std::uint64_t latest = 0;        // in their latest state
  std::uint64_t older = 0;         // in an allowed older state
  std::uint64_t never_synced = 0;  // created, and lost or truncated
  std::uint64_t names = 0;         // names over which files were renamed
};

// Follows a log.  For an image of the disk, checks that every frame is in an allowed state.
class CrashCheck {
 public:
  // `initial` and `journal` are those of DiskModel.
  CrashCheck(const std::filesystem::path& initial, bool journal) : disk_(initial, journal) {}

  // Returns false if the record is impossible.
  bool apply(const Record& record);

  // The errors after a loss at this point of the log, one per line.
  std::vector<std::string> check(const Variant& variant);

  [[nodiscard]] const DiskModel& disk() const { return disk_; }
  [[nodiscard]] const CheckCounts& counts() const { return counts_; }

  // The files and folders of an image, by path.  Folders have no bytes.
  [[nodiscard]] std::map<std::string, std::optional<Bytes>> image(const Variant& variant) const;

 private:
  using Node = DiskModel::Node;
  // A file of the workload, and its node on the disk.
  struct Shown {
    Node node = 0;
    bool is_frame = false;
  };

  bool bind(std::uint64_t id, const std::string& name);
  // The error of a name over which files were renamed; empty if there is none.
  std::string check_name(const std::string& name, const History::Holders& holders,
                         const DiskNames::Tree& tree, const Variant& variant);
  // The error of a file of the workload in an image; empty if there is none.
  std::string check_file(std::uint64_t id, const DiskNames::Tree& tree, bool is_named,
                         const Variant& variant);
  [[nodiscard]] FrameFiles files_of(Node node, const DiskNames::Tree& tree,
                                    const Variant& variant) const;
  codec::Result<std::uint64_t> state_of(const Shown& shown, const FrameFiles& files);

  DiskModel disk_;
  History history_;
  std::map<std::uint64_t, Shown> shown_;  // by ID
  // The states of frames by a hash of their files, to decode each of them only once.
  std::unordered_map<std::uint64_t, codec::Result<std::uint64_t>> known_;
  CheckCounts counts_;
};

}  // namespace framefs::test
