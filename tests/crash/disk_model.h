#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/crash/disk_file.h"
#include "tests/crash/disk_names.h"
#include "tests/crash/record.h"

namespace framefs::test {

// A folder on a disk between what processes have done to it and what a loss of power would leave.
//
// A sync makes durable what was done before it began.  That of a file also gives it its names, as all
// journalling filesystems of Linux have it; that of a directory makes the changes of names in it durable.
class DiskModel {
 public:
  using Node = DiskNames::Node;

  // Starts with what is in a folder, all of it durable.  `journal`: see DiskNames.
  DiskModel(const std::filesystem::path& folder, bool journal);

  // Does what a record says; `data` outlives the model.  False where that does not fit what was done before.
  bool apply(const RecordHead& head, const std::string& path, const std::string& path2,
             std::span<const std::byte> data);

  [[nodiscard]] const DiskNames& names() const { return names_; }
  [[nodiscard]] const DiskFile& file(Node node) const { return nodes_.at(node).file; }
  [[nodiscard]] bool is_directory(Node node) const {
    return nodes_.at(node).kind == Kind::directory;
  }
  [[nodiscard]] bool is_file(Node node) const { return nodes_.at(node).kind == Kind::file; }

 private:
  enum class Kind : std::uint8_t { file, directory, other };
  struct NodeState {
    Kind kind = Kind::file;
    DiskFile file;
  };
  struct Sync {
    std::uint64_t moment = 0;  // when it began
    std::optional<Node> node;  // nothing: all
  };

  Node add_node(Kind kind, Bytes bytes = {});
  void load(const std::filesystem::path& folder, Node directory);
  std::optional<Node> file_of(std::uint64_t inode, const std::string& path);
  bool change_file(const RecordHead& head, const std::string& path,
                   std::span<const std::byte> data);
  bool create(const RecordHead& head, const std::string& path, Kind kind);
  bool rename(const RecordHead& head, const std::string& path, const std::string& path2);
  bool link(const RecordHead& head, const std::string& path, const std::string& path2);
  bool unlink(const std::string& path);
  bool begin_sync(const RecordHead& head, const std::string& path);
  bool end_sync(std::uint64_t number, const std::string& path);

  std::uint64_t now_ = 0;
  std::vector<NodeState> nodes_;
  DiskNames names_;
  std::unordered_map<std::uint64_t, Node> by_inode_;
  std::map<std::uint64_t, Sync> syncs_;  // that have not ended
};

}  // namespace framefs::test
