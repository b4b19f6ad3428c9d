#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/core/mount_options.h"
#include "fs/source/frame_summary.h"

namespace framefs::fs {

// How an entry of SOURCE is shown.
enum class ShownAs : std::uint8_t {
  itself,        // passed through
  frame,         // a file of the frame's decoded bytes
  array,         // a file of the array's bytes in C order
  npy,           // the same bytes behind a NumPy header
  container,     // a directory of the file's members
  single_entry,  // the directory of a mount that shows one entry
};
// Whether a file that is shown like this is an array, whose bytes are stored in another order.
[[nodiscard]] constexpr bool is_array(ShownAs shown_as) noexcept {
  return shown_as == ShownAs::array || shown_as == ShownAs::npy;
}

struct ShownName {
  std::string name;
  ShownAs shown_as = ShownAs::itself;
  bool operator==(const ShownName&) const = default;
};

// Whether an entry with the content `file` can be shown as `shown_as` under some name.
bool can_be_shown(const FrameSummary& file, ShownAs shown_as);

// The names that an entry would have if it were alone in its directory; none if it is shown under
// its own name anyway.
std::vector<ShownName> wanted_names(std::string_view name, const FrameSummary& file,
                                    ArrayViews arrays);

// The names of an entry that cannot have its wanted names or must keep its suffix.  Its own name
// comes first.
std::vector<ShownName> full_names(std::string_view name, const FrameSummary& file,
                                  ArrayViews arrays);

// The same without its own name.
std::vector<ShownName> second_names(std::string_view name, const FrameSummary& file,
                                    ArrayViews arrays);

// Calls body(name) for the names that an entry could have besides its own, whatever its content.
void for_each_other_name(std::string_view name, const std::function<void(std::string_view)>& body);

// The names in SOURCE under which an entry could be shown as `asked`.  Names like `now`, its
// current name (empty: it has none yet), come first.
std::vector<std::string> source_names(const ShownName& asked, std::string_view now);

// Every name in SOURCE for which wanted_names() may contain `shown`.
std::vector<std::string> possible_sources(std::string_view shown);

}  // namespace framefs::fs
