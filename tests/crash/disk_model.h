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

// The state of a folder on a disk, between the changes that processes made and the state that a
// loss of power would leave.
//
// A sync makes the changes durable that were made before it began.  Syncing a file also makes its
// names durable, as on all journalling filesystems of Linux.  Syncing a directory makes the changes
// of names in it durable.
class DiskModel {
 public:
  using Node = DiskNames::Node;

  // Starts with the content of a folder, all of it durable.  `journal`: see DiskNames.
  DiskModel(const std::filesystem::path& folder, bool journal);

  // Applies a record.  `data` outlives the model.  Returns false if the record contradicts earlier
  // ones.
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
    std::uint64_t moment = 0;  // when the sync began
    std::optional<Node> node;  // nothing: all nodes
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
  std::map<std::uint64_t, Sync> syncs_;  // unfinished syncs
};

}  // namespace framefs::test
