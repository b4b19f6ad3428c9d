// Intent: any bytes as an archive.  Listed members have names that can be shown and are unique, and
// a tree of these names finds each of them.  Located members end before the directory, and no two
// share a byte.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "codec/container/container_path.h"
#include "codec/container/container_tree.h"
#include "codec/container/zip_directory.h"
#include "codec/core/byte_source.h"
#include "tests/support/bytes.h"

namespace {

using namespace framefs;

void demand(bool holds) {
  if (!holds) std::abort();
}

constexpr codec::ContainerLimits kLimits = {
    .directory_bytes = 1U << 20, .members = 1U << 12, .tree_nodes = 1U << 16};

void check_places(const codec::ByteSource& archive, std::uint64_t archive_bytes,
                  const codec::ZipDirectory& directory) {
  std::vector<codec::ByteRange> places;
  for (const auto& member : directory.members()) {
    const auto place = codec::locate_member(archive, member);
    if (!place) {
      demand(place.error().kind != codec::Errc::internal);
      continue;
    }
    demand(member.form == codec::ZipForm::stored && place->size == member.size);
    demand(place->offset <= archive_bytes && place->size <= archive_bytes - place->offset);
    places.push_back(*place);
  }
  std::ranges::sort(places);
  for (std::size_t i = 1; i < places.size(); ++i) {
    demand(places[i].offset - places[i - 1].offset >= places[i - 1].size);
  }
}

void check_tree(const codec::ZipDirectory& directory) {
  std::set<std::string> names;
  std::vector<codec::ContainerTree::Leaf> leaves;
  for (const auto& member : directory.members()) {
    demand(codec::is_container_path(member.name));
    demand(names.insert(member.name).second);
    leaves.push_back({member.name, leaves.size()});
  }
  const auto tree = codec::ContainerTree::make(leaves, kLimits);
  if (!tree) {
    demand(tree.error().kind == codec::Errc::over_limit);
    return;
  }
  std::size_t directories = 0;
  for (const auto& leaf : leaves) {
    const auto found = tree->find(leaf.path);
    demand(found.has_value());
    if (tree->is_directory(*found)) {
      ++directories;
    } else {
      demand(tree->payload(*found) == leaf.payload);
    }
  }
  demand(tree->conflicts().size() == directories);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exact size, so that the address sanitizer detects the first byte beyond it.
  const auto bytes = std::as_bytes(std::span(data, size));
  const test::Bytes archive(bytes.begin(), bytes.end());
  const codec::MemorySource source(archive);
  const auto directory = codec::ZipDirectory::read(source, kLimits);
  if (!directory) {
    demand(directory.error().kind != codec::Errc::internal);
    return 0;
  }
  demand(directory->members().size() + directory->refused_names() <= kLimits.members);
  check_places(source, archive.size(), *directory);
  check_tree(*directory);
  return 0;
}
