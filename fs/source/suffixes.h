#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "fs/source/frame_summary.h"

namespace framefs::fs {

// A suffix of names in SOURCE and the content that it implies.
struct Suffix {
  std::string_view text;
  Expected content;
};
inline constexpr std::array<Suffix, 7> kSuffixes = {{{".b2frame", Expected::frame},
                                                     {".b2f", Expected::frame},
                                                     {".b2", Expected::frame},
                                                     {".b2b", Expected::frame},
                                                     {".b2nd", Expected::array},
                                                     {".b2e", Expected::embed_container},
                                                     {".b2z", Expected::zip_container}}};

// The suffix of an array's NumPy file in the mount.
inline constexpr std::string_view kNpySuffix = ".npy";

// `name` without `suffix`, if the rest is a valid name.  Lifetime: that of `name`.
std::optional<std::string_view> stem_of(std::string_view name, std::string_view suffix);

// The content that a file of that name may have.
Expected expected_content(std::string_view name);

// Whether the file is a lock file beside a frame, which the mount hides.
bool is_hidden(std::string_view name);

}  // namespace framefs::fs
