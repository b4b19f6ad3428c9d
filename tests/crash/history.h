#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framefs::test {

// What the workload has said about its files so far, by marks in the log:
//
//   file ID NAME HASH    NAME, relative to the mount, is open; it holds the state HASH
//   state ID HASH        an operation begins that leads to the state HASH; "any": to one that nobody knows
//   synced ID            a sync has ended that began after the file's latest state
//   names ID NAME...     it has one of these names now; "-": or none
//
// HASH is that of state_hash().  A file keeps its ID when it is renamed.
class History {
 public:
  struct File {
    std::string name;                                  // at first
    std::vector<std::string> names;                    // that it may have now
    std::vector<std::optional<std::uint64_t>> states;  // nothing: unknown
    std::optional<std::size_t> synced;                 // which of them was synced last
  };

  // False where the text is no mark.
  bool add(std::string_view mark);

  static constexpr const char* kNoName = "-";

  [[nodiscard]] const std::map<std::uint64_t, File>& files() const { return files_; }

 private:
  std::map<std::uint64_t, File> files_;
};

// Where in a file's history a state stands, seen from after a crash.
struct Verdict {
  bool is_allowed = false;
  std::string text;        // why not
  bool is_latest = false;  // whether nothing was lost
};
// `oldest` is the first state that may be found.
Verdict judge(const History::File& file, std::size_t oldest, std::uint64_t found);

}  // namespace framefs::test
