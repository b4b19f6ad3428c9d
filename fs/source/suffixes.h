#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "fs/source/frame_summary.h"

namespace framefs::fs {

// The ends of names in SOURCE, and what they let expect.
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

// What is left of `name` without `suffix`, where that is a name.
std::optional<std::string> stem_of(std::string_view name, std::string_view suffix);

// What may be in a file of that name.
Expected expected_content(std::string_view name);

// Lock files beside frames, which no reader wants to see.
bool is_hidden(std::string_view name);

}  // namespace framefs::fs
