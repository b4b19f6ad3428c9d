#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/command_syntax.h"

namespace framefs {

// Translates the words of `-o WORD[,WORD]`, as mount(8) and fstab(5) write them, into framefs
// options.  The words are the options of `mount` with underscores: "cache_size=64M" becomes
// "--cache-size=64M".  A word for the kernel becomes a "--vfs" option, such as "--vfs=noexec".
// A word for mount(8) alone is dropped, and so are, if one of the words is "remount", the kernel's
// own words, which mount(8) copies from its list of mounts.
// Errors: a sentence for the user.
std::expected<std::vector<std::string>, std::string> expand_mount_options(
    std::string_view words, const CommandSyntax& mount);

// Returns every word that can follow -o, for completion.  A word that takes a value ends in "=".
std::vector<std::string> mount_words(const CommandSyntax& mount);

}  // namespace framefs
