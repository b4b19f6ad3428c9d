#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fs/core/mount_options.h"
#include "fs/source/frame_summary.h"

namespace framefs::fs {

// As what an entry of SOURCE is shown.
enum class ShownAs : std::uint8_t {
  itself,        // passed through
  frame,         // a file of the frame's decoded bytes
  array,         // a file of the array's bytes in C order
  npy,           // the same behind a NumPy header
  container,     // a directory of what is in the file
  single_entry,  // the directory of a mount that shows one entry
};

struct ShownName {
  std::string name;
  ShownAs shown_as = ShownAs::itself;
  bool operator==(const ShownName&) const = default;
};

// Whether an entry that holds `file` is shown as that under some name.
bool can_be_shown(const FrameSummary& file, ShownAs shown_as);

// The names that an entry would have if nothing else were in its directory; none where it is shown
// under its own name anyway.
std::vector<ShownName> wanted_names(std::string_view name, const FrameSummary& file,
                                    ArrayViews arrays);

// The names that it has where it cannot have those, or is to keep its suffix: first its own.
std::vector<ShownName> full_names(std::string_view name, const FrameSummary& file,
                                  ArrayViews arrays);

// The names that an entry could have in SOURCE to be shown as `asked`, those like its name now
// (empty: it has none yet) first.
std::vector<std::string> source_names(const ShownName& asked, std::string_view now);

// Every name that an entry could have in SOURCE for which `shown` may be among wanted_names().
std::vector<std::string> possible_sources(std::string_view shown);

}  // namespace framefs::fs
