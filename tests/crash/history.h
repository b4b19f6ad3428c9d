#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framefs::test {

// The statements of the workload about its files so far, from marks in the log:
//
//   file ID NAME HASH    NAME, relative to the mount, is open and has the state HASH
//   state ID HASH        an operation begins that leads to the state HASH, or to any ("any")
//   synced ID            a sync has ended that began after the file reached its latest state
//   names ID NAME...     the file has one of these names now ("-": or none)
//
// HASH is a result of state_hash().  A file keeps its ID when it is renamed.
class History {
 public:
  struct File {
    std::string name;                                  // the first name
    std::vector<std::string> names;                    // names that the file may have now
    std::vector<std::optional<std::uint64_t>> states;  // nothing: unknown
    std::optional<std::size_t> synced;                 // index of the last synced state
  };

  // Returns false if the text is not a mark.
  bool add(std::string_view mark);

  static constexpr const char* kNoName = "-";

  [[nodiscard]] const std::map<std::uint64_t, File>& files() const { return files_; }

 private:
  std::map<std::uint64_t, File> files_;
};

// The result of comparing a state found after a crash with the file's history.
struct Verdict {
  bool is_allowed = false;
  std::string text;        // the reason if not allowed
  bool is_latest = false;  // whether nothing was lost
};
// `oldest` is the index of the first state that may be found.
Verdict judge(const History::File& file, std::size_t oldest, std::uint64_t found);

}  // namespace framefs::test
