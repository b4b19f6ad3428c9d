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
//   replaces ID OTHER NAME   a rename of the file over the file OTHER begins, which has NAME
//   replaced ID          that rename has ended
//   leaves ID NAME       an operation begins after which the file may not have NAME any more
//
// HASH is a result of state_hash().  A file keeps its ID when it is renamed.
class History {
 public:
  // The index of the oldest state that a crash may leave; nothing if no state is promised.
  struct Promise {
    std::optional<std::size_t> frame;  // if the file is a frame
    std::optional<std::size_t> plain;  // if it is a plain file

    [[nodiscard]] std::optional<std::size_t> of(bool is_frame) const {
      return is_frame ? frame : plain;
    }
  };
  struct File {
    std::string name;                                  // the first name
    std::vector<std::string> names;                    // names that the file may have now
    std::vector<std::optional<std::uint64_t>> states;  // nothing: unknown
    Promise promise;
    bool is_renamed = false;
    // Whether there was a sync and the name is still the first.  A sync of a renamed file need not
    // make its new name durable; that takes a sync of the directory.
    bool is_name_synced = false;
  };
  // One of the files that a name has led to.
  struct Holder {
    std::uint64_t id = 0;
    Promise promise;  // when the name led to the file for the last time
    bool is_name_synced = false;
  };

  // Returns false if the text is not a mark.
  bool add(std::string_view mark);

  static constexpr const char* kNoName = "-";

  [[nodiscard]] const std::map<std::uint64_t, File>& files() const { return files_; }

  // For each name over which files were renamed, all the files that it led to, the newest last.
  // After a crash, the name leads to one of them; if only the daemon was killed, to one of the
  // last two.
  using Holders = std::vector<Holder>;
  [[nodiscard]] const std::map<std::string, Holders>& replaced() const { return replaced_; }

 private:
  bool add_replacement(std::uint64_t id, std::uint64_t other, const std::string& name);

  std::map<std::uint64_t, File> files_;
  std::map<std::string, Holders> replaced_;
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
