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
#include "fs/core/diagnostics/log.h"
#include "fs/core/files/file.h"
#include "fs/source/frame_summary.h"

namespace framefs::fs {

// The contents of one state of a container: the members of a .b2z, or the frames in a .b2e.  A
// container that is a member of a .b2z is a directory of its own contents.  Frames in a .b2e have
// keys without suffixes; each gets the suffix of its kind.  A `Container` holds no file: a caller
// that opens a member passes the container's file.
//
// Immutable after open().
// Threads: any number.
class Container {
 public:
  using Source = std::shared_ptr<const codec::ByteSource>;

  // The first bytes of the file determine the kind of container; `name` is for the log.
  // Errors: those of the archive's directory, or of the frame and its map.
  static Result<std::shared_ptr<const Container>> open(const Source& file, const std::string& name,
                                                       const codec::Limits& limits, Log& log);

  // Whether `path` is a directory of the container; "" is its root.
  [[nodiscard]] bool is_directory(const std::string& path) const;

  struct Child {
    std::string name;
    bool is_directory = false;
  };
  // The children of a directory, or of an empty container in the container.
  // Errors: those of a container in the container that cannot be opened.
  [[nodiscard]] Result<std::vector<Child>> children(const std::string& path) const;

  // The stored bytes of a member.
  // Errors: system, ENOENT if there is no such member; unsupported for a member that is compressed
  //   or on a server; those of an archive that is damaged there.
  [[nodiscard]] Result<Source> open_member(const Source& file, const std::string& path) const;

  // The summary of a frame in a .b2e; empty for everything else.  open() reads each summary once to
  // choose the frame's suffix: the frame lies in decoded bytes, which must not be decoded again for
  // each request.
  [[nodiscard]] std::optional<FrameSummary> summary_of(const std::string& path) const;

  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

 private:
  // The frame of a .b2e.  Its decoded bytes contain the frames of the nodes.
  struct Heap {
    std::optional<codec::ByteRange> within;  // in the container's file; unset: all of it
    std::shared_ptr<const codec::Frame> frame;
    std::optional<codec::ArrayLayout> array;  // set if the bytes are those of an array
  };
  struct Node {
    std::size_t heap = 0;
    codec::EmbedNode node;
    FrameSummary summary;
  };
  struct Member {
    codec::ZipMember entry;
    std::optional<codec::ByteRange>
        within;  // its archive in the container's file; unset: all of it
  };
  class Builder;

  explicit Container(const codec::Limits& limits) : limits_(limits) {}
  [[nodiscard]] Source heap_bytes(const Source& file, const Heap& heap) const;
  // The place of a member's bytes in the container's file.
  // Errors: those of codec::locate_member().
  [[nodiscard]] static Result<codec::ByteRange> place_of(const Source& file, const Member& member);
  [[nodiscard]] Result<Source> open_node(const Source& file, const Node& node) const;

  const codec::Limits limits_;
  std::unique_ptr<const codec::ContainerTree> tree_;  // its payloads: members_, followed by nodes_
  std::vector<Member> members_;
  std::vector<Node> nodes_;
  std::vector<Heap> heaps_;
  std::map<std::string, Error> damaged_;  // inner containers that cannot be opened
};

}  // namespace framefs::fs
