#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/array/array_layout.h"
#include "codec/container/container_tree.h"
#include "codec/container/embed_map.h"
#include "codec/container/zip_directory.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/units.h"
#include "codec/frame/frame.h"
#include "fs/core/file.h"
#include "fs/core/log.h"
#include "fs/source/frame_summary.h"

namespace framefs::fs {

// What is inside one state of a container: the members of a .b2z, the frames in a .b2e; of a .b2e
// that is itself a member, what is in it as well, as if it were a directory.  Frames in a .b2e,
// which have keys and no suffixes, are given those of their kind.  Holds no file: whoever wants a
// member hands in the container's.  Immutable after open(); any number of threads may use it.
class Container {
 public:
  using Source = std::shared_ptr<const codec::ByteSource>;

  // What the file is, its first bytes tell; `name` is for the log.
  // Errors: those of the archive's directory, or of the frame and its map.
  static Result<std::shared_ptr<const Container>> open(const Source& file, const std::string& name,
                                                       const codec::Limits& limits, Log& log);

  // Whether `path` is a directory of the container; "" is its root.
  [[nodiscard]] bool is_directory(const std::string& path) const;

  struct Child {
    std::string name;
    bool is_directory = false;
  };
  // Of a directory, or of a container in the container that has nothing in it.
  // Errors: those of a container in the container that cannot be opened.
  Result<std::vector<Child>> children(const std::string& path) const;

  // The bytes of a member, as they are stored.  Errors: system, ENOENT where there is no such
  // member; unsupported for one that is compressed, or on a server; those of an archive that is
  // damaged there.
  Result<Source> open_member(const Source& file, const std::string& path) const;

  // What a frame of a .b2e holds, which was read for its name: it lies in decoded bytes, and is not
  // to be decoded again for each question.  Nothing for everything else.
  [[nodiscard]] std::optional<FrameSummary> summary_of(const std::string& path) const;

  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

 private:
  // The frame of a .b2e, in whose decoded bytes the frames of its nodes are.
  struct Heap {
    std::optional<codec::ByteRange> within;  // of the container's file; nothing: all of it
    std::shared_ptr<const codec::Frame> frame;
    std::optional<codec::ArrayLayout> array;  // where the bytes are those of an array
  };
  struct Node {
    std::size_t heap = 0;
    codec::EmbedNode node;
    FrameSummary summary;
  };
  class Builder;

  explicit Container(const codec::Limits& limits) : limits_(limits) {}
  Source heap_bytes(const Source& file, const Heap& heap) const;
  Result<Source> open_node(const Source& file, const Node& node) const;

  const codec::Limits limits_;
  std::optional<codec::ContainerTree> tree_;  // its payloads: members_, and after them nodes_
  std::vector<codec::ZipMember> members_;
  std::vector<Node> nodes_;
  std::vector<Heap> heaps_;
  std::map<std::string, Error> damaged_;  // stores in the container that cannot be opened
};

}  // namespace framefs::fs
