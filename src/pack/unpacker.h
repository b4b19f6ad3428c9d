#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "codec/core/byte_sink.h"
#include "codec/core/result.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/files/place.h"
#include "fs/core/mount_options.h"
#include "src/cli/tree_walk.h"
#include "src/shown/shown_tree.h"

namespace framefs {

struct UnpackOptions {
  fs::ArrayViews arrays = fs::ArrayViews::npy;  // not both
  std::uint64_t offset = 0;                     // where in its file the frame begins
  unsigned threads = 0;                         // 0: one for each CPU
  bool may_replace = false;
  bool quiet = false;
};

// A frame, a container, or a member of a container; or a prefix of a URL.
struct UnpackSource {
  std::string path;               // for messages
  std::optional<fs::Place> file;  // a container or frame on disk; nothing for a URL
  std::string member;             // the path in the container; empty: the file itself
  bool is_directory = false;
  std::string name;  // of the output; empty if it would be the name of `file` itself
  mode_t mode = 0;   // of `file`
  // For a URL.
  std::shared_ptr<ShownTree> tree = nullptr;
  fs::NodeId node = fs::kRootNode;
  // For a prefix: the files to unpack.  A file that is there, with size and time, stays.
  const TreeFilter* filter = nullptr;
};

// Finds the source that `path` names.
// Errors: those of opening it as a frame or container.
codec::Result<UnpackSource> find_unpack_source(const std::filesystem::path& path,
                                               const UnpackOptions& options, fs::Log& log);
// Finds what a URL names.  The filter applies to a prefix.  Lifetime: `remote`, `filter` and `log`
// outlive the result.
codec::Result<UnpackSource> find_remote_source(const std::string& url, const UnpackOptions& options,
                                               const TreeFilter& filter, RemoteOpener& remote,
                                               fs::Log& log);
// The same as find_unpack_source() for an entry that a walk of a directory has found, or for a
// frame that was just made.
codec::Result<UnpackSource> find_unpack_source(const fs::Place& place, const UnpackOptions& options,
                                               fs::Log& log);

// Unpacks one source by reading it from a filesystem that is not mounted.  Chunks of a frame that
// has checksums are verified.
// Lifetime: the arguments of open() outlive it.
class Unpacker {
 public:
  // Called for every failure, with the path that failed.  Failures in the source are also logged.
  using Report = std::function<void(const std::string& path, const codec::Error& error)>;

  // Called repeatedly; unpacking stops once it returns true.  A stop is not reported as a failure.
  using Stop = std::function<bool()>;

  // Errors: those of opening the source.
  static codec::Result<Unpacker> open(const UnpackSource& source, const UnpackOptions& options,
                                      fs::Log& log, Stop stop, Report report);

  // The members below return false after a failure or a stop.

  // Creates a file with the mode and time of its source.  The file appears complete or not at all.
  [[nodiscard]] bool to_file(const fs::Place& target) const { return write_file(root_, target); }
  // Appends to the open descriptor `target`, which messages call `name`.
  [[nodiscard]] bool to_stream(int target, const std::string& name) const;
  // Writes into a sink.  Errors are returned, not reported.
  codec::Status to_sink(codec::ByteSink& sink) const;
  // Writes all members of a container into a directory, which gets the container's time if it gets
  // all of them.  Members that cannot be read are left out.  Nothing is written through a link
  // below the directory, nor at its own name.
  [[nodiscard]] bool to_directory(const fs::Place& target) const;

 private:
  Unpacker(const UnpackSource& source, const UnpackOptions& options, Stop stop, Report report)
      : source_(source), options_(options), stop_(std::move(stop)), report_(std::move(report)) {}

  [[nodiscard]] bool fail(const std::string& target, const codec::Error& error) const;
  codec::Status find_member();
  codec::Status copy(fs::NodeId node, codec::ByteSink& sink, const std::string& name) const;
  [[nodiscard]] codec::Status make_file(fs::NodeId node, const fs::Place& target) const;
  [[nodiscard]] bool write_file(fs::NodeId node, const fs::Place& target) const;
  [[nodiscard]] codec::Result<fs::Place::Directory> make_directory(const fs::Place& target,
                                                                   bool is_first) const;
  [[nodiscard]] codec::Status take_time(const fs::Place& target) const;
  // `below` is the path of the directory below the source, with a slash at its end; "" for the top.
  [[nodiscard]] bool write_directory(fs::NodeId node, const fs::Place& target,
                                     const std::string& below) const;
  // Writes an entry of a directory, unless the source leaves it out.
  [[nodiscard]] bool write_entry(const fs::NodeEntry& entry, const fs::Place& target,
                                 const std::string& path) const;

  const UnpackSource& source_;
  const UnpackOptions& options_;
  Stop stop_;
  Report report_;
  std::shared_ptr<ShownTree> tree_;
  fs::NodeId root_ = fs::kRootNode;
};

}  // namespace framefs
