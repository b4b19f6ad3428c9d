#include "src/store_listing.h"

#include <utility>

namespace framefs {
namespace {

using Visit = std::function<bool(const StoreMember&)>;

class Walk {
 public:
  Walk(const fs::OpenStore& store, const codec::Limits& limits, const Visit& visit)
      : store_(store), limits_(limits), visit_(visit) {}

  // The paths in a store are short enough for this to nest.  False: enough.
  bool directory(const std::string& path) {
    const auto children = store_.store->children(path);
    if (!children) {
      return visit_({.path = path,
                     .kind = "damaged",
                     .stored_bytes = 0,
                     .nbytes = 0,
                     .error = children.error()});
    }
    const fs::StoreFolder folder(store_, path, limits_);
    for (const auto& child : *children) {
      const auto below = path.empty() ? child.name : path + "/" + child.name;
      if (!(child.is_directory ? directory(below) : visit_(describe(folder, child.name, below)))) {
        return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] StoreMember describe(const fs::StoreFolder& folder, const std::string& name,
                                     const std::string& path) const {
    StoreMember member;
    member.path = path;
    member.kind = "damaged";
    const auto opened = store_.store->open_member(store_.file, path);
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
      case fs::Content::embed_store:
      case fs::Content::zip_store:
      case fs::Content::other:
        member.kind = "file";
        member.nbytes = member.stored_bytes;
        break;
    }
    return member;
  }

  const fs::OpenStore& store_;
  const codec::Limits& limits_;
  const Visit& visit_;
};

}  // namespace

StoreSummary summarise_store(const fs::SourceEntry& entry) {
  const bool is_archive = entry.summary.content == fs::Content::zip_store;
  return {.kind = is_archive ? "archive" : "embedded store",
          .stored_bytes = static_cast<std::uint64_t>(entry.stat.st_size)};
}

void visit_members(const fs::StoreDirectory& directory, const codec::Limits& limits,
                   const Visit& visit) {
  Walk(directory.store, limits, visit).directory(directory.path);
}

}  // namespace framefs
