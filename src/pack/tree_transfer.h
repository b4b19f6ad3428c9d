#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "codec/core/result.h"
#include "src/cli/tree_walk.h"
#include "src/pack/made_outputs.h"

namespace framefs {

// Bytes of one converted file, before and after.
struct TransferredBytes {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};

// The result of a converted file.
struct ConvertedName {
  std::string name;
  // Distinguishes the ways of conversion: the hard links of a file have different results if their
  // names ask for different ways.  Not empty.
  std::string way;
};

// The conversion of a single file of a tree.
struct TreeConverter {
  // Returns the name of the result; nothing for a file that stays as it is.
  std::function<codec::Result<std::optional<ConvertedName>>(const TreeEntry& entry)> name;
  // Makes the result.  It appears complete, with the original's time of modification.
  std::function<codec::Result<TransferredBytes>(const TreeEntry& entry, const fs::Place& target)>
      make;
  // Called when the result exists, also if it existed before.  May be empty.
  std::function<codec::Status(const TreeEntry& entry, const fs::Place& target, bool is_new)> finish;
};

struct TransferOptions {
  TreeFilter filter;
  bool may_replace = false;
  bool locking = false;  // create the lock file of a frame that is replaced
  bool keeps_going = true;
};

// The counts of a transfer.
struct TransferCount {
  std::uint64_t converted = 0;
  std::uint64_t copied = 0;      // copied files and links
  std::uint64_t up_to_date = 0;  // existing results of the same state of the original
  std::uint64_t left_out = 0;    // devices, FIFOs, sockets
  std::uint64_t unfinished = 0;  // files that killed runs left
  std::uint64_t failed = 0;
  TransferredBytes bytes;
};

// Converts the files of a tree, beside the originals or into another tree.  The other tree gets the
// whole content: other files as copies, but no lock files (fs::is_hidden()), symbolic links, hard
// links and directories, with owners, modes, times and attributes.  A second run resumes an
// interrupted run: a result with the original's modification time is complete and stays.
//
// Nothing outside the tree of the results is changed, whatever links another user, or an earlier
// run, has put into it: every result is made in a directory that is reached without links.
class TreeTransfer {
 public:
  using Fail = std::function<void(const std::string& path, const codec::Error& error)>;
  using Stop = std::function<bool()>;

  // Lifetime: `options` and `made` outlive it.
  TreeTransfer(const TransferOptions& options, TreeConverter converter, MadeOutputs& made,
               Fail fail, Stop stop);

  // `out` is the other tree; null means beside the originals.  Lifetime: both outlive the call.
  void run(const fs::Tree& top, const fs::Tree* out);

  [[nodiscard]] const TransferCount& count() const noexcept { return count_; }

 private:
  // A file and the way in which it is transferred, which is "" for a copy.
  using TransferKey = std::tuple<dev_t, ino_t, std::string>;

  TreeWalk::Next visit(const TreeEntry& entry);
  codec::Status transfer(const TreeEntry& entry);
  codec::Status make_directory(const TreeEntry& entry);
  codec::Status make_symlink(const TreeEntry& entry);
  codec::Status transfer_file(const TreeEntry& entry);
  // These return false if the result is up to date.
  codec::Result<bool> convert(const TreeEntry& entry, const fs::Place& target);
  codec::Result<bool> copy(const TreeEntry& entry, const fs::Place& target);
  codec::Result<bool> make_link(const TransferKey& key, const fs::Place& target);
  // Returns the place of a result beside that of the entry.  Errors: of the target.
  codec::Result<fs::Place> target_of(const TreeEntry& entry, const std::string& name);
  codec::Status finish_directory(const std::string& relative, const struct stat& stat);
  void fail(const std::string& path, const codec::Error& error);

  const TransferOptions& options_;
  const TreeConverter converter_;
  MadeOutputs& made_;
  const Fail report_;
  const Stop stop_;
  const fs::Tree* top_ = nullptr;
  const fs::Tree* out_ = nullptr;
  // The directory of out_ that had the last result, and its path below out_.
  fs::Place::Directory directory_;
  std::string directory_path_;
  std::string target_;  // the path of the current result, for messages
  // The results of files with several hard links, by their paths below out_, or below top_.
  std::map<TransferKey, std::string> results_;
  TransferCount count_;
};

// "12 files packed, 34.1 MB to 8.2 MB (4.16 times smaller); 3 up to date"
std::string transfer_text(const TransferCount& count, const std::string& verb);

// Returns whether `path` is `tree` or lies below it.
bool lies_in_tree(const std::filesystem::path& path, const std::filesystem::path& tree);

}  // namespace framefs
