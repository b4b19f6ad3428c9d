#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "codec/core/limits.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/files/place.h"
#include "fs/remote/remote_tree.h"
#include "fs/source/named_source.h"
#include "src/cli/collected_log.h"
#include "src/cli/remote_opener.h"
#include "src/cli/tree_walk.h"
#include "src/cli/url_parts.h"

namespace framefs {

// A frame or container that a command was given by its path or URL, or that lies below it.
struct VisitedSource {
  std::string path;                // for messages
  std::string file;                // the same; for a member of a container, the path of that
  bool is_member = false;          // of a container
  std::optional<fs::Place> place;  // on disk; nothing for a member and for a URL
  codec::Result<fs::FoundSource> found;
};

// Visits the frames and containers that the arguments of a command name: paths, members of
// containers, directories, URLs of objects, and prefixes.  A directory and a prefix are walked in
// the order of names, and the filter applies there.
// Threads: one.
class SourceWalk {
 public:
  // Returns false to end the walk.  `log` has what was logged while the source was opened.
  using Visit = std::function<bool(const VisitedSource& source, CollectedLog& log)>;
  // Lifetime: the arguments outlive it.
  SourceWalk(const TreeFilter& filter, const codec::Limits& limits, RemoteOpener& remote,
             Visit visit, TreeWalk::Fail fail)
      : filter_(filter),
        limits_(limits),
        remote_(remote),
        visit_(std::move(visit)),
        fail_(std::move(fail)) {}

  // Returns whether the argument is a directory or a prefix.  A frame that is one file begins at
  // byte `offset`, which is 0 for a URL.
  bool walk(const std::string& argument, std::uint64_t offset);

 private:
  void walk_directory(const std::string& top, std::uint64_t offset);
  void visit_given(const std::string& path, std::uint64_t offset);
  bool walk_url(const std::string& url);
  // Visits what is at a path below a URL.
  void visit_below(const UrlParts& url, const std::string& shown);
  void walk_folders(fs::RemoteTree& tree, const std::string& url, CollectedLog& log);
  // Returns false after the visitor has ended the walk.
  bool visit_node(fs::RemoteTree& tree, fs::NodeId node, const std::string& path,
                  CollectedLog& log);
  // The tree in which each frame has its own name.
  codec::Result<std::unique_ptr<fs::RemoteTree>> open_tree(const std::string& url,
                                                           CollectedLog& log);

  const TreeFilter& filter_;
  const codec::Limits& limits_;
  RemoteOpener& remote_;
  const Visit visit_;
  const TreeWalk::Fail fail_;
};

}  // namespace framefs
