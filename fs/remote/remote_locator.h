#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "codec/core/byte_source.h"
#include "fs/core/files/file.h"
#include "fs/remote/remote_directories.h"
#include "fs/remote/remote_root.h"
#include "fs/remote/remote_store.h"
#include "fs/source/container_folder.h"
#include "fs/source/frame_origin.h"
#include "fs/source/source_probe.h"
#include "fs/tree/nodes/node_table.h"
#include "fs/view/read_core.h"

namespace framefs::fs {

// Locates the nodes of a remote SOURCE and opens them, as NodeLocator does for a local one.  A node
// is found by the path at which it was last seen: on the server it is the object or the directory
// at that path, or a member of the container there.
//
// Errors of all members: those of net::ObjectStore.  The log says why an object cannot be opened.
// Threads: any number; probe() and the functions that open may wait for the network.
class RemoteLocator {
 public:
  // Lifetime: all outlive the locator.
  RemoteLocator(const RemoteRoot& root, RemoteStore& store, RemoteDirectories& directories,
                ReadCore& reads)
      : root_(root),
        store_(store),
        directories_(directories),
        reads_(reads),
        nodes_(root.key, "") {}

  [[nodiscard]] NodeTable& nodes() noexcept { return nodes_; }
  [[nodiscard]] const NodeTable& nodes() const noexcept { return nodes_; }
  // The path in the store.  A SOURCE that is one object is the root of its store.
  [[nodiscard]] std::string path_of(const Node& node) const;
  [[nodiscard]] std::string name_for_log(const Node& node) const;
  // Passes a result on.  If it is an error, the log says why the node cannot be opened, except for
  // errors that are ordinary answers, such as ENOENT without a reason of its own.
  template <class T>
  Result<T> logged(const Node& node, Result<T> result) const {
    if (!result) note_failure(node, result.error());
    return result;
  }

  // The node's entry in the listing of its directory, or in the index of its container.
  // Errors: also ESTALE if the path has an object in the place of a directory, or the reverse.
  Result<SourceEntry> probe(Node& node);
  // The container that a node is, or is a member of.
  Result<OpenContainer> open_container(Node& node);

  // The bytes behind a node, and the version that they have.
  struct Origin {
    FrameOrigin frame;
    FileIdentity version;
    bool is_newer = false;  // newer than the version in the listing
  };
  // Opens the object, the sparse frame or the member that a node is.  A listing in which it has
  // another version is forgotten.
  // Errors: also EISDIR for a node that is shown as a directory.
  // Lifetime: this object outlives the bytes.
  Result<Origin> open(Node& node);

 private:
  void note_failure(const Node& node, const Error& error) const;
  Result<Origin> open_member(Node& node);
  [[nodiscard]] Result<std::shared_ptr<const codec::ByteSource>> open_chunk_file(
      const std::string& directory, std::uint32_t id, net::FetchAhead ahead) const;

  // Constant after construction.
  const RemoteRoot& root_;
  // Self-synchronised.
  RemoteStore& store_;
  RemoteDirectories& directories_;
  ReadCore& reads_;
  NodeTable nodes_;
};

}  // namespace framefs::fs
