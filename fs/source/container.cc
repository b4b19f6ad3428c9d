#include "fs/source/container.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/core.h>

#include "codec/container/container_path.h"
#include "codec/core/work_budget.h"
#include "codec/frame/frame_array.h"
#include "codec/frame/metalayer_content.h"
#include "fs/core/files/shared_window.h"
#include "fs/source/decoded_source.h"

namespace framefs::fs {
namespace {

// Source: container format, "Embedded containers".
constexpr std::string_view kMapName = "estore_metadata";
constexpr std::string_view kEmbedSuffix = ".b2e";
constexpr std::string_view kArchiveSuffix = ".b2z";

Result<std::vector<std::byte>> read_map(const codec::ByteSource& source, const codec::Frame& frame,
                                        const codec::Limits& limits) {
  const auto& layers = frame.vlmetalayers();
  const auto layer = std::ranges::find(layers, kMapName, &codec::Metalayer::name);
  if (layer == layers.end()) return codec::fail(Errc::bad_field, "estore_metadata");
  return codec::read_vlmetalayer(source, *layer, limits);
}

// The suffix that a file with the same content would have.
std::string_view suffix_of(const FrameSummary& summary) {
  switch (summary.content) {
    case Content::array:
      return ".b2nd";
    case Content::frame:
    case Content::embed_container:
      return ".b2frame";
    case Content::zip_container:
    case Content::other:
      break;
  }
  return "";
}

}  // namespace

// Builds a container.
class Container::Builder {
 public:
  Builder(Container& container, const Source& file, std::string name, Log& log)
      : container_(container), file_(file), name_(std::move(name)), log_(log) {}

  Status add_archive() {
    FRAMEFS_CHECK(add_members(std::nullopt, "", 0));
    // The numbers of nodes follow those of all members.
    for (const auto& [path, index] : paths_) {
      const auto& member = container_.members_[index];
      if (!path.ends_with(kEmbedSuffix) || !add_member_container(path, member)) {
        leaves_.push_back({path, index});
      }
    }
    return {};
  }

  Status add_heap(std::optional<codec::ByteRange> within, const std::string& directory) {
    const Source bytes = within ? std::make_shared<const SharedWindow>(file_, *within) : file_;
    FRAMEFS_TRY(auto frame, codec::Frame::open(*bytes, container_.limits_));
    Heap heap{within, std::make_shared<const codec::Frame>(std::move(frame)), std::nullopt};
    if (const auto& array = heap.frame->array()) {
      if (!*array) return std::unexpected(array->error());
      FRAMEFS_TRY(heap.array, codec::layout_of(**array, heap.frame->header()));
    }
    FRAMEFS_TRY(const auto metadata, read_map(*bytes, *heap.frame, container_.limits_));
    const auto decoded = container_.heap_bytes(file_, heap);
    FRAMEFS_TRY(const auto decoded_bytes, decoded->size());
    FRAMEFS_TRY(auto map, codec::parse_embed_map(metadata, decoded_bytes, {}));
    warn_of_names(map.refused_names);
    for (auto& node : map.nodes) {
      FRAMEFS_TRY(const auto summary, summary_of(decoded, node));
      leaves_.push_back({directory + node.path + std::string(suffix_of(summary)),
                         container_.members_.size() + container_.nodes_.size()});
      container_.nodes_.push_back({container_.heaps_.size(), std::move(node), summary});
    }
    container_.heaps_.push_back(std::move(heap));
    return {};
  }

  Status finish() {
    FRAMEFS_TRY(auto tree, codec::ContainerTree::make(std::move(leaves_), {}));
    container_.tree_ = std::make_unique<const codec::ContainerTree>(std::move(tree));
    if (const auto hidden = container_.tree_->conflicts().size(); hidden > 0) {
      log_.warn(fmt::format("{}: {} members are not shown, because directories have their names",
                            name_, hidden));
    }
    return {};
  }

 private:
  // A member and its path in the container.
  struct Path {
    std::string path;
    std::size_t member = 0;
  };
  static constexpr unsigned kMaxDepth = 4;  // archives in each other, with the file itself

  // Adds the members of an archive, and of the archives in it.
  Status add_members(std::optional<codec::ByteRange> within, const std::string& directory,
                     unsigned depth) {
    const Source bytes = within ? std::make_shared<const SharedWindow>(file_, *within) : file_;
    // All archives share the limits of one.
    FRAMEFS_TRY(const auto archive, codec::ZipDirectory::read(*bytes, limits_));
    limits_.directory_bytes -= archive.directory_bytes();
    limits_.members -= archive.members().size();
    auto refused = archive.refused_names();
    for (const auto& entry : archive.members()) {
      auto path = directory + entry.name;
      if (!codec::is_container_path(path)) {
        ++refused;
        continue;
      }
      const auto index = container_.members_.size();
      container_.members_.push_back({entry, within});
      if (!path.ends_with(kArchiveSuffix) || !add_inner_archive(path, index, depth)) {
        paths_.push_back({std::move(path), index});
      }
    }
    warn_of_names(refused);
    return {};
  }

  // Adds an archive in an archive.  Returns false if it has no members or is not an archive.
  bool add_inner_archive(const std::string& path, std::size_t index, unsigned depth) {
    const auto place = place_of(file_, container_.members_[index]);
    if (!place) return false;
    const SharedWindow bytes(file_, *place);
    const auto summary = summarise(bytes, Expected::zip_container, container_.limits_);
    if (summary.content != Content::zip_container) return false;
    const auto before = paths_.size();
    const auto added = depth + 1 < kMaxDepth
                           ? add_members(*place, path + "/", depth + 1)
                           : codec::fail(Errc::over_limit, "depth of archives in archives");
    if (!added) damage(path, added.error());
    return paths_.size() > before;
  }

  void damage(const std::string& path, const Error& error) {
    log_.failure(name_ + "/" + path, error);
    container_.damaged_.emplace(path, error);
  }

  // Adds an embedded container in the archive.  Returns false if it has no nodes or is not a
  // container.
  bool add_member_container(const std::string& path, const Member& member) {
    const auto within = place_of(file_, member);
    if (!within) return false;
    const SharedWindow bytes(file_, *within);
    const auto summary = summarise(bytes, Expected::embed_container, container_.limits_);
    if (summary.content != Content::embed_container) return false;
    const auto before = leaves_.size();
    if (const auto added = add_heap(*within, path + "/"); !added) damage(path, added.error());
    return leaves_.size() > before;
  }

  // Errors: those of codec::is_work_error().  Other errors belong to the node and are reported when
  //   it is read.
  [[nodiscard]] Result<FrameSummary> summary_of(const Source& decoded,
                                                const codec::EmbedNode& node) const {
    // An entry of the map takes about as long as decoding this number of bytes.
    constexpr std::uint64_t kUnitsPerNode = 1024;
    if (node.form != codec::EmbedForm::embedded) return FrameSummary{};
    FRAMEFS_CHECK(codec::spend_work(kUnitsPerNode));
    const SharedWindow bytes(decoded, node.frame);
    const auto summary = summarise(bytes, Expected::array, container_.limits_);
    // summarise() stops early if the request has ended; its result is then meaningless.
    FRAMEFS_CHECK(codec::check_work());
    return summary;
  }

  void warn_of_names(std::uint64_t refused) {
    if (refused == 0) return;
    log_.warn(fmt::format("{}: {} members are not shown, because their names are not valid", name_,
                          refused));
  }

  Container& container_;
  const Source& file_;
  const std::string name_;
  Log& log_;
  codec::ContainerLimits limits_;  // what is left of them
  std::vector<Path> paths_;        // of the members that are shown, in their order
  std::vector<codec::ContainerTree::Leaf> leaves_;
};

Result<std::shared_ptr<const Container>> Container::open(const Source& file,
                                                         const std::string& name,
                                                         const codec::Limits& limits, Log& log) {
  auto container = std::shared_ptr<Container>(new Container(limits));
  Builder builder(*container, file, name, log);
  const bool is_archive =
      summarise(*file, Expected::zip_container, limits).content == Content::zip_container;
  const auto made = [&]() -> Status {
    FRAMEFS_CHECK(is_archive ? builder.add_archive() : builder.add_heap(std::nullopt, ""));
    return builder.finish();
  }();
  if (made) return container;
  log.failure(name, made.error());
  return std::unexpected(made.error());
}

bool Container::is_directory(const std::string& path) const {
  const auto found = tree_->find(path);
  return found && tree_->is_directory(*found);
}

Result<std::vector<Container::Child>> Container::children(const std::string& path) const {
  if (const auto damage = damaged_.find(path); damage != damaged_.end()) {
    return std::unexpected(damage->second);
  }
  std::vector<Child> children;
  const auto directory = tree_->find(path);
  if (!directory || !tree_->is_directory(*directory)) return children;
  const auto [first, count] = tree_->children(*directory);
  children.reserve(count);
  for (auto id = first; id < first + count; ++id) {
    children.push_back({std::string(tree_->name(id)), tree_->is_directory(id)});
  }
  return children;
}

Container::Source Container::heap_bytes(const Source& file, const Heap& heap) const {
  Source bytes = file;
  if (heap.within) bytes = std::make_shared<const SharedWindow>(file, *heap.within);
  return std::make_shared<const DecodedSource>(std::move(bytes), heap.frame, heap.array, limits_);
}

Result<codec::ByteRange> Container::place_of(const Source& file, const Member& member) {
  if (!member.within) return codec::locate_member(*file, member.entry);
  FRAMEFS_TRY(auto range, codec::locate_member(SharedWindow(file, *member.within), member.entry));
  range.offset += member.within->offset;
  return range;
}

Result<Container::Source> Container::open_node(const Source& file, const Node& node) const {
  switch (node.node.form) {
    case codec::EmbedForm::embedded:
      break;
    case codec::EmbedForm::remote:
      return codec::fail(Errc::unsupported, "array on a server");
    case codec::EmbedForm::damaged:
      return codec::fail(Errc::bad_field, "member of an embedded container");
  }
  return std::make_shared<const SharedWindow>(heap_bytes(file, heaps_[node.heap]), node.node.frame);
}

Result<Container::Source> Container::open_member(const Source& file,
                                                 const std::string& path) const {
  const auto found = tree_->find(path);
  if (!found || tree_->is_directory(*found)) return system_error_of(ENOENT, "lookup");
  const auto payload = tree_->payload(*found);
  if (payload >= members_.size()) return open_node(file, nodes_[payload - members_.size()]);
  FRAMEFS_TRY(const auto range, place_of(file, members_[payload]));
  return std::make_shared<const SharedWindow>(file, range);
}

std::optional<FrameSummary> Container::summary_of(const std::string& path) const {
  const auto found = tree_->find(path);
  if (!found || tree_->is_directory(*found)) return std::nullopt;
  const auto payload = tree_->payload(*found);
  if (payload < members_.size()) return std::nullopt;
  const auto& summary = nodes_[payload - members_.size()].summary;
  if (summary.content == Content::other) return std::nullopt;
  return summary;
}

std::uint64_t Container::memory_bytes() const noexcept {
  // Each path is stored here and, with a share of the tree, in the tree.
  constexpr std::uint64_t kTreeShare = 64;
  std::uint64_t sum = sizeof(*this);
  for (const auto& member : members_) {
    sum += sizeof(member) + kTreeShare + 2 * member.entry.name.capacity();
  }
  for (const auto& node : nodes_) sum += sizeof(node) + kTreeShare + 2 * node.node.path.capacity();
  for (const auto& heap : heaps_) sum += sizeof(heap) + heap.frame->memory_bytes();
  return sum;
}

}  // namespace framefs::fs
