#include "fs/tree/changes/new_names.h"

#include <fcntl.h>

#include <utility>

#include "fs/core/files/file.h"

namespace framefs::fs {

Result<std::string> NewNames::for_frame(const Folder& folder, const std::string& name,
                                        const FrameSummary& frame,
                                        std::vector<std::string> leaving) const {
  const auto summary = [&](Expected expected) {
    return expected == Expected::frame ? frame : FrameSummary{};
  };
  return names_.place(folder, {.asked = {name, ShownAs::frame},
                               .source_name = {},
                               .summary = summary,
                               .leaving = std::move(leaving),
                               .replaced = {}});
}

Result<std::string> NewNames::for_array(const Folder& folder, const std::string& name) const {
  const auto summary = [](Expected expected) -> FrameSummary {
    if (expected != Expected::array) return {};
    return {.content = Content::array, .is_numpy = true};
  };
  return names_.place(folder, {.asked = {name, ShownAs::npy},
                               .source_name = {},
                               .summary = summary,
                               .leaving = {},
                               .replaced = {}});
}

Result<std::string> NewNames::for_link(const Folder& folder, const ShownName& asked, int file,
                                       const std::string& source_name) const {
  FRAMEFS_TRY(const auto st, stat_of(file));
  const auto summary = [&](Expected expected) {
    if (expected == Expected::nothing || !S_ISREG(st.st_mode)) return FrameSummary{};
    auto fd = reopen(file, O_RDONLY | O_NONBLOCK);
    if (!fd) return FrameSummary{};
    return probe_.probe_open(FileReader(std::move(*fd)), st, expected);
  };
  return names_.place(folder, {.asked = asked,
                               .source_name = source_name,
                               .summary = summary,
                               .leaving = {},
                               .replaced = {}});
}

Result<std::string> NewNames::for_moved(const NamedEntry& moved, const ParentFolder& to,
                                        const std::string& new_name,
                                        const NameMap::Found* replaced) const {
  const auto& [from, found] = moved;
  NameMap::Newcomer newcomer{.asked = {new_name, found.shown_as},
                             .source_name = found.source_name,
                             .summary = {},
                             .leaving = {},
                             .replaced = {}};
  newcomer.summary = [&](Expected expected) {
    const auto entry = probe_.probe_as(from.fd(), found.source_name, expected);
    return entry ? entry->summary : FrameSummary{};
  };
  if (from.node == to.node) newcomer.leaving.push_back(found.source_name);
  if (replaced != nullptr) {
    newcomer.leaving.push_back(replaced->source_name);
    newcomer.replaced = replaced->source_name;
  }
  return names_.place(*to.folder, newcomer);
}

}  // namespace framefs::fs
