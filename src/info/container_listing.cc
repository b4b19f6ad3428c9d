#include "src/info/container_listing.h"

#include <utility>

namespace framefs {
namespace {

using Visit = std::function<bool(const ContainerMember&)>;

class Walk {
 public:
  Walk(const fs::OpenContainer& container, const codec::Limits& limits, const Visit& visit)
      : container_(container), limits_(limits), visit_(visit) {}

  // Returns false after `visit` has ended the walk.  Recursion is safe because paths in a container
  // are short.
  bool directory(const std::string& path) {
    const auto children = container_.container->children(path);
    if (!children) {
      return visit_({.path = path,
                     .kind = "damaged",
                     .stored_bytes = 0,
                     .nbytes = 0,
                     .error = children.error()});
    }
    const fs::ContainerFolder folder(container_, path, limits_);
    for (const auto& child : *children) {
      const auto below = path.empty() ? child.name : path + "/" + child.name;
      if (!(child.is_directory ? directory(below) : visit_(describe(folder, child.name, below)))) {
        return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] ContainerMember describe(const fs::ContainerFolder& folder, const std::string& name,
                                         const std::string& path) const {
    ContainerMember member;
    member.path = path;
    member.kind = "damaged";
    const auto opened = container_.container->open_member(container_.file, path);
    if (!opened) {
      member.error = opened.error();
      return member;
    }
    const auto entry = folder.probe(name);
    if (!entry) {
      member.error = entry.error();
      return member;
    }
    const auto& summary = entry->summary;
    member.stored_bytes = static_cast<std::uint64_t>(entry->stat.st_size);
    switch (summary.content) {
      case fs::Content::frame:
        member.kind = "frame";
        member.nbytes = summary.nbytes;
        break;
      case fs::Content::array:
        member.kind = "array";
        member.nbytes = summary.array_bytes;
        break;
      case fs::Content::embed_container:
      case fs::Content::zip_container:
      case fs::Content::other:
        member.kind = "file";
        member.nbytes = member.stored_bytes;
        break;
    }
    return member;
  }

  const fs::OpenContainer& container_;
  const codec::Limits& limits_;
  const Visit& visit_;
};

}  // namespace

ContainerSummary summarise_container(const fs::SourceEntry& entry) {
  const bool is_archive = entry.summary.content == fs::Content::zip_container;
  return {.kind = is_archive ? "archive" : "embedded container",
          .stored_bytes = static_cast<std::uint64_t>(entry.stat.st_size)};
}

void visit_members(const fs::ContainerDirectory& directory, const codec::Limits& limits,
                   const Visit& visit) {
  Walk(directory.container, limits, visit).directory(directory.path);
}

}  // namespace framefs
